package protocol

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
)

// usiDialect speaks USI, or UCI with shogi variants when chess is set.
type usiDialect struct {
	*conn
	chess   bool
	atDrops bool                // drops are written "P@5e" (Sjaak II ignores the asterisk without a word)
	options map[string][]string // the program's options: name in lower case -> exact name, then the values of a combo
}

func (d *usiDialect) greet(ctx context.Context) (string, error) {
	hello, ready := "usi", "usiok"
	if d.chess {
		hello, ready = "uci", "uciok"
	}
	if err := d.send(hello); err != nil {
		return "", err
	}
	name := ""
	d.options = map[string][]string{}
	for {
		line, err := d.receive(ctx)
		if err != nil {
			return name, fmt.Errorf("waiting for %s: %w", ready, err)
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 1 && f[0] == ready:
			return name, d.configure(ctx, name)
		case len(f) > 2 && f[0] == "id" && f[1] == "name":
			name = strings.Join(f[2:], " ")
		case len(f) > 2 && f[0] == "option" && f[1] == "name":
			d.addOption(f[2:])
		}
	}
}

// addOption keeps "NAME type T [default D] [var V]...".
func (d *usiDialect) addOption(f []string) {
	at := slices.Index(f, "type")
	if at < 1 {
		return
	}
	name := strings.Join(f[:at], " ")
	entry := []string{name}
	for i := at; i+1 < len(f); i++ {
		if f[i] == "var" {
			entry = append(entry, f[i+1])
		}
	}
	d.options[strings.ToLower(name)] = entry
}

// configure chooses the variant, sets the options and waits until the program is ready.
func (d *usiDialect) configure(ctx context.Context, name string) error {
	d.atDrops = strings.HasPrefix(name, "Sjaak")
	v := d.o.Variant.Name()
	chosen := false
	for _, key := range []string{"usi_variant", "uci_variant"} {
		entry, ok := d.options[key]
		if !ok {
			continue
		}
		if !slices.Contains(entry[1:], v) {
			return fmt.Errorf("the program does not play %s", v)
		}
		if err := d.setOption(entry[0], v); err != nil {
			return err
		}
		chosen = true
		break
	}
	if !chosen && v != "shogi" {
		return fmt.Errorf("the program offers no choice of game and so cannot play %s", v)
	}
	if entry, ok := d.options["threads"]; ok {
		if err := d.setOption(entry[0], strconv.Itoa(d.o.Threads)); err != nil {
			return err
		}
	}
	for _, s := range d.o.Settings {
		entry, ok := d.options[strings.ToLower(s.Name)]
		if !ok {
			return fmt.Errorf("the program has no option %q (it has %s)", s.Name, d.optionNames())
		}
		if err := d.setOption(entry[0], s.Value); err != nil {
			return err
		}
	}
	return d.ready(ctx)
}

func (d *usiDialect) optionNames() string {
	var names []string
	for _, entry := range d.options {
		names = append(names, entry[0])
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}

func (d *usiDialect) setOption(name, value string) error {
	return d.send("setoption name " + name + " value " + value)
}

func (d *usiDialect) ready(ctx context.Context) error {
	if err := d.send("isready"); err != nil {
		return err
	}
	for {
		line, err := d.receive(ctx)
		if err != nil {
			return fmt.Errorf("waiting for readyok: %w", err)
		}
		if strings.TrimSpace(line) == "readyok" {
			return nil
		}
	}
}

func (d *usiDialect) newGame(ctx context.Context, _ *rules.Position) error {
	command := "usinewgame"
	if d.chess {
		command = "ucinewgame"
	}
	if err := d.send(command); err != nil {
		return err
	}
	return d.ready(ctx)
}

func (d *usiDialect) search(ctx context.Context, start *rules.Position, moves []rules.Move, p *rules.Position, l Limits) (Answer, error) {
	if err := d.send(d.position(start, moves)); err != nil {
		return Answer{}, err
	}
	if err := d.send("go" + goArguments(l, d.chess)); err != nil {
		return Answer{}, err
	}
	var a Answer
	stopped := false
	for {
		line, err := d.receive(ctx)
		if errors.Is(err, context.DeadlineExceeded) && !stopped {
			// One more word before the program counts as hung: the search may only have missed its limit.
			stopped = true
			d.stop(d.process)
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			ctx = late
			continue
		}
		if err != nil {
			return a, fmt.Errorf("waiting for bestmove: %w", err)
		}
		f := strings.Fields(line)
		if len(f) == 0 {
			continue
		}
		switch f[0] {
		case "info":
			a.readInfo(f[1:])
		case "bestmove":
			return d.bestMove(a, f, p)
		}
	}
}

// position writes the game so far.
func (d *usiDialect) position(start *rules.Position, moves []rules.Move) string {
	var b strings.Builder
	if d.chess {
		b.WriteString("position fen " + FormatFEN(start))
	} else {
		b.WriteString("position sfen " + start.SFEN())
	}
	if len(moves) > 0 {
		b.WriteString(" moves")
	}
	at := start.Clone()
	for _, m := range moves {
		b.WriteByte(' ')
		b.WriteString(d.format(at, m))
		at.Do(m)
	}
	return b.String()
}

// format writes a move of p.
func (d *usiDialect) format(p *rules.Position, m rules.Move) string {
	if d.chess {
		return FormatAlgebraic(d.o.Variant, m)
	}
	s := p.FormatMove(m)
	if d.atDrops {
		s = strings.Replace(s, "*", "@", 1)
	}
	return s
}

// bestMove reads "bestmove M [ponder M]".
func (d *usiDialect) bestMove(a Answer, f []string, p *rules.Position) (Answer, error) {
	if len(f) < 2 {
		return a, errors.New("bestmove without a move")
	}
	if len(f) >= 4 && f[2] == "ponder" {
		a.Ponder = f[3]
	}
	switch f[1] {
	case "resign":
		a.Resign = true
		return a, nil
	case "(none)", "none", "0000":
		// The program sees no move: a loss in these games, which the rules would have told before asking.
		a.Resign = true
		a.Claim = Claim{Result: rules.Winner(p.Side().Other()), Text: f[1]}
		return a, nil
	case "win":
		a.Claim = Claim{Result: rules.Winner(p.Side()), Text: f[1]}
		return a, nil
	}
	var err error
	if d.chess {
		a.Move, err = ParseAlgebraic(p, f[1])
	} else {
		a.Move, err = p.ParseMove(strings.Replace(f[1], "@", "*", 1))
	}
	if err != nil {
		return a, &IllegalMove{Engine: d.o.Command, Text: f[1], SFEN: p.SFEN(), Err: err}
	}
	return a, nil
}

// readInfo takes what an info line tells; the last line of the main variation counts.
func (a *Answer) readInfo(f []string) {
	number := func(i int) int64 {
		if i >= len(f) {
			return 0
		}
		n, _ := strconv.ParseInt(f[i], 10, 64)
		return n
	}
	if at := slices.Index(f, "multipv"); at >= 0 && number(at+1) > 1 {
		return
	}
	for i := 0; i < len(f); i++ {
		switch f[i] {
		case "depth":
			a.Depth = int(number(i + 1))
		case "nodes":
			a.Nodes = number(i + 1)
		case "score":
			if i+2 >= len(f) {
				return
			}
			switch f[i+1] {
			case "cp":
				a.Score = Score{Known: true, Centipawns: int(number(i + 2))}
			case "mate":
				n := int(number(i + 2))
				if n == 0 && strings.HasPrefix(f[i+2], "+") {
					n = 1 // USI: "mate +" is a mate of unknown length
				}
				a.Score = Score{Known: true, Mate: true, MateIn: n}
			}
		case "pv":
			a.PV = strings.Join(f[i+1:], " ")
			return
		case "string":
			return
		}
	}
}

// goArguments writes limits behind "go". UCI has no byoyomi: it is given as an increment.
func goArguments(l Limits, chess bool) string {
	var b strings.Builder
	add := func(name string, n int64) { fmt.Fprintf(&b, " %s %d", name, n) }
	if l.Ponder {
		b.WriteString(" ponder")
	}
	if l.Timed {
		add("btime", l.Clock[timeSide(chess, "b")].Milliseconds())
		add("wtime", l.Clock[timeSide(chess, "w")].Milliseconds())
		switch {
		case chess:
			add("winc", (l.Increment[rules.Sente] + l.Byoyomi).Milliseconds())
			add("binc", (l.Increment[rules.Gote] + l.Byoyomi).Milliseconds())
		case l.Increment[0] > 0 || l.Increment[1] > 0:
			add("binc", l.Increment[rules.Sente].Milliseconds())
			add("winc", l.Increment[rules.Gote].Milliseconds())
		}
		if l.Byoyomi > 0 && !chess {
			add("byoyomi", l.Byoyomi.Milliseconds())
		}
		if l.MovesToGo > 0 {
			add("movestogo", int64(l.MovesToGo))
		}
	}
	if l.Depth > 0 {
		add("depth", int64(l.Depth))
	}
	if l.Nodes > 0 {
		add("nodes", l.Nodes)
	}
	if l.MoveTime > 0 {
		add("movetime", max(l.MoveTime.Milliseconds(), 1))
	}
	if l.Infinite {
		b.WriteString(" infinite")
	}
	return b.String()
}

// timeSide tells whose clock "btime" or "wtime" is: USI's black is sente, UCI's white is.
func timeSide(chess bool, letter string) rules.Side {
	if (letter == "b") != chess {
		return rules.Sente
	}
	return rules.Gote
}

func (d *usiDialect) stop(c *process) { _ = c.send("stop") }
func (d *usiDialect) quit(c *process) { _ = c.send("quit") }
