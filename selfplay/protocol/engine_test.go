package protocol

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/rules"
)

func load(t testing.TB, name string) *rules.Variant {
	t.Helper()
	v, err := rules.Load(name)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// openFake starts a fake engine with short limits.
func openFake(t *testing.T, behaviour ...string) (*Engine, error) {
	t.Helper()
	return Open(t.Context(), Options{
		Protocol: "usi", Command: fakeCommand(behaviour...), Variant: load(t, "minishogi"),
		StartTimeout: 30 * time.Second, AnswerTimeout: 300 * time.Millisecond, Grace: 200 * time.Millisecond,
	})
}

// mustFake starts a fake engine in a new game.
func mustFake(t *testing.T, behaviour ...string) (*Engine, *rules.Position) {
	t.Helper()
	e, err := openFake(t, behaviour...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	p := e.o.Variant.Start()
	if err := e.NewGame(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	return e, p
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	if runtime.GOOS == "windows" {
		return
	}
	process, err := os.FindProcess(pid)
	if err != nil {
		return
	}
	for range 100 {
		if process.Signal(syscall.Signal(0)) != nil || zombie(pid) {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("process %d still runs", pid)
}

// zombie tells whether a process is dead and only waits for its parent, where /proc can say so.
func zombie(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return false
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	return strings.HasPrefix(after, "Z")
}

func TestAnEngineAnswersWithItsBestLine(t *testing.T) {
	e, p := mustFake(t, "good")
	a, err := e.Search(t.Context(), p, Limits{Nodes: 100})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.FormatMove(a.Move); got != "3e3d" || a.Ponder != "3a3b" {
		t.Errorf("answer %s, ponder %s", got, a.Ponder)
	}
	if a.Depth != 3 || a.Nodes != 100 || a.Score.Centipawns != 25 || a.PV != "3e3d 3a3b" {
		t.Errorf("info of the first line is not kept: %+v", a)
	}
	if e.Name() != "Fake" || e.Restarts() != 0 {
		t.Errorf("name %q, %d restarts", e.Name(), e.Restarts())
	}
}

func TestAHungEngineIsKilledAndReported(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "hang")
	pid := e.proc.cmd.Process.Pid
	began := time.Now()
	_, err := e.Search(t.Context(), p, Limits{MoveTime: 50 * time.Millisecond})
	var failure *Failure
	if !errors.As(err, &failure) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took > 40*time.Second {
		t.Errorf("took %v", took)
	}
	if e.Restarts() != 1 {
		t.Errorf("%d restarts", e.Restarts())
	}
	if s := strings.Join(failure.Transcript, "\n"); !strings.Contains(s, "> go movetime 50") || !strings.Contains(s, "# started again") {
		t.Errorf("transcript:\n%s", s)
	}
	gone(t, pid)
}

func TestASlowEngineIsStoppedBeforeItIsKilled(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "slow")
	a, err := e.Search(t.Context(), p, Limits{MoveTime: 10 * time.Millisecond})
	if err != nil || p.FormatMove(a.Move) != "3e3d" || e.Restarts() != 0 {
		t.Fatalf("%v, %v, %d restarts", a, err, e.Restarts())
	}
}

func TestADeadEngineIsStartedAgainOnce(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "die-once", filepath.Join(t.TempDir(), "died"))
	if a, err := e.Search(t.Context(), p, Limits{}); err != nil || p.FormatMove(a.Move) != "3e3d" {
		t.Fatalf("%v, %v", a, err)
	}
	if e.Restarts() != 1 {
		t.Errorf("%d restarts", e.Restarts())
	}
	always, p := mustFake(t, "die")
	_, err := always.Search(t.Context(), p, Limits{})
	var failure *Failure
	if !errors.As(err, &failure) || !errors.Is(err, ErrExited) {
		t.Fatalf("got %v", err)
	}
	if s := strings.Join(failure.Transcript, "\n"); !strings.Contains(s, "! assertion failed") {
		t.Errorf("the error output is missing:\n%s", s)
	}
}

func TestAnIllegalMoveIsADisagreement(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "illegal")
	_, err := e.Search(t.Context(), p, Limits{})
	var illegal *IllegalMove
	if !errors.As(err, &illegal) || !errors.Is(err, rules.ErrIllegalMove) || illegal.Text != "3e3a" {
		t.Fatalf("got %v", err)
	}
	e, p = mustFake(t, "nonsense")
	_, err = e.Search(t.Context(), p, Limits{})
	var failure *Failure
	if !errors.As(err, &failure) {
		t.Fatalf("got %v", err)
	}
}

func TestBadStartsFailInTime(t *testing.T) {
	t.Parallel()
	for _, behaviour := range []string{"mute", "flood"} {
		e, err := Open(t.Context(), Options{
			Protocol: "usi", Command: fakeCommand(behaviour), Variant: load(t, "minishogi"), StartTimeout: 300 * time.Millisecond,
		})
		if err == nil {
			e.Close()
			t.Errorf("%s: no error", behaviour)
		}
	}
	if _, err := Open(t.Context(), Options{Protocol: "usi", Command: "no-such-program-here", Variant: load(t, "minishogi")}); err == nil ||
		!strings.Contains(err.Error(), "no-such-program-here") {
		t.Errorf("missing program: %v", err)
	}
	if _, err := Open(t.Context(), Options{Protocol: "usi", Command: fakeCommand("good"), Variant: load(t, "torishogi")}); err == nil ||
		!strings.Contains(err.Error(), "torishogi") {
		t.Errorf("wrong game: %v", err)
	}
	_, err := Open(t.Context(), Options{
		Protocol: "usi", Command: fakeCommand("good"), Variant: load(t, "minishogi"), Settings: []Setting{{"Skill", "3"}},
	})
	if err == nil || !strings.Contains(err.Error(), `"Skill"`) || !strings.Contains(err.Error(), "Level") {
		t.Errorf("unknown option: %v", err)
	}
	if err := (Options{}).Validate(); err == nil || strings.Count(err.Error(), "\n") != 2 {
		t.Errorf("every fault at once: %v", err)
	}
}

func TestNoiseBeforeTheGreetingIsPassedOver(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "noise")
	if _, err := e.Search(t.Context(), p, Limits{}); err != nil {
		t.Fatal(err)
	}
}

func TestADeafEngineDoesNotBlockUs(t *testing.T) {
	t.Parallel()
	e, err := Open(t.Context(), Options{
		Protocol: "usi", Command: fakeCommand("deaf"), Variant: load(t, "minishogi"), StartTimeout: 300 * time.Millisecond,
	})
	if err == nil {
		e.Close()
		t.Fatal("no error")
	}
}

func TestCloseLeavesNoProcessAndNoGoroutine(t *testing.T) {
	before := runtime.NumGoroutine()
	for _, behaviour := range []string{"good", "stubborn", "children"} {
		e, p := mustFake(t, behaviour)
		a, err := e.Search(t.Context(), p, Limits{})
		if err != nil {
			t.Fatalf("%s: %v", behaviour, err)
		}
		pid := e.proc.cmd.Process.Pid
		began := time.Now()
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%s: closing took %v", behaviour, took)
		}
		gone(t, pid)
		if behaviour == "children" {
			gone(t, int(a.Nodes))
		}
	}
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

func TestACancelledSearchEndsAtOnce(t *testing.T) {
	t.Parallel()
	e, p := mustFake(t, "hang")
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	began := time.Now()
	if _, err := e.Search(ctx, p, Limits{MoveTime: time.Minute}); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("took %v", took)
	}
}

func TestCommandsAreSplitAsAShellWould(t *testing.T) {
	for in, want := range map[string]string{
		`a b  c`:                     `a|b|c`,
		`"C:\Program Files\e.exe" x`: `C:\Program Files\e.exe|x`,
		`a 'b "c"' d\ e`:             `a|b "c"|d e`,
		`a ""`:                       `a|`,
	} {
		got, err := SplitCommand(in)
		if err != nil || strings.Join(got, "|") != want {
			t.Errorf("%s: %q, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "  ", `a "b`} {
		if _, err := SplitCommand(in); err == nil {
			t.Errorf("%q: no error", in)
		}
	}
}

func TestTheTranscriptKeepsTheLastLines(t *testing.T) {
	var log transcript
	for i := range transcriptLines + 5 {
		log.add('<', strconv.Itoa(i))
	}
	lines := log.all()
	if len(lines) != transcriptLines || lines[0] != "< 5" || lines[len(lines)-1] != "< "+strconv.Itoa(transcriptLines+4) {
		t.Errorf("%d lines, %q to %q", len(lines), lines[0], lines[len(lines)-1])
	}
}

func TestARefusalNamesTheMoveAndThePositionBeforeIt(t *testing.T) {
	for language, want := range map[string]string{"cecp": refused, "gnu": "3a3b"} {
		behaviour := map[string]string{"cecp": "cecp-refuses", "gnu": "gnu"}[language]
		e, err := Open(t.Context(), Options{
			Protocol: language, Command: fakeCommand(behaviour), Variant: load(t, "minishogi"), StartTimeout: 30 * time.Second, AnswerTimeout: 30 * time.Second,
		})
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		p := e.o.Variant.Start()
		if err := e.NewGame(t.Context(), p.Clone()); err != nil {
			t.Fatal(err)
		}
		before := ""
		for _, text := range []string{"3e3d", "3a3b", "1e1d", "5a5b"} { // all are told together; the second is refused
			if text == "3a3b" {
				before = p.SFEN()
			}
			m, err := p.ParseMove(text)
			if err != nil {
				t.Fatal(err)
			}
			p.Do(m)
		}
		_, err = e.Search(t.Context(), p, Limits{Depth: 1})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Move != want || refusal.SFEN != before {
			t.Errorf("%s: %v; want %s in %s", language, err, want, before)
		}
	}
}

func TestANoMoveIsALossByTheEnginesWordAndAWinAClaim(t *testing.T) {
	for behaviour, want := range map[string]Answer{
		"none": {Resign: true, Claim: Claim{Result: rules.GoteWins, Text: "(none)"}},
		"win":  {Claim: Claim{Result: rules.SenteWins, Text: "win"}},
	} {
		e, p := mustFake(t, behaviour)
		if a, err := e.Search(t.Context(), p, Limits{}); err != nil || a != want {
			t.Errorf("%s: %+v, %v", behaviour, a, err)
		}
	}
}

func TestCECPClaimsComeWithTheMoveOrAlone(t *testing.T) {
	for behaviour, want := range map[string][2]bool{ // whether the first and second search give a claim
		"cecp-claims-before": {true, true}, "cecp-claims-after": {false, true}, "cecp-claims-only": {true, true},
	} {
		t.Run(behaviour, func(t *testing.T) {
			e, err := Open(t.Context(), Options{
				Protocol: "cecp", Command: fakeCommand(behaviour), Variant: load(t, "minishogi"), StartTimeout: 30 * time.Second, AnswerTimeout: 5 * time.Second,
			})
			if err != nil {
				t.Fatal(err)
			}
			defer e.Close()
			p := e.o.Variant.Start()
			if err := e.NewGame(t.Context(), p.Clone()); err != nil {
				t.Fatal(err)
			}
			for i, claims := range want {
				a, err := e.Search(t.Context(), p, Limits{Depth: 1})
				if err != nil {
					t.Fatal(err)
				}
				if got := a.Claim.Result == rules.Draw; got != claims || (a.Move == rules.NoMove) != (behaviour == "cecp-claims-only") || a.Resign {
					t.Errorf("search %d: %+v", i+1, a)
				}
				if a.Move == rules.NoMove {
					return
				}
				p.Do(a.Move)
				p.Do(p.AppendMoves(nil)[0])
			}
		})
	}
}
