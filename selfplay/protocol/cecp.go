package protocol

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
)

// cecpNames are the names by which CECP programs know our games, the usual one first.
var cecpNames = map[string][]string{
	"shogi":     {"shogi", "9x9+0_shogi"},
	"minishogi": {"minishogi", "5x5+5_shogi", "5x5+0_shogi"},
	"torishogi": {"torishogi", "tori", "7x7+6_shogi"},
	"chushogi":  {"chu", "chushogi"},
}

// featureSilence is how long a program that speaks version 1 (no features) is waited for.
const featureSilence = 2 * time.Second

// cecpDialect speaks CECP version 2. The program is kept in force mode and told to go for each move.
type cecpDialect struct {
	*conn
	name     string
	features map[string]string
	options  []string // names of the program's own options
	variant  string   // the program's name of the game
	pings    int
	start    *rules.Position
	known    []rules.Move // moves that stand on the program's board
	setUp    bool         // the program's board is that of start and known
	claim    Claim        // what the program said of the game's end while no move was due
	limits   Limits       // those sent last, so that they are not repeated
}

func (d *cecpDialect) greet(ctx context.Context) (string, error) {
	if err := errors.Join(d.send("xboard"), d.send("protover 2")); err != nil {
		return "", err
	}
	d.features = map[string]string{}
	if err := d.readFeatures(ctx); err != nil {
		return "", err
	}
	d.name = d.features["myname"]
	names := cecpNames[d.o.Variant.Name()]
	d.variant = names[0]
	if list, ok := d.features["variants"]; ok {
		offered := strings.Split(list, ",")
		at := slices.IndexFunc(names, func(n string) bool { return slices.Contains(offered, n) })
		if at < 0 {
			return "", fmt.Errorf("the program does not play %s", d.o.Variant.Name())
		}
		d.variant = names[at]
	}
	if d.features["memory"] == "1" { // HaChu has no move list without it
		if err := d.send("memory 32"); err != nil {
			return "", err
		}
	}
	if d.features["smp"] == "1" {
		if err := d.send("cores " + strconv.Itoa(d.o.Threads)); err != nil {
			return "", err
		}
	}
	for _, s := range d.o.Settings {
		at := slices.IndexFunc(d.options, func(n string) bool { return strings.EqualFold(n, s.Name) })
		if at < 0 {
			return "", fmt.Errorf("the program has no option %q (it has %s)", s.Name, strings.Join(d.options, ", "))
		}
		if err := d.send("option " + d.options[at] + "=" + s.Value); err != nil {
			return "", err
		}
	}
	return d.name, nil
}

// readFeatures reads up to "done=1", or to a silence if no feature has come.
func (d *cecpDialect) readFeatures(ctx context.Context) error {
	quiet, cancel := context.WithTimeout(ctx, featureSilence)
	defer cancel()
	for wait := quiet; ; {
		line, err := d.receive(wait)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("waiting for features: %w", err)
		}
		text, ok := strings.CutPrefix(line, "feature ")
		if !ok {
			continue
		}
		wait = ctx
		for _, f := range splitFeatures(text) {
			if f[0] == "option" {
				if name, _, ok := strings.Cut(f[1], " -"); ok {
					d.options = append(d.options, name)
				}
				continue
			}
			d.features[f[0]] = f[1]
		}
		if d.features["done"] == "1" {
			return nil
		}
	}
}

// splitFeatures cuts `a=1 b="two words"` into pairs.
func splitFeatures(s string) [][2]string {
	var out [][2]string
	for {
		name, rest, ok := strings.Cut(strings.TrimLeft(s, " \t"), "=")
		if !ok {
			return out
		}
		var value string
		if quoted, isQuoted := strings.CutPrefix(rest, `"`); isQuoted {
			value, s, _ = strings.Cut(quoted, `"`)
		} else {
			value, s, _ = strings.Cut(rest, " ")
		}
		out = append(out, [2]string{name, value})
	}
}

func (d *cecpDialect) newGame(ctx context.Context, start *rules.Position) error {
	d.start, d.known, d.setUp, d.claim, d.limits = start, d.known[:0], false, Claim{}, Limits{}
	commands := []string{"new", "variant " + d.variant, "easy", "post", "force"}
	if start.SFEN() != start.Variant().Start().SFEN() {
		if d.features["setboard"] != "1" || d.hachu() {
			return fmt.Errorf("the program cannot be given the start position %s", start.SFEN())
		}
		board, hands, side, number := fenFields(start)
		commands = append(commands, fmt.Sprintf("setboard %s [%s] %s 0 %s", board, hands, side, number))
	}
	for _, c := range commands {
		if err := d.send(c); err != nil {
			return err
		}
	}
	if _, err := d.sync(ctx); err != nil {
		return err
	}
	d.setUp = true
	return nil
}

// hachu tells whether the program is HaChu, which takes no fixed time and crashes on boards that it does not expect.
func (d *cecpDialect) hachu() bool { return strings.HasPrefix(d.name, "HaChu") }

// sync waits until the program has taken everything that was sent; complaint is its word about a move that it refuses.
func (d *cecpDialect) sync(ctx context.Context) (complaint string, err error) {
	if d.features["ping"] != "1" {
		return "", nil
	}
	d.pings++
	pong := "pong " + strconv.Itoa(d.pings)
	if err := d.send("ping " + strconv.Itoa(d.pings)); err != nil {
		return "", err
	}
	for {
		line, err := d.receive(ctx)
		if err != nil {
			return complaint, fmt.Errorf("waiting for %s: %w", pong, err)
		}
		switch {
		case strings.TrimSpace(line) == pong:
			return complaint, nil
		case isComplaint(line):
			complaint = line
		default:
			d.hear(line)
		}
	}
}

func isComplaint(line string) bool {
	return strings.HasPrefix(line, "Illegal move") || strings.HasPrefix(line, "Error")
}

// hear keeps a claim about the game's end.
func (d *cecpDialect) hear(line string) {
	result, _, _ := strings.Cut(line, " ")
	switch result {
	case "1-0":
		d.claim = Claim{Result: rules.SenteWins, Text: line}
	case "0-1":
		d.claim = Claim{Result: rules.GoteWins, Text: line}
	case "1/2-1/2":
		d.claim = Claim{Result: rules.Draw, Text: line}
	}
}

func (d *cecpDialect) search(ctx context.Context, start *rules.Position, moves []rules.Move, p *rules.Position, l Limits) (Answer, error) {
	if err := d.bring(ctx, start, moves); err != nil {
		return Answer{}, err
	}
	if err := d.limit(p.Side(), l); err != nil {
		return Answer{}, err
	}
	if err := d.send("go"); err != nil {
		return Answer{}, err
	}
	a, text, err := d.answer(ctx, p.Side(), l)
	if err != nil || text == "" {
		return a, err
	}
	a.Claim = d.claim
	a.Move, err = ParseAlgebraic(p, text)
	if err != nil {
		d.setUp = false // its board now holds a move that ours does not
		return a, &IllegalMove{Engine: d.o.Command, Text: text, SFEN: p.SFEN(), Err: err}
	}
	d.known = append(d.known, a.Move)
	return a, d.send("force")
}

// bring makes the program's board that of the game.
func (d *cecpDialect) bring(ctx context.Context, start *rules.Position, moves []rules.Move) error {
	if !d.setUp || len(d.known) > len(moves) || !slices.Equal(d.known, moves[:len(d.known)]) {
		if err := d.newGame(ctx, start); err != nil {
			return err
		}
	}
	d.claim = Claim{}
	if len(d.known) == len(moves) {
		_, err := d.sync(ctx)
		return err
	}
	for at := len(d.known); at < len(moves); at++ {
		text := FormatAlgebraic(d.o.Variant, moves[at])
		command := text
		if d.features["usermove"] == "1" {
			command = "usermove " + text
		}
		if err := d.send(command); err != nil {
			return err
		}
		complaint, err := d.sync(ctx) // after each, to know of which it is said
		if err != nil {
			return err
		}
		if complaint != "" {
			d.setUp = false
			return &Refusal{Engine: d.o.Command, Move: text, SFEN: before(start, moves, at), Reply: complaint}
		}
		d.known = append(d.known, moves[at])
	}
	return nil
}

// limit sends what bounds the search.
func (d *cecpDialect) limit(side rules.Side, l Limits) error {
	var commands []string
	if l.Depth > 0 && l.Depth != d.limits.Depth {
		commands = append(commands, "sd "+strconv.Itoa(l.Depth))
	}
	switch {
	case l.MoveTime > 0 && d.hachu():
		commands = append(commands, "st 1", fmt.Sprintf("time %d", max(l.MoveTime.Milliseconds()/10, 1)))
	case l.MoveTime > 0 && l.MoveTime != d.limits.MoveTime:
		commands = append(commands, "st "+strconv.FormatFloat(l.MoveTime.Seconds(), 'f', -1, 64))
	case l.Timed:
		inc := (l.Increment[side] + l.Byoyomi).Seconds()
		if !d.limits.Timed || d.limits.Increment != l.Increment || d.limits.Byoyomi != l.Byoyomi {
			total := int(math.Ceil(l.Clock[side].Seconds()))
			commands = append(commands, fmt.Sprintf("level %d %d:%02d %s", l.MovesToGo, total/60, total%60,
				strconv.FormatFloat(inc, 'f', -1, 64)))
		}
		commands = append(commands,
			fmt.Sprintf("time %d", (l.Clock[side]+l.Byoyomi).Milliseconds()/10),
			fmt.Sprintf("otim %d", (l.Clock[side.Other()]+l.Byoyomi).Milliseconds()/10))
	}
	for _, c := range commands {
		if err := d.send(c); err != nil {
			return err
		}
	}
	d.limits = l
	return nil
}

// claimSilence is how much longer than its time a program that has claimed a result is waited for: a move may follow.
const claimSilence = time.Second

// answer reads up to the program's move, whose text is empty when the program gives up or claims a result instead.
func (d *cecpDialect) answer(ctx context.Context, side rules.Side, l Limits) (a Answer, text string, err error) {
	asked := false
	allotted, _ := l.Allotted(side)
	for {
		wait, cancel := ctx, context.CancelFunc(func() {})
		if d.claim.Result != rules.Ongoing {
			wait, cancel = context.WithTimeout(ctx, allotted+claimSilence)
		}
		line, err := d.receive(wait)
		cancel()
		if err != nil && d.claim.Result != rules.Ongoing {
			d.setUp = false
			a.Claim, a.Resign = d.claim, d.claim.Result == rules.Winner(side.Other())
			return a, "", nil
		}
		if errors.Is(err, context.DeadlineExceeded) && !asked {
			asked = true
			d.stop(d.process)
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			ctx = late
			continue
		}
		if err != nil {
			return a, "", fmt.Errorf("waiting for a move: %w", err)
		}
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "move":
			text += f[1]
			if !strings.HasSuffix(text, ",") { // a double move comes in two lines
				return a, text, nil
			}
		case len(f) > 0 && f[0] == "resign":
			d.setUp = false
			a.Resign = true
			return a, "", nil
		case len(f) >= 4:
			a.readThinking(f)
			d.hear(line)
		default:
			d.hear(line)
		}
	}
}

// readThinking takes "depth score time nodes pv..."; scores beyond 100000 are mates.
func (a *Answer) readThinking(f []string) {
	var n [4]int64
	for i := range n {
		v, err := strconv.ParseInt(strings.TrimRight(f[i], ".&+-"), 10, 64)
		if err != nil {
			return
		}
		n[i] = v
	}
	a.Depth, a.Nodes = int(n[0]), n[3]
	a.PV = strings.Join(f[4:], " ")
	const mate = 100000
	switch {
	case n[1] >= mate:
		a.Score = Score{Known: true, Mate: true, MateIn: int(max(n[1]-mate, 1))}
	case n[1] <= -mate:
		a.Score = Score{Known: true, Mate: true, MateIn: int(min(n[1]+mate, -1))}
	default:
		a.Score = Score{Known: true, Centipawns: int(n[1])}
	}
}

func (d *cecpDialect) stop(c *process) { _ = c.send("?") }
func (d *cecpDialect) quit(c *process) { _ = c.send("quit") }
