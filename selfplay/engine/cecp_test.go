package engine

import (
	"context"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

func serveCECPClient(t *testing.T, c Config) *client {
	return serve(t, func(ctx context.Context, in io.Reader, out io.Writer) error { return ServeCECP(ctx, in, out, c) })
}

// sync waits until the engine has taken all commands and returns what it wrote.
func (c *client) sync() []string {
	c.t.Helper()
	c.send("ping 77")
	lines := c.until("pong 77")
	return lines[:len(lines)-1]
}

func TestCECPIntroducesItself(t *testing.T) {
	c := serveCECPClient(t, testConfig("minishogi", 0))
	c.send("xboard")
	c.send("protover 2")
	text := strings.Join(c.until("feature done=1"), "\n")
	for _, want := range []string{
		`myname="kirin test"`, `variants="chu,torishogi,minishogi,shogi"`, "ping=1", "setboard=1", "usermove=1", "memory=1", "smp=1",
		"analyze=1", "highlight=1", "sigint=0", `option="Level -combo beginner /// easy`, "*max",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
	c.send("new")
	c.send("variant torishogi")
	if got := c.sync(); len(got) != 10 || !strings.HasPrefix(got[0], "setup (S.....FLR.C+.....+.PK") || got[7] != "piece S& fWff@6" {
		t.Errorf("%q", got)
	}
	c.send("variant chu")
	if got := c.sync(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	c.send("variant nocastle")
	if got := c.sync(); len(got) != 1 || !strings.HasPrefix(got[0], "Error (unknown variant)") {
		t.Errorf("%q", got)
	}
}

func TestCECPPlaysGames(t *testing.T) {
	for _, game := range cecpVariants {
		t.Run(game.name, func(t *testing.T) {
			v, err := rules.Load(game.ours)
			if err != nil {
				t.Fatal(err)
			}
			c := serveCECPClient(t, testConfig("minishogi", 0))
			c.send("xboard\nprotover 2")
			c.until("feature done=1")
			rng := rand.New(rand.NewPCG(3, 4))
			for round := range 3 {
				c.send("new\nvariant %s\n%s\nnopost", game.name, []string{"easy", "hard", "easy"}[round])
				c.send("%s", []string{"st 0.02", "level 40 0:01 0.01", "sd 2"}[round])
				playThroughCECP(t, c, v, rng, 50)
			}
		})
	}
}

// playThroughCECP lets a random player move first against the engine, until the end or for some plies.
func playThroughCECP(t *testing.T, c *client, v *rules.Variant, rng *rand.Rand, plies int) {
	t.Helper()
	p := v.Start()
	for p.Ply() < plies {
		moves := p.AppendMoves(nil)
		if out := p.Outcome(len(moves)); out.Result != rules.Ongoing {
			want := map[rules.Result]string{rules.SenteWins: "1-0", rules.GoteWins: "0-1", rules.Draw: "1/2-1/2"}[out.Result]
			c.until(want)
			return
		}
		m := moves[rng.IntN(len(moves))]
		c.send("time 100\notim 100\nusermove %s", protocol.FormatAlgebraic(v, m))
		p.Do(m)
		moves = p.AppendMoves(nil)
		if p.Outcome(len(moves)).Result != rules.Ongoing {
			continue
		}
		line := c.last("move ", "resign", "Illegal")
		if line == "resign" {
			return
		}
		text, ok := strings.CutPrefix(line, "move ")
		reply, err := protocol.ParseAlgebraic(p, text)
		if !ok || err != nil {
			t.Fatalf("%q: %v in %s", line, err, p.SFEN())
		}
		p.Do(reply)
	}
}

func TestCECPObeysForceUndoAndGo(t *testing.T) {
	c := serveCECPClient(t, testConfig("minishogi", 0))
	c.send("protover 2\nnew\nvariant minishogi\nforce\nusermove c1c2\nb5c4")
	if got := c.sync(); strings.Contains(strings.Join(got, "\n"), "move ") || strings.Contains(strings.Join(got, "\n"), "rror") {
		t.Errorf("in force mode: %q", got)
	}
	c.send("usermove c2c1\nusermove a1a9\nusermove b5b4\nusermove")
	if got := strings.Join(c.sync(), "\n"); strings.Count(got, "Illegal move (") != 4 {
		t.Errorf("illegal moves: %s", got)
	}
	c.send("remove\nundo\nundo")
	if got := strings.Join(c.sync(), "\n"); strings.Count(got, "no move to take back") != 2 {
		t.Errorf("%s", got)
	}
	c.send("st 0.01\nusermove c1c2\ngo")
	c.until("move ")
	c.send("force\nsetboard 4k/2G2/4P/5/K4[G] w 0 1\ngo") // a gold drop mates
	lines := c.until("1-0")
	if got := lines[len(lines)-1]; got != "1-0 {checkmate}" {
		t.Errorf("%q", lines)
	}
	c.send("force\nsetboard 4k/2G2/4P/5/K4 [Gpp] b 0 1\nusermove e5e4")
	c.send("setboard 9/9 w\nsetboard\nsetboard 4k/5/5/5/K4[ w")
	if got := strings.Join(c.sync(), "\n"); strings.Count(got, "Illegal position") != 3 {
		t.Errorf("%s", got)
	}
}

func TestCECPMovesNowAndAnswersPingAfterTheMove(t *testing.T) {
	c := serveCECPClient(t, testConfig("minishogi", time.Millisecond))
	c.send("new\nvariant minishogi\nst 60\npost\nusermove c1c2")
	time.Sleep(100 * time.Millisecond)
	began := time.Now()
	c.send("ping 5\n?")
	lines := c.until("pong 5")
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("moving now took %v", took)
	}
	text := strings.Join(lines, "\n")
	if !strings.Contains(text, "move ") || strings.Index(text, "move ") > strings.Index(text, "pong 5") {
		t.Errorf("%s", text)
	}
	f := strings.Fields(lines[len(lines)-3])
	if len(f) < 5 {
		t.Errorf("no line of thought before the move: %q", lines)
	}
}

func TestCECPAnalyses(t *testing.T) {
	c := serveCECPClient(t, testConfig("minishogi", time.Millisecond))
	c.send("new\nvariant minishogi\nforce\npost\nanalyze")
	c.until("1 ", "2 ", "3 ", "4 ")
	c.send(".")
	c.until("stat01: ")
	c.send("usermove c1c2")
	c.until("1 ", "2 ", "3 ", "4 ")
	c.send("undo")
	c.until("1 ", "2 ", "3 ", "4 ")
	c.send("exit")
	c.sync()
	c.quiet(300*time.Millisecond, "1 ")
}

func TestCECPHighlightsBothLegsOfALionMove(t *testing.T) {
	c := serveCECPClient(t, testConfig("chushogi", 0))
	c.send("new\nvariant chu\nforce\nsetboard k11/12/12/12/12/5p6/5N6/12/12/12/12/11K w 0 1")
	c.sync()
	c.send("lift f6")
	if got := c.last("highlight"); got != "highlight 12/12/12/12/3YYYYY4/3YYCYY4/3YY1YY4/3YYYYY4/3YYYYY4/12/12/12" {
		t.Errorf("%q", got)
	}
	c.send("put f7\nlift f7")
	if got := c.last("highlight"); got != "highlight 12/12/12/12/4YYY5/4Y1Y5/4YYY5/12/12/12/12/12" {
		t.Errorf("%q", got)
	}
	c.send("put f6\nlift z9\nlift\nput\nlift a99")
	if got := c.sync(); len(got) != 0 {
		t.Errorf("%q", got)
	}
	c.send("usermove f6f7,f7f6") // igui: the pawn is gone and the king alone
	c.until("1-0 {bare king}")
}

func TestCECPTimesAreRead(t *testing.T) {
	x := &cecpServer{session: &session{}, side: rules.Gote}
	for text, want := range map[string]protocol.Limits{
		"40 5 0":       {Timed: true, Clock: [2]time.Duration{5 * time.Minute, 5 * time.Minute}, MovesToGo: 40},
		"0 0:05 0.1":   {Timed: true, Clock: [2]time.Duration{5 * time.Second, 5 * time.Second}, Increment: [2]time.Duration{100e6, 100e6}},
		"0 1:30 12":    {Timed: true, Clock: [2]time.Duration{90 * time.Second, 90 * time.Second}, Increment: [2]time.Duration{12e9, 12e9}},
		"0 0.5 0.0001": {Timed: true, Clock: [2]time.Duration{30 * time.Second, 30 * time.Second}, Increment: [2]time.Duration{1e5, 1e5}},
	} {
		if err := x.level(text); err != nil || x.limits() != want {
			t.Errorf("%q: %+v, %v", text, x.limits(), err)
		}
	}
	for _, text := range []string{"", "1 2", "x 5 0", "40 a 0", "40 5 -1", "40 5:x 0", "-1 5 0"} {
		if err := x.level(text); err == nil {
			t.Errorf("%q is accepted", text)
		}
	}
}

func TestServeListensForTheLanguage(t *testing.T) {
	for hello, answer := range map[string]string{"usi": "usiok", "hello?\n\nxboard\nprotover 2": "feature done=1"} {
		c := serve(t, func(ctx context.Context, in io.Reader, out io.Writer) error {
			return Serve(ctx, in, out, testConfig("minishogi", 0))
		})
		c.send("%s", hello)
		c.until(answer)
		c.send("quit")
	}
}
