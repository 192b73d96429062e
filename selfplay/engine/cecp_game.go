package engine

import (
	"errors"
	"fmt"
	"strings"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// rest ends whatever search runs, without an answer.
func (x *cecpServer) rest() {
	x.abandon()
	x.busy = idle
	x.flushPongs()
}

func (x *cecpServer) flushPongs() {
	for _, p := range x.pongs {
		x.out.line(p)
	}
	x.pongs = x.pongs[:0]
}

// userMove plays a legal move of the other side.
func (x *cecpServer) userMove(m rules.Move, text string) {
	if x.busy == moving {
		x.out.line("Illegal move (the engine is to move): " + oneLine(text))
		return
	}
	x.rest()
	x.game.Do(m)
	x.legs = legs{}
	if !x.claimResult() {
		x.resume()
	}
}

// resume starts the search that the state asks for.
func (x *cecpServer) resume() {
	switch {
	case x.analysis:
		x.start(analyzing)
	case x.force || x.over:
	case x.game.Side() == x.side:
		if !x.claimResult() {
			x.start(moving)
		}
	case x.ponder && x.played > 0:
		x.start(pondering)
	}
}

// start begins a search.
func (x *cecpServer) start(a activity) {
	ctl := newControl(false)
	o := order{ctl: ctl}
	if a == moving {
		o.limits = x.limits()
	} else {
		o.limits.Infinite, o.stays = true, true
	}
	if a == analyzing || x.post {
		p := x.game.Clone()
		o.tell = func(r report) { x.thinkingLine(p, r) }
	}
	if err := x.begin(o); err != nil {
		x.complain(err, "go")
		if a == moving {
			x.resign()
		}
		return
	}
	x.busy = a
}

// limits are the bounds of the engine's next move.
func (x *cecpServer) limits() protocol.Limits {
	l := protocol.Limits{Depth: x.depth}
	if x.fixed > 0 {
		l.MoveTime = x.fixed
		return l
	}
	own, other := x.base, x.base
	if x.clocked {
		own, other = x.clocks[0], x.clocks[1]
	}
	l.Timed = true
	l.Clock[x.side], l.Clock[x.side.Other()] = own, other
	l.Increment[0], l.Increment[1] = x.inc, x.inc
	if x.moves > 0 {
		l.MovesToGo = x.moves - x.played%x.moves
	}
	return l
}

// finished takes the end of a search.
func (x *cecpServer) finished(f finding) {
	was := x.busy
	x.busy = idle
	if f.err != nil {
		x.complain(f.err, "go")
	}
	if was != moving {
		return
	}
	defer x.flushPongs()
	c := f.choice
	if x.post && len(c.last.lines) > 0 {
		x.thinkingLine(x.game, c.last)
	}
	switch {
	case f.err != nil, c.resign, c.move == rules.NoMove && !c.win:
		x.resign()
		return
	case c.win:
		x.claim(rules.Outcome{Result: rules.Winner(x.side), Reason: rules.Declaration})
		return
	}
	x.out.line("move " + protocol.FormatAlgebraic(x.v, c.move))
	x.own = append(x.own, x.game.Ply())
	x.game.Do(c.move)
	x.played++
	if !x.claimResult() {
		x.resume()
	}
}

func (x *cecpServer) resign() {
	x.over = true
	x.out.line("resign")
}

// claimResult tells the result if the game is over by our rules.
func (x *cecpServer) claimResult() bool {
	out := x.game.Outcome(x.game.CountMoves())
	if out.Result == rules.Ongoing {
		return false
	}
	if !x.over && !x.analysis {
		x.claim(out)
	}
	return true
}

// claim tells a result.
func (x *cecpServer) claim(out rules.Outcome) {
	x.over = true
	words := map[rules.Result]string{rules.SenteWins: "1-0", rules.GoteWins: "0-1", rules.Draw: "1/2-1/2"}
	x.out.line(fmt.Sprintf("%s {%s}", words[out.Result], strings.ReplaceAll(out.Reason.String(), "_", " ")))
}

// takeBack undoes plies, as far as there are any.
func (x *cecpServer) takeBack(plies int) {
	x.rest()
	if x.game.Ply() < plies {
		x.complain(errors.New("no move to take back"), "undo")
		return
	}
	for range plies {
		x.game.Undo()
	}
	for len(x.own) > 0 && x.own[len(x.own)-1] >= x.game.Ply() {
		x.own = x.own[:len(x.own)-1]
		x.played--
	}
	x.over = false
	x.legs = legs{}
	if x.analysis {
		x.resume()
	}
}

// setBoard takes a position as "BOARD [HANDS] w|b ...", the hands in brackets behind the board or apart, or missing.
func (x *cecpServer) setBoard(text string) {
	x.rest()
	sfen, err := sfenOf(text)
	if err == nil {
		err = x.setPosition(sfen, nil, nil)
	}
	if err != nil {
		x.out.line("tellusererror Illegal position: " + oneLine(err.Error()))
		return
	}
	x.over, x.own = false, x.own[:0]
	if x.analysis {
		x.resume()
	}
}

// sfenOf turns a FEN with pieces in hand in brackets into SFEN.
func sfenOf(fen string) (string, error) {
	hands := "-"
	if open := strings.IndexByte(fen, '['); open >= 0 {
		end := strings.IndexByte(fen, ']')
		if end < open {
			return "", errors.New("a bracket is not closed")
		}
		hands = fen[open+1 : end]
		fen = fen[:open] + " " + fen[end+1:]
	}
	f := strings.Fields(fen)
	if len(f) == 0 {
		return "", errors.New("no board")
	}
	side := "b"
	if len(f) > 1 {
		switch f[1] {
		case "w":
		case "b":
			side = "w"
		default:
			return "", fmt.Errorf("the side to move is w or b, not %q", f[1])
		}
	}
	return f[0] + " " + side + " " + countHands(hands) + " 1", nil
}

// countHands writes "PPPsS" as SFEN does: uppercase first, repeated pieces with their number.
func countHands(s string) string {
	var order []rune
	count := map[rune]int{}
	for _, c := range s {
		if c == '-' {
			continue
		}
		if count[c] == 0 {
			order = append(order, c)
		}
		count[c]++
	}
	if len(order) == 0 {
		return "-"
	}
	var b strings.Builder
	for _, upper := range []bool{true, false} {
		for _, c := range order {
			if (c >= 'A' && c <= 'Z') != upper {
				continue
			}
			if count[c] > 1 {
				fmt.Fprint(&b, count[c])
			}
			b.WriteRune(c)
		}
	}
	return b.String()
}

// thinkingLine writes "depth score time nodes pv" for each line of a report about p; mates are 100000 and their moves.
func (x *cecpServer) thinkingLine(p *rules.Position, r report) {
	for _, line := range r.lines {
		score := centipawns(line.value)
		if line.mate {
			score = 100000 + (line.plies+1)/2
			if line.value.Loss > line.value.Win {
				score = -score
			}
		}
		var b strings.Builder
		fmt.Fprintf(&b, "%d %d %d %d", max(r.depth, 1), score, r.time.Milliseconds()/10, r.nodes)
		for _, m := range line.moves {
			b.WriteString(" " + protocol.FormatAlgebraic(p.Variant(), m))
		}
		x.out.line(b.String())
	}
}

// status answers "." in analysis: time, nodes, and no more.
func (x *cecpServer) status() {
	if x.busy == analyzing {
		x.out.line(fmt.Sprintf("stat01: %d 0 0 0 0", x.ctl.elapsed().Milliseconds()/10))
	}
}
