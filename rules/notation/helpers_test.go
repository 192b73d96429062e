package notation

import (
	"math/rand/v2"
	"testing"

	"kirin/rules"
)

func loadGame(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func position(t testing.TB, v *rules.Variant, sfen string) *rules.Position {
	t.Helper()
	p, err := v.ParseSFEN(sfen)
	if err != nil {
		t.Fatalf("%s: %v", sfen, err)
	}
	return p
}

// randomGame plays at most plies random moves, with a liking for captures, promotions and drops, so that boards get varied.
func randomGame(v *rules.Variant, start string, rng *rand.Rand, plies int) *Game {
	g := &Game{Variant: v, Start: start}
	p, err := g.Position(0)
	if err != nil {
		panic(err)
	}
	var buf []rules.Move
	for range plies {
		buf = p.AppendMoves(buf[:0])
		if g.Outcome = p.Outcome(len(buf)); g.Outcome.Result != rules.Ongoing {
			break
		}
		m := buf[rng.IntN(len(buf))]
		for range 3 {
			if m.Promotes() || m.IsDouble() || m.IsPass() || !m.IsDrop() && p.At(m.To()) != rules.NoPiece {
				break
			}
			m = buf[rng.IntN(len(buf))]
		}
		g.Moves = append(g.Moves, m)
		p.Do(m)
	}
	g.Outcome = finalOutcome(p)
	return g
}

func mustPosition(t testing.TB, g *Game, ply int) *rules.Position {
	t.Helper()
	p, err := g.Position(ply)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// addComment adds a line to the comment after ply moves.
func (g *Game) addComment(ply int, line string) {
	for len(g.Comments) <= ply {
		g.Comments = append(g.Comments, "")
	}
	if g.Comments[ply] != "" {
		line = g.Comments[ply] + "\n" + line
	}
	g.Comments[ply] = line
}
