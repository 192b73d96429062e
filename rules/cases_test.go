package rules_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"kirin/rules"
)

func load(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func parse(t testing.TB, v *rules.Variant, sfen string) *rules.Position {
	t.Helper()
	p, err := v.ParseSFEN(sfen)
	if err != nil {
		t.Fatalf("%s: %v", sfen, err)
	}
	return p
}

// play sets up sfen and plays moves, separated by spaces, each of which must be legal and not after the end of the game.
func play(t testing.TB, v *rules.Variant, sfen, moves string) *rules.Position {
	t.Helper()
	p := parse(t, v, sfen)
	for _, s := range strings.Fields(moves) {
		if o := outcome(p); o.Result != rules.Ongoing {
			t.Fatalf("before %s: %s (%s)", s, o, p.SFEN())
		}
		m, err := p.ParseMove(s)
		if err != nil {
			t.Fatal(err)
		}
		p.Do(m)
	}
	return p
}

func outcome(p *rules.Position) rules.Outcome { return p.Outcome(len(p.AppendMoves(nil))) }

func TestEachCaseIsLegalOrIllegalAsRecorded(t *testing.T) {
	data, err := os.ReadFile("testdata/cases.tsv")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		n++
		t.Run(f[0], func(t *testing.T) {
			settings := "default"
			if f[2] != "-" {
				settings = "preset=" + f[2]
			}
			p := parse(t, load(t, f[1], settings), f[3])
			m, err := p.ParseMove(f[4])
			switch f[5] {
			case "legal":
				if err != nil {
					t.Fatalf("%s: %v", f[3], err)
				}
				p.Do(m)
				p.Undo()
			case "illegal":
				if !errors.Is(err, rules.ErrIllegalMove) {
					t.Fatalf("%s: %s gives %v, want it illegal", f[3], f[4], err)
				}
			default:
				t.Fatalf("expected %q", f[5])
			}
		})
	}
	if n != 123 {
		t.Errorf("%d cases, want 123", n)
	}
}
