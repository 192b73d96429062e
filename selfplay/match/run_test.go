package match

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// long turns the statistical tests up to the size whose results are published: go test -run Long -long.
var long = flag.Bool("long", false, "simulate thousands of matches instead of some")

func load(t testing.TB, name string, settings ...string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name, settings...)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// entrant parses a player without nets.
func entrant(t testing.TB, v *rules.Variant, text string) Entrant {
	t.Helper()
	s, err := ParsePlayer(text)
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Entrant(v, func(ref NetRef, v *rules.Variant) (func() selfplay.Evaluator, string, error) {
		return func() selfplay.Evaluator { return &counter{v: v, values: PieceValues(v)} }, "sum of " + ref.Path, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// counter is an evaluator that counts material.
type counter struct {
	v      *rules.Variant
	values []float64
}

func (c *counter) Add(p *rules.Position, moves []rules.Move, logits []float32, v *rules.Value) {
	clear(logits)
	sum := 0.0
	for sq := range c.v.Squares() {
		if pc := p.At(rules.Square(sq)); pc != rules.NoPiece {
			if w := c.values[pc.Kind()]; pc.Side() == p.Side() {
				sum += w
			} else {
				sum -= w
			}
		}
	}
	for _, k := range c.v.HandKinds() {
		sum += c.values[k] * float64(p.Hand(p.Side(), k)-p.Hand(p.Side().Other(), k))
	}
	win := float32(ScoreOf(40 * sum))
	*v = rules.Value{Win: win, Loss: 1 - win}
}

func (c *counter) Flush() error { return nil }

func options(t testing.TB, a, b string, games int) Options {
	v := load(t, "minishogi")
	return Options{
		Variant: v, A: entrant(t, v, a), B: entrant(t, v, b), Games: games, Concurrency: 2, Seed: 7, Openings: Openings{Plies: 4},
	}
}

func TestStrongerPlayersWin(t *testing.T) {
	r, err := Run(t.Context(), options(t, "material", "random", 40))
	if err != nil {
		t.Fatal(err)
	}
	if r.Score < 0.8 || r.Games != 40 || r.Wins+r.Draws+r.Losses != 40 {
		t.Errorf("material against random: %+v", r)
	}
	r, err = Run(t.Context(), options(t, "net:x,nodes=300", "material", 20))
	if err != nil {
		t.Fatal(err)
	}
	if r.Score < 0.6 {
		t.Errorf("search against material: %+v", r)
	}
	sum := 0
	for _, n := range r.ByReason {
		sum += n
	}
	if sum != r.Games || r.Elo < 70 || r.EloLow > r.Elo || r.EloHigh < r.Elo {
		t.Errorf("summary: %+v", r)
	}
}

func TestNetsSearchByTimeWithSeveralThreads(t *testing.T) {
	r, err := Run(t.Context(), options(t, "net:x,movetime=5ms,threads=2", "random", 4))
	if err != nil || r.Wins < 3 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestPairsHaveOneOpeningAndBothColours(t *testing.T) {
	o := options(t, "random", "material", 8)
	var games []*Game
	o.Progress = func(g *Game, r Result) { games = append(games, g) }
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	byNumber := map[int]*Game{}
	for _, g := range games {
		byNumber[g.number()] = g
	}
	starts := map[string]bool{}
	for k := range 4 {
		x, y := byNumber[2*k], byNumber[2*k+1]
		open := func(g *Game) string { return strings.Join(strings.Fields(g.Moves)[:g.Opening], " ") }
		if x.Opening != 4 || open(x) != open(y) || x.First != "random" || y.First != "material" {
			t.Errorf("pair %d: %q by %s, %q by %s", k, open(x), x.First, open(y), y.First)
		}
		starts[open(x)] = true
	}
	if len(starts) < 3 {
		t.Errorf("only %d openings", len(starts))
	}
}

// play runs a match and returns its journal's games by number and the result.
func play(t *testing.T, o Options) ([]*Game, Result) {
	t.Helper()
	r, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(o.Journal)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	_, games, err := ReadJournal(f)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(games, func(x, y *Game) int { return x.number() - y.number() })
	return games, r
}

func TestAMatchIsAFunctionOfItsSeed(t *testing.T) {
	o := options(t, "net:x,sims=8", "material", 12)
	o.Journal = filepath.Join(t.TempDir(), "one")
	o.Concurrency = 1
	want, wantResult := play(t, o)
	o.Journal = filepath.Join(t.TempDir(), "many")
	o.Concurrency = 5
	got, gotResult := play(t, o)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotResult, wantResult) {
		t.Errorf("five games at once differ from one:\n%+v\n%+v", gotResult, wantResult)
	}
	o.Seed++
	o.Journal = filepath.Join(t.TempDir(), "other")
	if other, _ := play(t, o); reflect.DeepEqual(other, want) {
		t.Error("another seed gives the same games")
	}
}

func TestAStoppedMatchGoesOnFromItsJournal(t *testing.T) {
	whole := options(t, "material", "random", 12)
	whole.Journal = filepath.Join(t.TempDir(), "whole")
	want, wantResult := play(t, whole)

	o := options(t, "material", "random", 12)
	o.Journal = filepath.Join(t.TempDir(), "stopped")
	ctx, cancel := context.WithCancel(t.Context())
	n := 0
	o.Progress = func(*Game, Result) {
		if n++; n == 5 {
			cancel()
		}
	}
	if r, err := Run(ctx, o); !errors.Is(err, context.Canceled) || r.Games < 5 || r.Games >= 12 {
		t.Fatalf("%d games, %v", r.Games, err)
	}
	f, err := os.OpenFile(o.Journal, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"pair":3,"second":tr`); err != nil { // torn by a kill
		t.Fatal(err)
	}
	f.Close()
	o.Progress = nil
	got, gotResult := play(t, o)
	if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotResult, wantResult) {
		t.Errorf("the match that was stopped differs:\n%+v\n%+v", gotResult, wantResult)
	}
	if again, err := Run(t.Context(), o); err != nil || !reflect.DeepEqual(again, wantResult) {
		t.Errorf("a finished match: %v", err)
	}
	o.Seed++
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another match") {
		t.Errorf("other settings: %v", err)
	}
}

func TestAJournalGoesOnWithTheSamePlayersOnly(t *testing.T) {
	begun := filepath.Join(t.TempDir(), "begun")
	o := options(t, "net:x,sims=2,name=A", "random", 2)
	o.Journal = begun
	play(t, o)
	data, err := os.ReadFile(begun)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a, b string
		good bool
	}{
		{"net:x,sims=2,name=A", "random", true},
		{"net:x,name=A,sims=2", "random", true},
		{"net:x,sims=3,name=A", "random", false},
		{"net:y,sims=2,name=A", "random", false}, // the net has changed: run@latest, or another file
		{"net:x,sims=2,name=A", "material,name=random", false},
	} {
		// Journals without keys were written by earlier versions.
		for _, keys := range []bool{true, false} {
			o := options(t, c.a, c.b, 2)
			o.Journal = filepath.Join(t.TempDir(), "copy")
			text := string(data)
			if !keys {
				h, _, err := decodeJournal(data)
				if err != nil {
					t.Fatal(err)
				}
				h.AKey, h.BKey = "", ""
				line, err := json.Marshal(h)
				if err != nil {
					t.Fatal(err)
				}
				text = string(line) + text[strings.IndexByte(text, '\n'):]
			}
			if err := os.WriteFile(o.Journal, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := Run(t.Context(), o); (err == nil) != (c.good || !keys) || err != nil && !strings.Contains(err.Error(), "another match") {
				t.Errorf("%s - %s, keys %v: %v", c.a, c.b, keys, err)
			}
		}
	}
}

// stub is a player of fixed behaviour.
type stub struct {
	Random
	move func(p *rules.Position) (Decision, error)
}

func (s *stub) Move(_ context.Context, p *rules.Position, _ protocol.Limits) (Decision, error) {
	return s.move(p)
}

func stubEntrant(move func(p *rules.Position) (Decision, error)) Entrant {
	return Entrant{Name: "stub", Open: func(context.Context) (Player, error) { return &stub{move: move}, nil }}
}

func TestDisagreementsAndFailuresCountForNobody(t *testing.T) {
	o := options(t, "random", "random", 4)
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) {
		return Decision{}, &protocol.IllegalMove{Engine: "stub", Text: "9i9h", SFEN: p.SFEN(), Err: rules.ErrIllegalMove}
	})
	r, err := Run(t.Context(), o)
	if err != nil || r.Games != 0 || len(r.Disagreements) != 4 || !strings.Contains(r.Disagreements[0].Detail, "9i9h") {
		t.Errorf("illegal moves: %+v, %v", r, err)
	}
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) {
		return Decision{Claim: protocol.Claim{Result: rules.SenteWins, Text: "1-0 {mate}"}}, nil
	})
	if r, err = Run(t.Context(), o); err != nil || r.Games != 0 || len(r.Disagreements) != 4 {
		t.Errorf("claims: %+v, %v", r, err)
	}
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) {
		return Decision{}, &protocol.Failure{Engine: "stub", Doing: "search", Err: errors.New("hung"), Transcript: []string{"> go"}}
	})
	r, err = Run(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "in a row") || len(r.Failures) == 0 || r.Failures[0].Log[0] != "> go" {
		t.Errorf("failures: %+v, %v", r, err)
	}
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) { return Decision{}, errors.New("broken net") })
	if _, err = Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "broken net") {
		t.Errorf("a fault of our own must end the match: %v", err)
	}
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) { return Decision{Resign: true}, nil })
	if r, err = Run(t.Context(), o); err != nil || r.Wins != 4 || r.ByReason["resignation"] != 4 {
		t.Errorf("resignation: %+v, %v", r, err)
	}
}

func TestClaimsOfAnEndAreListed(t *testing.T) {
	o := options(t, "random", "random", 2)
	claim := protocol.Claim{Result: rules.Draw, Text: "1/2-1/2 {repetition}"}
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) {
		d := Decision{Claim: claim, Move: p.AppendMoves(nil)[0]}
		if p.Ply() > 20 {
			return Decision{Resign: true, Claim: protocol.Claim{Text: "0-1 {king is gone}"}}, nil
		}
		return d, nil
	})
	r, err := Run(t.Context(), o)
	if err != nil || r.Games != 2 || len(r.Claims) < 2 || r.ByReason["resignation"] != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	all := strings.Join(r.Claims, "\n")
	for _, want := range []string{"game 1, ply ", "random says \"1/2-1/2 {repetition}\", the rules say ongoing"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q is missing in %s", want, all)
		}
	}
	if r.ByReason["adjudicated"] > 0 && !strings.Contains(all, "and has lost by its own word") {
		t.Errorf("%v: %s", r.ByReason, all)
	}
}

func TestAWinIsDeclaredWhereTheRulesAllowIt(t *testing.T) {
	for _, c := range []struct {
		book  string
		games int
	}{
		{"4K4/+P+P+P+P+P+P+P+P+P/4G4/9/9/4k4/9/9/9 b 2R2BG 1", 2}, // 31 points
		{"4K4/+P+P+P+P+P+P+P+P+P/4G4/9/9/4k4/9/9/9 b RBG 1", 0},
	} {
		v := load(t, "shogi", "nyugyoku=27", "nyugyoku_auto=off")
		claim := stubEntrant(func(p *rules.Position) (Decision, error) {
			return Decision{Claim: protocol.Claim{Result: rules.Winner(p.Side()), Text: "win"}}, nil
		})
		r, err := Run(t.Context(), Options{Variant: v, A: claim, B: claim, Games: 2, Openings: Openings{Book: []string{c.book}}})
		if err != nil || r.Games != c.games || r.ByReason["declaration"] != c.games || len(r.Disagreements) != 2-c.games || c.games > 0 && r.FirstScore != 1 {
			t.Errorf("%s: %+v, %v", c.book, r, err)
		}
	}
}

func TestTheClockLosesGames(t *testing.T) {
	o := options(t, "random", "random", 2)
	o.Clock = Clock{Initial: 100 * time.Millisecond, Slack: 100 * time.Millisecond} // enough for one move on a busy machine
	o.B = stubEntrant(func(p *rules.Position) (Decision, error) {
		time.Sleep(300 * time.Millisecond)
		return Decision{Move: p.AppendMoves(nil)[0]}, nil
	})
	r, err := Run(t.Context(), o)
	if err != nil || r.Wins != 2 || r.ByReason["time"] != 2 {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestAnSPRTEndsTheMatchAtTheSamePairHoweverManyGamesRun(t *testing.T) {
	var want Result
	for i, concurrency := range []int{1, 4} {
		o := options(t, "material", "random", 400)
		o.Concurrency = concurrency
		o.SPRT = &SPRT{Elo0: 0, Elo1: 100, Alpha: 0.05, Beta: 0.05}
		r, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if r.SPRT.Decision != AcceptH1 || r.Games >= 100 {
			t.Errorf("%+v", r)
		}
		if i == 0 {
			want = r
		} else if !reflect.DeepEqual(r, want) {
			t.Errorf("%+v\n%+v", r, want)
		}
	}
}

func TestResultsAreOneJSONObject(t *testing.T) {
	r, err := Run(t.Context(), options(t, "material", "random", 4))
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	for _, key := range strings.Fields("a b variant games wins draws losses score elo elo_low elo_high by_reason") {
		if _, ok := m[key]; !ok {
			t.Errorf("%s is missing in %s", key, text)
		}
	}
}

func TestOptionsReportEveryFaultAtOnce(t *testing.T) {
	_, err := Run(t.Context(), Options{Variant: load(t, "minishogi"), Concurrency: -1, Openings: Openings{Plies: -1, Book: []string{"x"}},
		SPRT: &SPRT{Elo0: 5, Elo1: 5, Alpha: 0.9, Beta: 0.05}})
	for _, want := range []string{"a, b:", "games:", "concurrency:", "random plies", "book entry 1", "elo0", "alpha"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

func TestAMatchLeavesNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	o := options(t, "random", "random", 6)
	o.Concurrency = 3
	if _, err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

// TestAgainstAnOutsideEngine plays Fairy-Stockfish: the whole way through process, moves and results.
func TestAgainstAnOutsideEngine(t *testing.T) {
	o := options(t, "usi:fairy-stockfish,nodes=100,option.Skill Level=20", "random", 6)
	r, err := Run(t.Context(), o)
	var failure *protocol.Failure
	if errors.As(err, &failure) && strings.Contains(err.Error(), "no program") {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatal("fairy-stockfish is not installed")
		}
		t.Skip("fairy-stockfish is not installed")
	}
	if err != nil || r.Games != 6 || r.Score < 0.8 || len(r.Disagreements)+len(r.Failures) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
}
