package engine

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

func TestUSIIntroducesItself(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	c.send("usi")
	text := strings.Join(c.until("usiok"), "\n")
	for _, want := range []string{
		"id name kirin test", "option name USI_Variant type combo default minishogi", "var chushogi", "option name Threads type spin",
		"option name USI_Hash type spin", "option name USI_Ponder type check", "option name MultiPV", "option name Level type combo default max",
		"option name Net type string", "option name Rules type string",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	c.send("isready")
	if got := c.until("readyok"); !strings.Contains(got[0], "net flat") {
		t.Errorf("the net is not named: %q", got)
	}
	c.send("setoption name Net value missing")
	c.send("isready")
	if got := c.until("readyok"); !strings.Contains(got[0], "error: no net called missing") {
		t.Errorf("%q", got)
	}
	c.send("go nodes 5")
	c.until("bestmove resign")
}

func TestUSISearchesWithinItsLimits(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", time.Millisecond))
	c.send("usinewgame")
	c.send("position startpos moves 3e3d")
	c.send("go nodes 40")
	lines := c.until("bestmove")
	info := lines[len(lines)-2]
	for _, want := range []string{"info depth ", " seldepth ", " score cp ", " wdl ", " nodes ", " nps ", " hashfull ", " time ", " pv "} {
		if !strings.Contains(info, want) {
			t.Errorf("%q is missing in %q", want, info)
		}
	}
	for _, limit := range []string{"movetime 100", "btime 0 wtime 0 byoyomi 150", "depth 3", "btime 2000 wtime 2000 binc 10 winc 10", "btime 500 wtime 500"} {
		began := time.Now()
		c.send("go %s", limit)
		c.until("bestmove")
		if took := time.Since(began); took > 3*time.Second {
			t.Errorf("%s took %v", limit, took)
		}
	}
}

func TestUSIStopsAtOnce(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 2*time.Millisecond))
	c.send("isready")
	c.until("readyok")
	var times []time.Duration
	for i := range 30 {
		c.send("position startpos")
		c.send("go infinite")
		time.Sleep(time.Duration(i) * time.Millisecond)
		began := time.Now()
		c.send("stop")
		c.until("bestmove")
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	// The machine may be busy with other tests, so only half of the answers need to come in time.
	if middle := times[len(times)/2]; middle > 50*time.Millisecond {
		t.Errorf("stop took %v in the middle, %v at worst", middle, times[len(times)-1])
	}
}

func TestUSIPondersUntilTheHit(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", time.Millisecond))
	c.send("position startpos moves 3e3d 3a3b")
	c.send("go ponder btime 1000 wtime 1000 byoyomi 100")
	c.quiet(400*time.Millisecond, "bestmove")
	began := time.Now()
	c.send("ponderhit")
	c.until("bestmove")
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("the answer came %v after the hit", took)
	}
	c.send("go ponder btime 1000 wtime 1000")
	c.send("stop")
	c.until("bestmove")
}

func TestEveryGoIsAnsweredOnceWhateverEndsTheSearch(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	c.send("isready")
	c.until("readyok")
	for _, end := range []string{"stop", "usinewgame", "gameover win", "usinewgame\nstop", "stop\nusinewgame\ngameover lose"} {
		for _, search := range []string{"go infinite", "go ponder btime 1000 wtime 1000", "go ponder nodes 1", "go nodes 1", "go mate infinite"} {
			c.send("position startpos moves 3e3d")
			c.send("%s", search)
			c.send("%s", end)
			c.send("isready")
			answers := 0
			for _, line := range c.until("readyok") {
				if strings.HasPrefix(line, "bestmove ") || strings.HasPrefix(line, "checkmate ") {
					answers++
				}
			}
			if answers != 1 {
				t.Errorf("%s, %q: %d answers", search, end, answers)
			}
		}
	}
	c.send("go infinite")
	c.send("quit")
}

func TestUSIKnowsMatesAndDeclarations(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	c.send("position sfen 4k/2G2/4P/5/K4 b G 1") // gold drop in front of the king
	c.send("go nodes 100")
	lines := c.until("bestmove")
	if best := lines[len(lines)-1]; !strings.HasPrefix(best, "bestmove ") || !strings.Contains(strings.Join(lines, "\n"), "score mate 1 ") {
		t.Errorf("%q", lines)
	}
	c.send("go mate infinite")
	if got := c.last("checkmate"); len(strings.Fields(got)) != 2 || strings.Contains(got, "nomate") {
		t.Errorf("%q", got)
	}
	c.send("position startpos")
	c.send("go mate 300")
	if got := c.last("checkmate"); got != "checkmate nomate" && got != "checkmate timeout" {
		t.Errorf("%q", got)
	}
	c.send("position sfen 4k/4G/4G/5/K4 w - 1") // mated
	c.send("go nodes 10")
	c.until("bestmove resign")
	c.send("setoption name USI_Variant value shogi")
	c.send("position sfen 4K4/9/9/9/9/9/9/9/4k4 b 2R2B4G4S3Nn4l18p 1")
	c.send("go nodes 10")
	c.until("bestmove win")
}

func TestUSIIsExactAboutWhatIsWrong(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	for line, want := range map[string]string{
		"position startpos moves 3e3d 3e3c":        "move 2: ",
		"position startpos moves xyz":              "not a move",
		"position sfen 9/9 b - 1":                  "SFEN",
		"position":                                 "write \"position",
		"position fen x":                           "neither",
		"go nodes x":                               "not a number",
		"go sideways":                              "unknown word",
		"setoption name Threads value 0":           "1..",
		"setoption name Threads value many":        "1..",
		"setoption name Colour value red":          "unknown",
		"setoption name USI_Variant value chess":   "minishogi",
		"setoption name Rules value repetition=no": "repetition",
		"setoption name Level value godlike":       "beginner",
		"setoption Threads 1":                      "setoption name",
		"\x00\xff\x1b[2J":                          "unknown command",
	} {
		c.send("%s", line)
		if got := c.last("info string error"); !strings.Contains(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
		if strings.HasPrefix(line, "go ") { // it is played all the same
			c.send("stop")
			c.until("bestmove")
		}
	}
	c.send("position startpos moves 3e3d")
	c.send("position startpos moves 9z9z")
	c.send("go nodes 10")
	best := strings.Fields(c.last("bestmove 1", "bestmove 2", "bestmove 3", "bestmove 4", "bestmove 5"))[1]
	v, _ := rules.Load("minishogi")
	p := v.Start()
	m, _ := p.ParseMove("3e3d")
	p.Do(m)
	if _, err := p.ParseMove(best); err != nil {
		t.Errorf("a wrong position command changed the position: %v", err)
	}
}

func TestUSILevelsAndLinesAreObeyed(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	c.send("setoption name MultiPV value 4")
	c.send("setoption name ShowWDL value false")
	c.send("go nodes 200")
	lines := c.until("bestmove")
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, " multipv 4 ") || strings.Contains(text, " multipv 5 ") || strings.Contains(text, "wdl") {
		t.Errorf("%s", text)
	}
	c.send("setoption name Level value beginner")
	moves := map[string]bool{}
	for range 30 {
		c.send("usinewgame")
		c.send("position startpos")
		c.send("go movetime 1000")
		moves[strings.Fields(c.last("bestmove"))[1]] = true
	}
	if len(moves) < 2 {
		t.Errorf("a beginner plays one move only: %v", moves)
	}
}

func TestTheFirstMovesVaryWithTheOpeningTemperatureOnly(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", 0))
	different := func(position string) int {
		moves := map[string]bool{}
		for range 20 {
			c.send("usinewgame")
			c.send(position)
			c.send("go nodes 60")
			moves[strings.Fields(c.last("bestmove"))[1]] = true
		}
		return len(moves)
	}
	if n := different("position startpos"); n != 1 {
		t.Errorf("%d first moves without a temperature", n)
	}
	c.send("setoption name OpeningTemperature value 100")
	if n := different("position startpos"); n < 2 {
		t.Error("one first move with a temperature")
	}
	later := "position startpos moves 5d5c 1b1c 4e4d 2a2b 4d4e 2b2a 4e4d 2a2b 4d4e 2b2a 3e3d 3a3b"
	if n := different(later); n != 1 {
		t.Errorf("%d moves after the opening", n)
	}
}

// TestUSIPlaysWholeGames plays through the protocol alone: random time controls, stops and ponder hits.
func TestUSIPlaysWholeGames(t *testing.T) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) {
			v, err := rules.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			c := serveUSIClient(t, testConfig("minishogi", 0))
			c.send("usi")
			c.until("usiok")
			c.send("setoption name USI_Variant value %s", name)
			c.send("isready")
			c.until("readyok")
			rng := rand.New(rand.NewPCG(1, 2))
			for threads := 1; threads <= 2; threads++ {
				c.send("setoption name Threads value %d", threads)
				playThroughUSI(t, c, v, rng, 60)
			}
		})
	}
}

func playThroughUSI(t *testing.T, c *client, v *rules.Variant, rng *rand.Rand, plies int) {
	t.Helper()
	p := v.Start()
	var texts []string
	c.send("usinewgame")
	for p.Ply() < plies {
		moves := p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			return
		}
		position := "position startpos"
		if len(texts) > 0 {
			position += " moves " + strings.Join(texts, " ")
		}
		c.send("%s", position)
		switch rng.IntN(5) {
		case 0:
			c.send("go infinite")
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
			c.send("stop")
		case 1:
			c.send("go ponder btime 100 wtime 100")
			c.send("ponderhit")
		case 2:
			c.send("go btime %d wtime 30 byoyomi 10", rng.IntN(100))
		case 3:
			c.send("go nodes %d", 1+rng.IntN(30))
		default:
			c.send("go btime 50 wtime 50 binc 5 winc 5")
		}
		f := strings.Fields(c.last("bestmove"))
		m, err := p.ParseMove(f[1])
		if err != nil {
			t.Fatalf("%s: %v in %s", f, err, p.SFEN())
		}
		texts = append(texts, f[1])
		p.Do(m)
		if len(f) == 4 {
			if _, err := p.ParseMove(f[3]); err != nil {
				t.Fatalf("ponder move: %v", err)
			}
		}
	}
}

func TestGoWordsAreRead(t *testing.T) {
	for text, want := range map[string]protocol.Limits{
		"":                             {Infinite: true},
		"infinite":                     {Infinite: true},
		"ponder infinite":              {Infinite: true, Ponder: true},
		"nodes 5 depth 3 movetime 100": {Nodes: 5, Depth: 3, MoveTime: 100 * time.Millisecond},
		"btime 1000 wtime 2000 byoyomi 500": {
			Timed: true, Clock: [2]time.Duration{time.Second, 2 * time.Second}, Byoyomi: 500 * time.Millisecond,
		},
		"btime -5 wtime 0 binc 10 winc 20 movestogo 3": {Timed: true, Increment: [2]time.Duration{10e6, 20e6}, MovesToGo: 3},
	} {
		got, mate, err := parseGo(strings.Fields(text))
		if err != nil || mate || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	if l, mate, err := parseGo([]string{"mate", "500"}); !mate || err != nil || l.MoveTime != 500*time.Millisecond {
		t.Errorf("mate: %+v, %v", l, err)
	}
	for _, text := range []string{"nodes", "nodes x", "byoyomi", "quickly"} {
		if l, _, err := parseGo(strings.Fields(text)); err == nil || l.Nodes != 0 {
			t.Errorf("%q: %+v, %v", text, l, err)
		}
	}
}

// A go that is not understood must not cost the game.
func TestAGoThatIsNotUnderstoodIsPlayedAllTheSame(t *testing.T) {
	c := serveUSIClient(t, testConfig("minishogi", time.Millisecond))
	for _, text := range []string{"go nodes abc", "go quickly", "go nodes 20 colour blue", "go ponder nodes x"} {
		c.send("position startpos")
		c.send(text)
		if strings.Contains(text, "ponder") {
			c.send("ponderhit")
		}
		lines := c.until("bestmove")
		best := lines[len(lines)-1]
		if best == "bestmove resign" || !strings.Contains(strings.Join(lines, "\n"), "error: go: ") {
			t.Errorf("%s: %q", text, lines)
		}
	}
}

func TestTheClockIsSharedOut(t *testing.T) {
	const overhead = 50 * time.Millisecond
	for _, variant := range rules.Names() {
		left, played := 10*time.Second, 0
		for range 400 { // a game with an increment never runs out
			a := allot(protocol.Limits{Timed: true, Clock: [2]time.Duration{left, left}, Increment: [2]time.Duration{100e6, 100e6}},
				rules.Sente, variant, overhead)
			if !a.bound || a.soft <= 0 || a.soft > a.hard || a.hard+overhead/2 > left && left > 2*overhead {
				t.Fatalf("%s: %+v with %v left", variant, a, left)
			}
			left += 100*time.Millisecond - a.soft - overhead/2
			played++
			if left <= 0 {
				t.Fatalf("%s: out of time after %d moves", variant, played)
			}
		}
	}
	l := protocol.Limits{Timed: true, Byoyomi: time.Second}
	if a := allot(l, rules.Gote, "shogi", overhead); a.soft != 950*time.Millisecond || a.hard != a.soft {
		t.Errorf("byoyomi only: %+v", a)
	}
	l.Clock = [2]time.Duration{time.Minute, time.Minute}
	if a := allot(l, rules.Gote, "shogi", overhead); a.soft < time.Second || a.hard > 20*time.Second {
		t.Errorf("a minute and byoyomi: %+v", a)
	}
	if a := allot(protocol.Limits{Infinite: true, Timed: true}, rules.Sente, "shogi", overhead); a.bound {
		t.Errorf("infinite: %+v", a)
	}
	if a := allot(protocol.Limits{MoveTime: 10 * time.Millisecond}, rules.Sente, "shogi", overhead); a.hard > 10*time.Millisecond || a.hard < 2*time.Millisecond {
		t.Errorf("10 ms: %+v", a)
	}
}

func TestFaultsOfAConfigurationAreListedTogether(t *testing.T) {
	err := Config{Variant: "chess", Options: Options{Level: "x", HashMB: 1}}.Validate()
	for _, want := range []string{"name:", "variant:", "open:", "threads:", "hash_mb:", "level:", "multi_pv:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
	if err := ServeUSI(context.Background(), strings.NewReader("usi\n"), io.Discard, Config{}); err == nil {
		t.Error("an empty configuration is served")
	}
	if fmt.Sprint(testConfig("shogi", 0).Validate()) != "<nil>" {
		t.Error("a good configuration is refused")
	}
}

// TestTheMoveDoesNotLoseAtOnceIfAnotherDoesNot asks in chu shogi, where nothing forbids to leave the king attacked.
func TestTheMoveDoesNotLoseAtOnceIfAnotherDoesNot(t *testing.T) {
	c := serveUSIClient(t, testConfig("chushogi", 0))
	c.send("setoption name MateNodes value 0")
	c.send("position sfen 11k/12/12/12/12/12/11r/PPPPPPPPPPP1/12/12/PPPPPPPPPPP1/11K b - 1")
	c.send("go nodes 3")
	f := strings.Fields(c.last("bestmove"))
	v, _ := rules.Load("chushogi")
	p, err := v.ParseSFEN("11k/12/12/12/12/12/11r/PPPPPPPPPPP1/12/12/PPPPPPPPPPP1/11K b - 1")
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.ParseMove(f[1])
	if err != nil {
		t.Fatal(err)
	}
	p.Do(m)
	for _, reply := range p.AppendMoves(nil) {
		if to := p.At(reply.To()); to != rules.NoPiece && v.Info(to.Kind()).Royal {
			t.Errorf("%s leaves the king to be taken", f[1])
		}
	}
}

// TestABlunderOfTheOpponentIsPunishedOnAPonderHit asks for the answer to a move that the search before has proven lost
// without looking at the answers.
func TestABlunderOfTheOpponentIsPunishedOnAPonderHit(t *testing.T) {
	c := serveUSIClient(t, testConfig("chushogi", 0))
	const start = "position sfen 11k/12/12/12/12/12/11r/PPPPPPPPPPP1/12/12/PPPPPPPPPPP1/11K b - 1"
	c.send(start)
	c.send("go nodes 300")
	c.until("bestmove")
	c.send(start + " moves 12h12g")
	c.send("go ponder btime 2000 wtime 2000")
	c.quiet(100*time.Millisecond, "bestmove")
	c.send("ponderhit")
	if got := c.last("bestmove"); !strings.HasPrefix(got, "bestmove 1g1l") {
		t.Errorf("%q, not the king", got)
	}
}
