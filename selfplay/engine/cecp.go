package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// cecpVariant is a game as CECP knows it.
type cecpVariant struct {
	name  string // in CECP
	ours  string
	setup string // the line that tells XBoard about a game it does not know, "" for those it does
	moves string // how its pieces move, in XBoard's dialect of Betza's notation, with ranks for drops
}

// cecpVariants lists our games. The setup lines give XBoard its table of pieces, board size with pieces in hand, and the
// start position.
var cecpVariants = []cecpVariant{
	{"chu", "chushogi", "", ""},
	{"torishogi", "torishogi", "setup (S.....FLR.C+.....+.PKs.....flr.c+.....+.pk) 7x7+6_shogi " +
		"rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR [-] w 0 1",
		"K& K;F& FsfW;C& FvW;L& fRrbBlbF;R& fRlbBrbF;P& bFfD;S& fWff@6;+S& fAbD;+F& KbRfBbF2"},
	{"minishogi", "minishogi", "setup (P.BR.S...G.+.++.+Kp.br.s...g.+.++.+k) 5x5+5_shogi rbsgk/4p/5/P4/KGSBR [-] w 0 1", ""},
	{"shogi", "shogi", "", ""},
}

// activity is what the engine does just now.
type activity int

const (
	idle      activity = iota
	moving             // thinks about its own move
	pondering          // searches on the opponent's time
	analyzing
)

// cecpServer speaks CECP version 2. White is sente.
type cecpServer struct {
	*session
	busy     activity
	force    bool
	side     rules.Side // the engine's, when not in force mode
	analysis bool
	over     bool // a result has been claimed or told
	post     bool
	ponder   bool

	moves, played int   // of the time control: moves a session, moves that the engine has made
	own           []int // of these, the plies of the game before them, while they can be taken back
	base, inc     time.Duration
	fixed         time.Duration // time for each move, 0: the clock counts
	depth         int
	clocks        [2]time.Duration // own, opponent's
	clocked       bool             // the clocks have been told
	pongs         []string         // answers due after the move
	legs          legs
}

// ServeCECP speaks CECP until "quit" or the end of the input. in is read to its end by a goroutine that outlives the call
// if in blocks.
func ServeCECP(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	done := make(chan struct{})
	defer close(done)
	return serveCECP(ctx, readInput(in, done), &output{w: out}, c)
}

func serveCECP(ctx context.Context, lines <-chan string, out *output, c Config) error {
	s, err := newSession(c, out)
	if err != nil {
		return err
	}
	x := &cecpServer{session: s, side: rules.Gote, base: 5 * time.Minute, moves: 40}
	return s.loop(ctx, lines, x.handle, x.finished)
}

// complain writes an error about a command.
func (x *cecpServer) complain(err error, command string) {
	x.out.line(fmt.Sprintf("Error (%s): %s", oneLine(err.Error()), oneLine(command)))
}

// handle takes one line.
func (x *cecpServer) handle(line string) (quit bool) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	rest = strings.TrimSpace(rest)
	if word == "" {
		return false
	}
	if known, quit := x.control(word, rest); known {
		return quit
	}
	if err, known := x.setting(word, rest); known {
		if err != nil {
			x.complain(err, line)
		}
		return false
	}
	if m, err := protocol.ParseAlgebraic(x.game, word); err == nil && rest == "" { // a bare move
		x.userMove(m, word)
		return false
	} else if errors.Is(err, rules.ErrIllegalMove) {
		x.out.line(fmt.Sprintf("Illegal move (%s): %s", oneLine(err.Error()), oneLine(word)))
		return false
	}
	x.complain(errors.New("unknown command"), line)
	return false
}

// control takes the commands that steer the game.
func (x *cecpServer) control(word, rest string) (known, quit bool) {
	switch word {
	case "quit":
		x.rest()
		return true, true
	case "xboard", "accepted", "rejected", "random", "computer", "name", "rating", "ics", "draw", "bk", "hint", "hover", "egtpath":
	case "protover":
		x.introduce()
	case "new":
		x.rest()
		x.newGame()
		x.force, x.side, x.analysis, x.over, x.depth = false, rules.Gote, false, false, 0
		x.played, x.own = 0, x.own[:0]
	case "variant":
		x.setVariantCECP(rest)
	case "force":
		x.rest()
		x.force = true
	case "go":
		x.rest()
		x.force, x.side = false, x.game.Side()
		x.resume()
	case "playother":
		x.rest()
		x.force, x.side = false, x.game.Side().Other()
		x.resume()
	case "?":
		if x.busy == moving {
			x.finished(x.end())
		}
	case "ping":
		if x.busy == moving {
			x.pongs = append(x.pongs, "pong "+rest)
		} else {
			x.out.line("pong " + rest)
		}
	case "usermove":
		m, err := protocol.ParseAlgebraic(x.game, rest)
		if err != nil {
			x.out.line(fmt.Sprintf("Illegal move (%s): %s", oneLine(err.Error()), oneLine(rest)))
			break
		}
		x.userMove(m, rest)
	case "undo":
		x.takeBack(1)
	case "remove":
		x.takeBack(2)
	case "result":
		x.rest()
		x.over = true
	case "setboard":
		x.setBoard(rest)
	case "analyze":
		x.rest()
		x.analysis, x.force = true, true
		x.resume()
	case "exit":
		x.rest()
		x.analysis = false
	case ".":
		x.status()
	case "lift":
		x.lift(rest)
	case "put":
		x.put(rest)
	default:
		return false, false
	}
	return true, false
}

// setting takes the commands that set something.
func (x *cecpServer) setting(word, rest string) (err error, known bool) {
	number := func(low, high int) int {
		n, e := strconv.Atoi(rest)
		if e != nil || n < low || n > high {
			err = fmt.Errorf("%q is not a number in %d..%d", rest, low, high)
		}
		return n
	}
	switch word {
	case "post":
		x.post = true
	case "nopost":
		x.post = false
	case "hard":
		x.ponder = true
	case "easy":
		x.ponder = false
		if x.busy == pondering {
			x.rest()
		}
	case "level":
		err = x.level(rest)
	case "st":
		seconds, e := strconv.ParseFloat(rest, 64)
		if e != nil || !(seconds > 0 && seconds < 1e7) {
			return fmt.Errorf("%q is not a time in seconds", rest), true
		}
		x.fixed = time.Duration(seconds * float64(time.Second))
	case "sd":
		if n := number(1, 1000); err == nil {
			x.depth = n
		}
	case "time", "otim":
		if n := number(-1<<30, 1<<30); err == nil {
			at := 0
			if word == "otim" {
				at = 1
			}
			x.clocks[at] = time.Duration(max(n, 0)) * 10 * time.Millisecond
			x.clocked = true
		}
	case "memory":
		if n := number(1, 1<<30); err == nil {
			x.change(func() { x.o.HashMB = min(max(n, minHashMB), maxHashMB) })
		}
	case "cores":
		if n := number(1, 1<<20); err == nil {
			x.change(func() { x.o.Threads = min(n, threadChoice()) })
		}
	case "option":
		name, value, ok := strings.Cut(rest, "=")
		if !ok {
			return errors.New("an option is written NAME=VALUE"), true
		}
		x.change(func() { err = x.set(strings.TrimSpace(name), strings.TrimSpace(value)) })
	default:
		return nil, false
	}
	return err, true
}

// change sets something between searches and goes on with what was being done.
func (x *cecpServer) change(f func()) {
	was := x.busy
	x.rest()
	f()
	if was != idle {
		x.resume()
	}
}

// introduce answers "protover".
func (x *cecpServer) introduce() {
	names := make([]string, len(cecpVariants))
	for i, v := range cecpVariants {
		names[i] = v.name
	}
	levels := slices.Clone(protocol.LevelNames())
	for i, l := range levels {
		if l == x.o.Level {
			levels[i] = "*" + l
		}
	}
	x.out.line("feature done=0")
	x.out.line(fmt.Sprintf(`feature myname="%s" variants="%s"`, x.c.Name, strings.Join(names, ",")))
	x.out.line("feature ping=1 setboard=1 playother=1 usermove=1 time=1 draw=0 sigint=0 sigterm=0 reuse=1 analyze=1 colors=0 ics=0 " +
		"name=0 san=0 memory=1 smp=1 highlight=1 debug=1")
	x.out.line(fmt.Sprintf(`feature option="Level -combo %s"`, strings.Join(levels, " /// ")))
	x.out.line(fmt.Sprintf(`feature option="MultiPV -spin %d 1 %d"`, x.o.MultiPV, maxMultiPV))
	x.out.line(fmt.Sprintf(`feature option="MoveOverhead -spin %d 0 %d"`, x.o.MoveOverhead.Milliseconds(), maxOverhead))
	x.out.line(fmt.Sprintf(`feature option="ResignBelow -spin %d 0 49"`, x.o.ResignBelow))
	x.out.line(fmt.Sprintf(`feature option="OpeningTemperature -spin %d 0 %d"`, x.o.OpeningTemperature, maxOpening))
	x.out.line(fmt.Sprintf(`feature option="MateNodes -spin %d 0 %d"`, x.o.MateNodes, maxMate))
	x.out.line(fmt.Sprintf(`feature option="LeafMateNodes -spin %d 0 %d"`, x.o.LeafMateNodes, maxLeafMate))
	x.out.line(fmt.Sprintf(`feature option="Rules -string %s"`, x.v.Rules()))
	x.out.line(fmt.Sprintf(`feature option="Net -string %s"`, x.netName))
	x.out.line("feature done=1")
}

// setVariantCECP changes the game.
func (x *cecpServer) setVariantCECP(name string) {
	at := slices.IndexFunc(cecpVariants, func(v cecpVariant) bool { return v.name == name || v.ours == name })
	if at < 0 {
		x.complain(errors.New("unknown variant"), name)
		return
	}
	x.rest()
	if err := x.setVariant(cecpVariants[at].ours); err != nil {
		x.complain(err, "variant "+name)
		return
	}
	x.newGame()
	x.over, x.own = false, x.own[:0]
	if setup := cecpVariants[at].setup; setup != "" {
		x.out.line(setup)
	}
	if moves := cecpVariants[at].moves; moves != "" {
		for _, piece := range strings.Split(moves, ";") {
			x.out.line("piece " + piece)
		}
	}
}

// level takes "MOVES BASE INC": base in minutes or minutes:seconds, increment in seconds.
func (x *cecpServer) level(rest string) error {
	f := strings.Fields(rest)
	if len(f) != 3 {
		return errors.New("a level is written MOVES BASE INCREMENT")
	}
	moves, err := strconv.Atoi(f[0])
	if err != nil || moves < 0 {
		return fmt.Errorf("%q is not a number of moves", f[0])
	}
	minutes, seconds, hasSeconds := strings.Cut(f[1], ":")
	m, err := strconv.ParseFloat(minutes, 64)
	s := 0.0
	if hasSeconds && err == nil {
		s, err = strconv.ParseFloat(seconds, 64)
	}
	if err != nil || !(m >= 0 && m < 1e6 && s >= 0 && s < 1e6) {
		return fmt.Errorf("%q is not a time", f[1])
	}
	inc, err := strconv.ParseFloat(f[2], 64)
	if err != nil || !(inc >= 0 && inc < 1e6) {
		return fmt.Errorf("%q is not an increment", f[2])
	}
	x.moves, x.fixed, x.clocked = moves, 0, false
	x.base = time.Duration((60*m + s) * float64(time.Second))
	x.inc = time.Duration(inc * float64(time.Second))
	return nil
}
