package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"kirin/selfplay/match"
)

// tinyExperiment compares two configurations within seconds.
const tinyExperiment = `about: Whether a wider net learns more in a second.
set: [net.spec=1x16, search.simulations=4, selfplay.games=4, selfplay.mate_nodes=30, rules.max_plies=40, train.batch_size=16, train.slices=2,
  loop.first_positions=50, loop.publish_steps=10, loop.checkpoint_steps=5, train.warmup_steps=2]
seeds: [1, 2]
cpu: 1s
match: {limit: sims=4, games: 2, anchor_games: 2, opening_plies: 4}
variants:
  - name: small
  - name: wide
    about: 32 channels.
    set: [net.spec=1x32]
`

func writeExperiment(t *testing.T, dir, text string) string {
	t.Helper()
	file := filepath.Join(dir, "tiny.yaml")
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestAnExperimentThatIsKilledGoesOnAndWritesItsTable(t *testing.T) {
	dir := t.TempDir()
	file, page := writeExperiment(t, dir, tinyExperiment), filepath.Join(dir, "docs", "experiments.md")
	args := []string{"experiment", file, "--dir", filepath.Join(dir, "x"), "--out", page}
	for i := range 3 {
		c, _ := program(t, append(args, "--jobs", "2")...)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(700+400*i) * time.Millisecond)
		c.Process.Kill()
		c.Wait()
	}
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte("# Mine\n\nBefore.\n\n<!-- begin experiment tiny -->\nold\n<!-- end experiment tiny -->\n\nAfter.\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var r experimentReport
	if err := json.Unmarshal([]byte(mustRun(t, append(args, "--json")...)), &r); err != nil {
		t.Fatal(err)
	}
	// 6 pairs of nets and 4 nets against 2 anchors, 2 games each.
	if r.Finished != 4 || r.Runs != 4 || r.Ratings.Games != 28 || len(r.Rows) != 2 || len(r.Rows[1].Nets) != 2 || r.Freedom != 2 {
		t.Errorf("got %+v", r)
	}
	for _, row := range r.Rows {
		if row.CPU < 0.99 || row.CPU > 5 || row.Games < 1 || !(row.Low < row.Elo && row.Elo < row.High) {
			t.Errorf("%s: %+v", row.Name, row)
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Before.", "After.", "| small |", "| wide | net.spec=1x32 |", "](experiments/tiny.svg)", "`wide`: 32 channels.", "random", "from the scatter between seeds"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "old") {
		t.Error("the old section is still there")
	}
	if b, err := os.ReadFile(filepath.Join(dir, "docs", "experiments", "tiny.svg")); err != nil || !strings.Contains(string(b), "wide") {
		t.Errorf("the plot: %v", err)
	}

	// Nothing is left to do: a second start only writes the same page.
	mustRun(t, args...)
	if again, err := os.ReadFile(page); err != nil || string(again) != string(text) {
		t.Errorf("a start with nothing to do changed the page (%v)", err)
	}
	if out := mustRun(t, append(args, "--dry-run")...); strings.Count(out, "finished") != 4 || !strings.Contains(out, "0s of CPU time to train") {
		t.Errorf("plan: %s", out)
	}
	// Of finished runs their own folders are not needed any more.
	if err := os.RemoveAll(filepath.Join(dir, "x", "runs")); err != nil {
		t.Fatal(err)
	}
	mustRun(t, args...)
	if again, err := os.ReadFile(page); err != nil || string(again) != string(text) {
		t.Errorf("without the runs' folders the page is another (%v)", err)
	}
	// A configuration that changes under its name is refused, one that is added is trained.
	writeExperiment(t, dir, strings.Replace(tinyExperiment, "1x32", "1x48", 1))
	if status, _, errs := kirin(t, args...); status == 0 || !strings.Contains(errs, "net.spec=1x32, the experiment now asks for 1x48") {
		t.Errorf("exit status %d\n%s", status, errs)
	}
	writeExperiment(t, dir, tinyExperiment+"  - {name: more, set: [train.batch_size=32]}\n")
	if out := mustRun(t, append(args, "--dry-run", "--json")...); strings.Count(out, `"finished"`) != 4 || strings.Count(out, `"not begun"`) != 2 {
		t.Errorf("plan: %s", out)
	}
	if out := mustRun(t, append(args, "--report")...); !strings.Contains(out, "4 of 6 runs") {
		t.Errorf("report: %s", out)
	}
}

func TestFaultsOfAnExperimentAreNamedAtOnce(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ text, want string }{
		{"variantes: []\n", "unknown field \"variantes\""},
		{"a: b: c\n", "tiny.yaml: "},
		{"seeds: [1, 1]\ncpu: 1ms\nmatch: {games: 3}\n", "seeds: 1 is given twice"},
		{"seeds: [1, 1]\ncpu: 1ms\nmatch: {games: 3}\n", "cpu: 1ms is shorter than 1s"},
		{"match: {games: 3}\n", "match.games: 3 is not an even number"},
		{"variants: [{name: a, set: [train.bach_size=3]}]\n", `variants[0] a: --set train.bach_size=3: unknown key "train.bach_size"; did you mean "train.batch_size"?`},
		{"variants: [{name: a, set: [train.batch_size=0]}]\n", "variants[0] a: train.batch_size: 0"},
		{"variants: [{name: a}, {name: A}]\n", "the name is given twice"},
		{"variants: [{name: a/b}]\n", "the name is not made of letters"},
		{"variants: [{name: a}, {name: b, set: [variant=shogi]}]\n", "it plays another game"},
		{"match: {limit: speed=3}\nvariants: [{name: a}]\n", "limit: player"},
		{"match: {anchors: [nobody]}\nvariants: [{name: a}]\n", `unknown kind "nobody"`},
		{"base: nowhere\nvariants: [{name: a}]\n", "nowhere: no such file"},
	} {
		file := writeExperiment(t, dir, c.text)
		if status, _, errs := kirin(t, "experiment", file, "--dry-run"); status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%q: exit status %d, want %s\n%s", c.text, status, c.want, errs)
		}
	}
	for _, args := range [][]string{{"experiment", filepath.Join(dir, "none.yaml")}, {"experiment", writeExperiment(t, dir, tinyExperiment), "--jobs", "0"}} {
		if status, _, errs := kirin(t, args...); status == 0 || strings.Count(strings.TrimSpace(errs), "\n") > 0 {
			t.Errorf("%v: exit status %d\n%s", args, status, errs)
		}
	}
}

func TestEveryNetOfAnExperimentMeetsEquallyManyOthers(t *testing.T) {
	for _, c := range []struct{ n, meet, period, least, most int }{{4, 0, 2, 3, 3}, {5, 0, 5, 4, 4}, {36, 8, 12, 8, 8}, {30, 6, 10, 6, 6}, {2, 4, 1, 1, 1}, {1, 0, 1, 0, 0}, {9, 2, 3, 2, 2}} {
		met := map[[2]int]bool{}
		degree := make([]int, c.n)
		for _, d := range distances(c.n, c.meet, c.period) {
			for i := range c.n {
				j := (i + d) % c.n
				if 2*d == c.n && i >= j {
					continue
				}
				pair := [2]int{min(i, j), max(i, j)}
				if i == j || met[pair] {
					t.Errorf("%+v: %v meet twice", c, pair)
				}
				met[pair] = true
				degree[i]++
				degree[j]++
			}
		}
		for i, n := range degree {
			if n < c.least || n > c.most {
				t.Errorf("%+v: net %d meets %d", c, i, n)
			}
		}
	}
}

func TestIntervalsComeFromTheScatterBetweenSeeds(t *testing.T) {
	rep := experimentReport{Rows: []experimentRow{
		{Name: "a", Nets: []netRating{{Elo: 90}, {Elo: 110}}},
		{Name: "b", Nets: []netRating{{Elo: 190}, {Elo: 210}}},
	}}
	rep.compare()
	// Pooled variance 200 with 2 degrees of freedom; Student's t 4.303.
	b := rep.Rows[1]
	if rep.Freedom != 2 || math.Abs(rep.Spread-math.Sqrt(200)) > 1e-9 || b.Elo != 200 || b.Gain != 100 || math.Abs(b.High-243.03) > 0.01 || math.Abs(b.GainHigh-160.85) > 0.01 {
		t.Errorf("got %+v", rep)
	}
	one := experimentReport{Rows: []experimentRow{{Nets: []netRating{{Elo: 10, Low: -20, High: 40}}}, {Nets: []netRating{{Elo: 60, Low: 20, High: 100}}}}}
	one.compare()
	if r := one.Rows[1]; one.Freedom != 0 || r.Low != 20 || r.High != 100 || r.Gain != 50 || r.GainHigh != 100 {
		t.Errorf("one seed: %+v", one)
	}
}

func TestMeansAreThoseOfTheRatedNets(t *testing.T) {
	run := func(name string, x int) *experimentRun {
		return &experimentRun{name: name, result: &runResult{CPU: float64(x), Step: x, Games: int64(x), Positions: int64(x)}}
	}
	rated := &match.Ratings{Players: []match.Rating{{Name: "a/1", Elo: 50}, {Name: "a/2", Elo: 70}}}
	var row experimentRow
	row.take([]*experimentRun{run("a/1", 10), run("a/2", 20), run("a/3", 600)}, rated) // the last has played no match yet
	if len(row.Nets) != 2 || row.CPU != 15 || row.Steps != 15 || row.Games != 15 || row.Positions != 15 {
		t.Errorf("%+v", row)
	}
}

func TestASectionIsPutBetweenItsMarks(t *testing.T) {
	page := ""
	for i, name := range []string{"a", "b", "a"} {
		var err error
		if page, err = insertSection(page, name, fmt.Sprintf("text %d\n", i)); err != nil {
			t.Fatal(err)
		}
	}
	want := "# Experiments\n\nWritten by `kirin experiment`; text outside of the marks stays.\n\n<!-- begin experiment a -->\ntext 2\n<!-- end experiment a -->\n\n<!-- begin experiment b -->\ntext 1\n<!-- end experiment b -->\n"
	if page != want {
		t.Errorf("got %q", page)
	}
	for _, torn := range []string{"<!-- begin experiment a -->\n", "<!-- end experiment a -->\n"} {
		if _, err := insertSection(torn, "a", ""); err == nil {
			t.Errorf("%q is accepted", torn)
		}
	}
}
