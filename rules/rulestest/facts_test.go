package rulestest

import (
	"strings"
	"testing"
)

// The files in testdata hold counts, move lists and games that other programs gave: shogiops 0.18.0 and ffish 0.7.10 (npm),
// Fairy-Stockfish, Sjaak II 1.4.1 and HaChu 0.21 (Debian). Chu shogi follows lishogi's rules.
func TestFactsFromOtherProgramsAgree(t *testing.T) {
	settings := map[string]string{
		"shogi": "max_plies=0", "minishogi": "max_plies=0",
		"torishogi": "max_plies=0,repetition=fourfold_mover_loses", "chushogi": "preset=lishogi,max_plies=0",
	}
	for name, set := range settings {
		for file, kind := range map[string]string{".tsv": "perft", "-moves.jsonl": "moves", "-games.jsonl": "games"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				rep, err := CheckFile("testdata/"+name+file+".gz", load(t, name, strings.Split(set, ",")...))
				if err != nil {
					t.Fatal(err)
				}
				if rep.Kind != kind || len(rep.Rows) < 9 {
					t.Errorf("%d rows of kind %s", len(rep.Rows), rep.Kind)
				}
				for _, r := range rep.Rows {
					if r.Problem != "" {
						t.Errorf("line %d: %s", r.Line, r.Problem)
					}
				}
			})
		}
	}
}

func TestAFileWithAFaultIsReported(t *testing.T) {
	v := load(t, "minishogi")
	const start = "rbsgk/4p/5/P4/KGSBR b - 1"
	for _, c := range []struct{ name, text, want string }{
		{"wrong count", "sfen\tdepth\tnodes\n" + start + "\t2\t180\n", "181 instead of 180"},
		{"illegal move", `{"sfen":"` + start + `","moves":["5d5b"]}`, "does not reach"},
		{"missing move", `{"sfen":"` + start + `","moves":["5d5c"]}`, "not listed"},
		{"wrong result", `{"sfen_start":"` + start + `","moves":["5d5c"],"result":"sente","reason":"checkmate"}`, "instead of sente"},
		{"moves after the end", `{"sfen_start":"` + start + `","moves":["4e4d","2a2b","4d4e","2b2a","4e4d","2a2b","4d4e","2b2a","4e4d","2a2b","4d4e","2b2a","4e4d"],"result":"*","reason":"ply-cap"}`, "before the last"},
	} {
		rep, err := Check(strings.NewReader(c.text), v, nil)
		if err != nil || rep.Failed != 1 || !strings.Contains(rep.Rows[len(rep.Rows)-1].Problem, c.want) {
			t.Errorf("%s: %+v, %v", c.name, rep, err)
		}
	}
	for _, text := range []string{"", "hello\n", "sfen\tdepth\tnodes\nx\ty\n", `{"sfen":5}`} {
		if _, err := Check(strings.NewReader(text), v, nil); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}
