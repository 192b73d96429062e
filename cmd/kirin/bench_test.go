package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// benchRows runs a benchmark with --json and reads its lines.
func benchRows[T any](t *testing.T, args ...string) []T {
	t.Helper()
	var rows []T
	out := mustRun(t, append(append([]string{"bench"}, args...), "--rounds", "1", "--json")...)
	for line := range strings.Lines(out) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

func TestBenchRulesPrintsOneObjectAGame(t *testing.T) {
	rows := benchRows[rulesRow](t, "rules", "--shallower", "3", "--peers=false")
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Nodes == 0 || r.Speed <= 0 || r.AppendMoves <= 0 || r.DoUndo <= 0 || r.Peer != "" {
			t.Errorf("%+v", r)
		}
	}
}

func TestBenchSearchPrintsOneObjectAGameAndAlgorithm(t *testing.T) {
	rows := benchRows[searchRow](t, "search", "--searches", "3")
	if len(rows) != 8 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Speed <= 0 {
			t.Errorf("%+v", r)
		}
	}
}

func TestBenchNetPrintsOneObjectABatch(t *testing.T) {
	rows := benchRows[netRow](t, "net", "--variant", "minishogi,torishogi", "--spec", "2x16g2", "--batch", "1,3", "--seconds", "0.001", "--threads", "2", "--kernel", "plain", "--peers=false")
	if len(rows) != 4 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, r := range rows {
		if r.Speed <= 0 || r.Wall <= 0 || r.PeakShare <= 0 || r.Kernel != "plain" || r.Spec != "2x16g2" || r.Threads != 2 || r.Batch != []int{1, 3}[i%2] {
			t.Errorf("%+v", r)
		}
	}
}

func TestBenchTrainPrintsOneObjectAGame(t *testing.T) {
	rows := benchRows[trainRow](t, "train", "--variant", "minishogi,chushogi", "--spec", "1x16", "--batch", "5", "--seconds", "0.001", "--peers=false")
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		if r.Speed <= 0 || r.Wall <= 0 || r.Batch != 5 || r.Threads != 1 {
			t.Errorf("%+v", r)
		}
	}
}

func TestBenchTablesNameTheMachine(t *testing.T) {
	out := mustRun(t, "bench", "net", "--variant", "minishogi", "--spec", "1x16", "--batch", "2", "--seconds", "0.001", "--rounds", "1", "--peers=false")
	if !strings.HasPrefix(out, machine()+"\n") || !strings.Contains(out, "positions per CPU-second") {
		t.Errorf("got %s", out)
	}
}

func TestBenchRefusesWrongFlags(t *testing.T) {
	for args, want := range map[string]string{
		"bench net --spec 4":                        "--spec",
		"bench net --kernel mmx":                    "--kernel",
		"bench net --batch 0":                       "--batch",
		"bench net --rounds 0":                      "--rounds",
		"bench train --variant go":                  "go",
		"bench train --batch 0 --variant minishogi": "batch",
		"bench rules --variant go":                  `"go"`,
		"bench rules --rounds 0":                    "--rounds",
		"bench search --searches 0":                 "--searches",
	} {
		status, _, errs := kirin(t, append(strings.Fields(args), "--json")...)
		if status == 0 || !strings.Contains(errs, want) {
			t.Errorf("kirin %s: exit status %d, %q; want %q", args, status, errs, want)
		}
	}
}

func TestCountsOfOtherProgramsAreRead(t *testing.T) {
	if n, ok := fairyNodes("Nodes searched: 2512"); !ok || n != "2512" {
		t.Errorf("got %q", n)
	}
	if n, ok := sjaakNodes(" 3       2512  0.00   1907365.22nps", 3); !ok || n != "2512" {
		t.Errorf("got %q", n)
	}
	if _, ok := sjaakNodes(" 2        181  0.00   1058479.53nps", 3); ok {
		t.Error("the count of another depth is taken")
	}
	if m := median([]float64{3, 1, 2, 10}); m != 2.5 || !slices.Equal([]float64{median([]float64{5})}, []float64{5}) {
		t.Errorf("median %v", m)
	}
}

func TestBenchEndgameFindsNoWrongProof(t *testing.T) {
	var y struct{ Endgames, Solved, Wrong int }
	out := mustRun(t, "bench", "endgame", "--count", "10", "--within", "3", "--sims", "300", "--most-sims", "300", "--workers", "2", "--json")
	if err := json.Unmarshal([]byte(out), &y); err != nil || y.Endgames != 10 || y.Wrong != 0 {
		t.Errorf("%s, %v", out, err)
	}
	out = mustRun(t, "bench", "endgame", "--count", "3", "--within", "1", "--sims", "100")
	if !strings.Contains(out, "0 wrongly") {
		t.Error(out)
	}
	for _, c := range [][]string{{"--count", "0"}, {"--sims", "0"}, {"--variant", "chushogi"}, {"--file", "none.tsv"}} {
		if code, _, stderr := kirin(t, append([]string{"bench", "endgame"}, c...)...); code == 0 || !strings.Contains(stderr, "kirin: ") {
			t.Errorf("%v: exit %d, %q", c, code, stderr)
		}
	}
}

func TestBenchMatesFindsNoWrongAnswer(t *testing.T) {
	args := []string{"bench", "mates", "--count", "30", "--plies", "3", "--plain", "100000", "--workers", "2"}
	var y struct {
		Positions, None, Wrong int
		Tallies                []struct{ Plies, Mates, Found int }
	}
	out := mustRun(t, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &y); err != nil || y.Positions != 30 || y.Wrong != 0 || y.None == 0 || len(y.Tallies) != 2 || y.Tallies[0].Found == 0 {
		t.Errorf("%s, %v", out, err)
	}
	if out := mustRun(t, args...); !strings.Contains(out, "30 positions, 0 wrong\nmate in 1: ") {
		t.Error(out)
	}
	for _, c := range [][]string{{"--count", "0"}, {"--plies", "2"}, {"--few", "0"}, {"--many", "10"}, {"--variant", "chess"}} {
		if code, _, stderr := kirin(t, append([]string{"bench", "mates"}, c...)...); code == 0 || !strings.Contains(stderr, "kirin: ") {
			t.Errorf("%v: exit %d, %q", c, code, stderr)
		}
	}
}

func TestBenchEndingsCountsHowGamesEnd(t *testing.T) {
	args := []string{"bench", "endings", "--variant", "minishogi", "--games", "4", "--sims", "2", "--spec", "1x16"}
	rows := strings.Split(strings.TrimSpace(mustRun(t, append(args, "--json")...)), "\n")
	if len(rows) != 2 {
		t.Fatalf("%d rows", len(rows))
	}
	for i, text := range rows {
		var r endingsRow
		if err := json.Unmarshal([]byte(text), &r); err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, k := range r.Reasons {
			n += k
		}
		if n != 4 || r.Games != 4 || (r.MateNodes > 0) != (i == 1) || r.Ended < 0 || r.Ended > 1 || r.Plies < 1 {
			t.Errorf("%+v", r)
		}
	}
	if out := mustRun(t, args...); !strings.Contains(out, "% end before the limit") {
		t.Error(out)
	}
	if status, _, errs := kirin(t, "bench", "endings", "--games", "0"); status == 0 || strings.Count(errs, "\n") != 1 {
		t.Errorf("exit status %d, %q", status, errs)
	}
}

func TestBenchJobComparesKernelsWithGorgoniasOperations(t *testing.T) {
	rows := benchRows[jobRow](t, "job", "--config", "minishogi-quick", "--set", "net.spec=1x16,selfplay.games=2,search.simulations=4,train.batch_size=4,train.slices=2", "--seconds", "0.01", "--kernel", "plain")
	if len(rows) != 2 || rows[0].Net != "gorgonia" || rows[1].Net != "plain" {
		t.Fatalf("%+v", rows)
	}
	for _, r := range rows {
		if r.Plies <= 0 || r.Samples <= 0 || r.Job <= 0 || r.Gain <= 0 || r.Spec != "1x16" {
			t.Errorf("%+v", r)
		}
	}
}
