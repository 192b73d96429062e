package protocol

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"kirin/rules"
)

// needProgram skips a test whose outside program is missing, unless KIRIN_REQUIRE=all.
func needProgram(t *testing.T, name string) {
	t.Helper()
	if _, err := lookProgram(name); err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatalf("%s is not installed", name)
		}
		t.Skipf("%s is not installed", name)
	}
}

// TestRealEnginesPlay lets each outside engine answer random moves for a while; every answer must be legal.
func TestRealEnginesPlay(t *testing.T) {
	for _, c := range []struct {
		name, program, protocol, command, variant string
		limits                                    Limits
		settings                                  []Setting
	}{
		{"fairy usi mini", "fairy-stockfish", "usi", "fairy-stockfish", "minishogi", Limits{Nodes: 200}, []Setting{{"Skill Level", "5"}}},
		{"fairy usi shogi", "fairy-stockfish", "usi", "fairy-stockfish", "shogi", Limits{MoveTime: 10 * time.Millisecond}, nil},
		{"fairy uci mini", "fairy-stockfish", "uci", "fairy-stockfish", "minishogi", Limits{Depth: 3}, nil},
		{"fairy uci shogi", "fairy-stockfish", "uci", "fairy-stockfish", "shogi", Limits{
			Timed: true, Clock: [2]time.Duration{100e6, 100e6}, Increment: [2]time.Duration{20e6, 20e6},
		}, nil},
		{"sjaak usi mini", "sjaakii", "usi", "sjaakii -usi", "minishogi", Limits{Depth: 2}, nil},
		{"sjaak usi shogi", "sjaakii", "usi", "sjaakii -usi", "shogi", Limits{Depth: 2}, nil},
		{"sjaak usi tori", "sjaakii", "usi", "sjaakii -usi", "torishogi", Limits{Depth: 2}, nil},
		{"sjaak cecp mini", "sjaakii", "cecp", "sjaakii", "minishogi", Limits{Depth: 2}, nil},
		{"sjaak cecp tori", "sjaakii", "cecp", "sjaakii", "torishogi", Limits{MoveTime: 20 * time.Millisecond}, nil},
		{"hachu cecp chu depth", "hachu", "cecp", "hachu", "chushogi", Limits{Depth: 1}, []Setting{{"Allow repeats", "1"}}},
		{"hachu cecp chu time", "hachu", "cecp", "hachu", "chushogi", Limits{MoveTime: 50 * time.Millisecond}, nil},
		{"gnu mini", "gnuminishogi", "gnu", "gnuminishogi -X 10", "minishogi", Limits{Depth: 2}, nil},
		{"gnu shogi", "gnushogi", "gnu", "gnushogi -X 10", "shogi", Limits{Depth: 2}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			needProgram(t, c.program)
			t.Parallel()
			e, err := Open(t.Context(), Options{
				Protocol: c.protocol, Command: c.command, Variant: load(t, c.variant), Settings: c.settings, AnswerTimeout: 20 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			rng := rand.New(rand.NewPCG(1, 2))
			for range 2 {
				playAgainstRandom(t, e, rng, c.limits)
			}
			if e.Restarts() > 0 {
				t.Errorf("%d restarts", e.Restarts())
			}
		})
	}
}

// playAgainstRandom plays up to 24 plies; the engine moves at every second one.
func playAgainstRandom(t *testing.T, e *Engine, rng *rand.Rand, l Limits) {
	t.Helper()
	p := e.o.Variant.Start()
	if err := e.NewGame(t.Context(), p.Clone()); err != nil {
		t.Fatal(err)
	}
	engine := rng.IntN(2)
	for p.Ply() < 24 {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			return
		}
		if p.Ply()%2 != engine {
			p.Do(moves[rng.IntN(len(moves))])
			continue
		}
		a, err := e.Search(t.Context(), p, l)
		if err != nil {
			for _, line := range e.Transcript() {
				t.Log(line)
			}
			t.Fatal(err)
		}
		if a.Resign || a.Claim.Result != rules.Ongoing {
			return
		}
		p.Do(a.Move)
	}
}
