package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// usiServer speaks USI.
type usiServer struct {
	*session
	held  *finding // the answer of a search that may not answer before it is told to
	holds bool     // the running search answers only when stopped
	mates bool     // the running search was asked for a mate
}

// ServeUSI speaks USI until "quit" or the end of the input. in is read to its end by a goroutine that outlives the call
// if in blocks.
func ServeUSI(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	done := make(chan struct{})
	defer close(done)
	return serveUSI(ctx, readInput(in, done), &output{w: out}, c)
}

func serveUSI(ctx context.Context, lines <-chan string, out *output, c Config, first ...string) error {
	s, err := newSession(c, out)
	if err != nil {
		return err
	}
	u := &usiServer{session: s}
	for _, line := range first {
		u.handle(line)
	}
	return s.loop(ctx, lines, u.handle, u.finished)
}

// explain writes an error for the user.
func (u *usiServer) explain(err error) {
	u.out.line("info string error: " + oneLine(err.Error()))
}

// oneLine makes a text fit for one line of output.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// handle takes one line.
func (u *usiServer) handle(line string) (quit bool) {
	f := strings.Fields(line)
	if len(f) == 0 {
		return false
	}
	switch f[0] {
	case "usi":
		u.introduce()
	case "isready":
		if err := u.ready(); err != nil {
			u.explain(err)
		} else if u.thinker != nil {
			u.out.line("info string net " + oneLine(u.thinker.net.Name) + ", " + u.v.Name() + " rules " + u.v.Rules())
		}
		u.out.line("readyok")
	case "setoption":
		if err := u.setOption(f[1:]); err != nil {
			u.explain(err)
		}
	case "usinewgame": // sent between games, but every "go" gets its answer
		u.stop()
		u.newGame()
	case "position":
		if err := u.position(f[1:]); err != nil {
			u.explain(err)
		}
	case "go":
		u.goCommand(f[1:])
	case "stop":
		u.stop()
	case "ponderhit":
		u.ponderHit()
	case "gameover":
		u.stop()
	case "quit": // the only one after which nobody waits for an answer
		u.abandon()
		return true
	default:
		u.explain(fmt.Errorf("unknown command %q", f[0]))
	}
	return false
}

// introduce answers "usi".
func (u *usiServer) introduce() {
	u.out.line("id name " + u.c.Name)
	u.out.line("id author " + u.c.Author)
	d := u.o
	u.out.line("option name USI_Variant type combo default " + u.variant + vars(rules.Names()))
	u.out.line("option name Rules type string default " + u.v.Rules())
	u.out.line("option name Net type string default " + cmpOr(u.netName, "<empty>"))
	u.out.line(fmt.Sprintf("option name USI_Hash type spin default %d min %d max %d", d.HashMB, minHashMB, maxHashMB))
	u.out.line(fmt.Sprintf("option name USI_Ponder type check default %t", d.Ponder))
	u.out.line(fmt.Sprintf("option name Threads type spin default %d min 1 max %d", d.Threads, max(threadChoice(), d.Threads)))
	u.out.line(fmt.Sprintf("option name MultiPV type spin default %d min 1 max %d", d.MultiPV, maxMultiPV))
	u.out.line("option name Level type combo default " + d.Level + vars(protocol.LevelNames()))
	u.out.line(fmt.Sprintf("option name MoveOverhead type spin default %d min 0 max %d", d.MoveOverhead.Milliseconds(), maxOverhead))
	u.out.line(fmt.Sprintf("option name ResignBelow type spin default %d min 0 max 49", d.ResignBelow))
	u.out.line(fmt.Sprintf("option name OpeningTemperature type spin default %d min 0 max %d", d.OpeningTemperature, maxOpening))
	u.out.line(fmt.Sprintf("option name MateNodes type spin default %d min 0 max %d", d.MateNodes, maxMate))
	u.out.line(fmt.Sprintf("option name LeafMateNodes type spin default %d min 0 max %d", d.LeafMateNodes, maxLeafMate))
	u.out.line(fmt.Sprintf("option name ShowWDL type check default %t", d.ShowWDL))
	u.out.line("usiok")
}

func vars(names []string) string { return " var " + strings.Join(names, " var ") }

func cmpOr(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// setOption takes "name N... [value V...]".
func (u *usiServer) setOption(f []string) error {
	if len(f) < 2 || f[0] != "name" {
		return errors.New(`setoption: write "setoption name NAME value VALUE"`)
	}
	f = f[1:]
	value := ""
	if at := slices.Index(f, "value"); at >= 0 {
		value = strings.Join(f[at+1:], " ")
		f = f[:at]
	}
	if u.searching() {
		return errors.New("setoption: a search is running")
	}
	return u.set(strings.Join(f, " "), value)
}

// position takes "startpos|sfen S [moves M...]".
func (u *usiServer) position(f []string) error {
	if len(f) == 0 {
		return errors.New(`position: write "position startpos|sfen SFEN [moves MOVE...]"`)
	}
	var moves []string
	if at := slices.Index(f, "moves"); at >= 0 {
		moves = f[at+1:]
		f = f[:at]
	}
	sfen := ""
	switch {
	case len(f) == 1 && f[0] == "startpos":
	case len(f) > 1 && f[0] == "sfen":
		sfen = strings.Join(f[1:], " ")
	default:
		return fmt.Errorf("position: %q is neither startpos nor sfen with a position", strings.Join(f, " "))
	}
	if u.searching() {
		return errors.New("position: a search is running")
	}
	parse := func(p *rules.Position, s string) (rules.Move, error) { return p.ParseMove(s) }
	if err := u.setPosition(sfen, moves, parse); err != nil {
		return fmt.Errorf("position: %w", err)
	}
	return nil
}

// fallbackTime is for a "go" of which no limit could be read.
const fallbackTime = time.Second

// goCommand starts a search.
func (u *usiServer) goCommand(f []string) {
	if u.searching() {
		u.explain(errors.New("go: a search is running"))
		return
	}
	limits, mate, err := parseGo(f)
	if err != nil {
		u.explain(fmt.Errorf("go: %w", err))
		if mate {
			u.out.line("checkmate notimplemented")
			return
		}
		// A word that was not understood costs no game: the rest holds, and some time where that says nothing.
		if limits.Infinite && !slices.Contains(f, "infinite") {
			limits.Infinite, limits.MoveTime = false, fallbackTime
		}
	}
	ctl := newControl(limits.Ponder)
	u.mates = mate
	u.holds = limits.Infinite && !mate
	o := order{limits: limits, ctl: ctl, stays: u.holds, mate: mate}
	p := u.game.Clone()
	o.tell = func(r report) { u.info(p, r) }
	if err := u.begin(o); err != nil {
		u.explain(err)
		if mate {
			u.out.line("checkmate timeout")
		} else {
			u.out.line("bestmove resign")
		}
	}
}

// searching tells whether an answer is due: a search runs, or has ended and may not answer yet.
func (u *usiServer) searching() bool { return u.thinking() || u.held != nil }

// finished takes the end of a search that nobody stopped.
func (u *usiServer) finished(f finding) {
	if u.holds || f.ctl.ponder.Load() {
		u.held = &f
		return
	}
	u.answer(f)
}

func (u *usiServer) stop() {
	switch {
	case u.held != nil:
		f := *u.held
		u.held = nil
		u.answer(f)
	case u.thinking():
		u.answer(u.end())
	}
}

func (u *usiServer) ponderHit() {
	switch {
	case u.held != nil:
		u.stop()
	case u.thinking():
		u.ctl.hit()
	}
}

// answer writes "bestmove" or "checkmate".
func (u *usiServer) answer(f finding) {
	if f.err != nil {
		u.explain(f.err)
	}
	c := f.choice
	p := u.game
	if u.mates {
		u.out.line("checkmate " + c.mate.text(p))
		return
	}
	if len(c.last.lines) > 0 {
		u.info(p, c.last)
	}
	switch {
	case f.err != nil, c.resign, c.move == rules.NoMove && !c.win:
		u.out.line("bestmove resign")
	case c.win:
		u.out.line("bestmove win")
	default:
		s := "bestmove " + p.FormatMove(c.move)
		if c.ponder != rules.NoMove {
			q := p.Clone()
			q.Do(c.move)
			s += " ponder " + q.FormatMove(c.ponder)
		}
		u.out.line(s)
	}
}

// info writes a report about p.
func (u *usiServer) info(p *rules.Position, r report) {
	for i, line := range r.lines {
		var b strings.Builder
		fmt.Fprintf(&b, "info depth %d seldepth %d", max(r.depth, 1), max(r.selDepth, 1))
		if u.o.MultiPV > 1 {
			fmt.Fprintf(&b, " multipv %d", i+1)
		}
		if line.mate {
			plies := line.plies
			if line.value.Loss > line.value.Win {
				plies = -plies
			}
			fmt.Fprintf(&b, " score mate %d", plies)
		} else {
			fmt.Fprintf(&b, " score cp %d", centipawns(line.value))
		}
		if u.o.ShowWDL {
			win, loss := int(math.Round(1000*float64(line.value.Win))), int(math.Round(1000*float64(line.value.Loss)))
			fmt.Fprintf(&b, " wdl %d %d %d", win, max(1000-win-loss, 0), loss)
		}
		fmt.Fprintf(&b, " nodes %d nps %d hashfull %d time %d", r.nodes, perSecond(r), r.hashfull, r.time.Milliseconds())
		b.WriteString(" pv")
		q := p.Clone()
		for _, m := range line.moves {
			b.WriteString(" " + q.FormatMove(m))
			q.Do(m)
		}
		u.out.line(b.String())
	}
}

func perSecond(r report) int64 {
	if r.time <= 0 {
		return 0
	}
	return int64(float64(r.nodes) / r.time.Seconds())
}

// centipawns puts a value on the Elo scale, within +-9999.
func centipawns(v rules.Value) int {
	s := min(max(float64(v.Score()), 1e-9), 1-1e-9)
	return int(math.Round(max(-9999, min(9999, 400*math.Log10(s/(1-s))))))
}

// parseGo reads what follows "go". mate tells that a mate is asked for.
func parseGo(f []string) (l protocol.Limits, mate bool, err error) {
	number := func(i int) (int64, error) {
		if i >= len(f) {
			return 0, fmt.Errorf("%s: a number is missing", f[i-1])
		}
		n, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%s: %q is not a number", f[i-1], f[i])
		}
		return min(max(n, 0), 1<<40), nil
	}
	var errs []error
	timed := func(i int, d *millis) {
		n, err := number(i)
		errs = append(errs, err)
		if err == nil {
			*d = millis(n)
			l.Timed = true
		}
	}
	var btime, wtime, binc, winc, byoyomi millis
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case "ponder":
			l.Ponder = true
			continue
		case "infinite":
			l.Infinite = true
			continue
		case "mate":
			mate = true
			if i+1 < len(f) && f[i+1] == "infinite" {
				i++
				continue
			}
			if i+1 < len(f) {
				n, err := number(i + 1)
				errs = append(errs, err)
				l.MoveTime = millis(n).duration()
				i++
			}
			continue
		case "btime":
			timed(i+1, &btime)
		case "wtime":
			timed(i+1, &wtime)
		case "binc":
			timed(i+1, &binc)
		case "winc":
			timed(i+1, &winc)
		case "byoyomi":
			timed(i+1, &byoyomi)
		case "movetime", "nodes", "depth", "movestogo":
			n, err := number(i + 1)
			errs = append(errs, err)
			if err != nil {
				break
			}
			switch f[i] {
			case "movetime":
				l.MoveTime = millis(max(n, 1)).duration()
			case "nodes":
				l.Nodes = max(n, 1)
			case "depth":
				l.Depth = int(min(max(n, 1), 1000))
			case "movestogo":
				l.MovesToGo = int(min(n, 1000))
			}
		default:
			errs = append(errs, fmt.Errorf("unknown word %q", f[i]))
			continue
		}
		i++
	}
	l.Clock[rules.Sente], l.Clock[rules.Gote] = btime.duration(), wtime.duration()
	l.Increment[rules.Sente], l.Increment[rules.Gote] = binc.duration(), winc.duration()
	l.Byoyomi = byoyomi.duration()
	if !mate && !l.Timed && l.MoveTime == 0 && l.Nodes == 0 && l.Depth == 0 {
		l.Infinite = true
	}
	return l, mate, errors.Join(errs...)
}
