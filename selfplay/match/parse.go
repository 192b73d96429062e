package match

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay"
	"kirin/selfplay/protocol"
)

// Spec is a player as a user names it: a kind, what it is, and settings after commas.
//
//	net:FILE | net:shipped | net:RUNDIR[@latest|@first|@STEP]
//	random | material
//	usi:COMMAND | uci:COMMAND | cecp:COMMAND | gnu:COMMAND
//
// Settings: sims=64 nodes=1000 movetime=100ms depth=3 threads=1 batch=4 mate=5000 leafmate=50 level=easy timeout=60s name=TEXT
// option.NAME=VALUE; settingHelp tells which kind takes which.
type Spec struct {
	Text     string // as it was given
	Kind     string // "net", "random", "material" or one of protocol.Protocols
	Arg      string // the net or the command
	Name     string // how results call the player
	Sims     int
	Nodes    int64
	Depth    int
	MoveTime time.Duration
	Threads  int
	Batch    int // leaves that a net evaluates together, 0: the default
	Mate     int // positions of a net's mate search, -1: not given
	LeafMate int // and of that at each leaf
	Level    string
	Timeout  time.Duration
	Options  []protocol.Setting
}

// settingHelp lists the settings that a kind of player takes.
var settingHelp = map[string][]string{
	"net":      {"sims", "nodes", "movetime", "mate", "leafmate", "threads", "batch", "level", "name"},
	"random":   {"name"},
	"material": {"name"},
	"usi":      {"nodes", "movetime", "depth", "threads", "timeout", "name", "option.NAME"},
	"uci":      {"nodes", "movetime", "depth", "threads", "timeout", "name", "option.NAME"},
	"cecp":     {"movetime", "depth", "threads", "timeout", "name", "option.NAME"},
	"gnu":      {"depth", "timeout", "name"},
}

// ParsePlayer reads a player's text and reports every fault at once.
func ParsePlayer(text string) (Spec, error) {
	parts := splitSettings(text)
	kind, arg, hasArg := strings.Cut(parts[0], ":")
	s := Spec{Text: text, Kind: kind, Arg: strings.TrimSpace(arg), Name: parts[0], Threads: 1, Mate: -1}
	allowed, ok := settingHelp[kind]
	if !ok {
		return s, fmt.Errorf("player %q: unknown kind %q (net:, random, material, usi:, uci:, cecp:, gnu:)", text, kind)
	}
	var errs []error
	anchor := kind == "random" || kind == "material"
	if anchor && hasArg {
		errs = append(errs, fmt.Errorf("%s takes nothing after a colon", kind))
	}
	if !anchor && s.Arg == "" {
		errs = append(errs, fmt.Errorf("%s: needs a name or command after the colon", kind))
	}
	for _, part := range parts[1:] {
		errs = append(errs, s.set(allowed, part))
	}
	if limits := s.limits(); kind != "net" && !anchor && limits == (protocol.Limits{}) {
		if kind == "gnu" {
			errs = append(errs, errors.New("depth: must be given, GNU shogi knows no other limit"))
		} else {
			s.MoveTime = 100 * time.Millisecond
		}
	}
	if kind == "net" {
		set := 0
		for _, on := range []bool{s.Sims > 0, s.Nodes > 0, s.MoveTime > 0, s.Level != ""} {
			if on {
				set++
			}
		}
		if set > 1 {
			errs = append(errs, errors.New("sims, nodes, movetime, level: at most one can be given"))
		}
		if _, err := s.search(); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return s, fmt.Errorf("player %q: %w", text, err)
	}
	if len(parts) > 1 && !slices.ContainsFunc(parts[1:], func(p string) bool { return strings.HasPrefix(p, "name=") }) {
		s.Name = strings.Join(parts, ",")
	}
	return s, nil
}

// splitSettings cuts at commas, but leaves a comma alone that no setting follows: commands may hold some.
func splitSettings(text string) []string {
	parts := []string{""}
	for i, piece := range strings.Split(text, ",") {
		key, _, isSetting := strings.Cut(piece, "=")
		key = strings.TrimSpace(key)
		known := strings.HasPrefix(key, "option.")
		for _, keys := range settingHelp {
			known = known || slices.Contains(keys, key)
		}
		switch last := len(parts) - 1; {
		case i == 0:
			parts[0] = piece
		case isSetting && (known || !strings.ContainsAny(key, " \t")):
			parts = append(parts, strings.TrimSpace(piece))
		default:
			parts[last] += "," + piece
		}
	}
	return parts
}

// set takes one "key=value".
func (s *Spec) set(allowed []string, part string) error {
	key, value, _ := strings.Cut(part, "=")
	key = strings.TrimSpace(key)
	if name, ok := strings.CutPrefix(key, "option."); ok && slices.Contains(allowed, "option.NAME") {
		if name == "" {
			return errors.New("option.: no name")
		}
		s.Options = append(s.Options, protocol.Setting{Name: name, Value: value})
		return nil
	}
	if !slices.Contains(allowed, key) {
		hint := ""
		if s.Kind == "net" && key == "depth" {
			hint = "; the search of a net has no depth, use nodes, sims or movetime"
		}
		return fmt.Errorf("%s: not a setting of %s players (%s)%s", key, s.Kind, strings.Join(allowed, ", "), hint)
	}
	count := func(least int64) (int64, error) {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < least || n > 1<<40 {
			return 0, fmt.Errorf("%s: %q is not a whole number from %d", key, value, least)
		}
		return n, nil
	}
	duration := func() (time.Duration, error) {
		d, err := time.ParseDuration(value)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("%s: %q is not a duration such as 100ms or 2s", key, value)
		}
		return d, nil
	}
	var n int64
	var err error
	switch key {
	case "sims":
		n, err = count(1)
		s.Sims = int(min(n, 1<<24))
	case "nodes":
		s.Nodes, err = count(1)
	case "depth":
		n, err = count(1)
		s.Depth = int(min(n, 1000))
	case "mate":
		n, err = count(0)
		s.Mate = int(min(n, 1<<30))
	case "leafmate":
		n, err = count(0)
		s.LeafMate = int(min(n, 1<<30))
	case "threads":
		n, err = count(1)
		s.Threads = int(min(n, 1024))
	case "batch":
		n, err = count(1)
		s.Batch = int(min(n, 1024))
	case "movetime":
		s.MoveTime, err = duration()
	case "timeout":
		s.Timeout, err = duration()
	case "level":
		s.Level = value
	case "name":
		if s.Name = value; value == "" {
			err = errors.New("name: empty")
		}
	}
	return err
}

// limits are an outside engine's limits for each move.
func (s Spec) limits() protocol.Limits {
	return protocol.Limits{Nodes: s.Nodes, Depth: s.Depth, MoveTime: s.MoveTime}
}

// timedMateNodes is the mate search of nets limited by time: a few milliseconds. With a number of simulations or nodes
// nets are compared at equal searches and look for no mates unless told to.
const timedMateNodes = 5000

// search is a net's search setting.
func (s Spec) search() (Search, error) {
	o := DefaultSearch()
	o.Threads, o.Batch, o.LeafMates = s.Threads, s.Batch, s.LeafMate
	if s.MoveTime > 0 {
		o.MateNodes = timedMateNodes
	}
	if s.Mate >= 0 {
		o.MateNodes = s.Mate
	}
	switch {
	case s.Sims > 0:
		o.Simulations = s.Sims
	case s.Nodes > 0:
		o.Simulations, o.Nodes = 0, s.Nodes
	case s.MoveTime > 0:
		o.Simulations, o.MoveTime = 0, s.MoveTime
	case s.Level != "":
		level, err := protocol.ParseLevel(s.Level)
		if err != nil {
			return o, err
		}
		o.Level = level
		o.Simulations, o.Nodes = 0, int64(min(level.Nodes, 1600))
	}
	return o, nil
}

// NetRef is what stands after "net:".
type NetRef struct {
	Path string // a weights file, a run's folder, or "shipped"
	At   string // for a run: "latest" (default), "first" or a step number; else ""
}

// NetRef splits the text of a net player. An "@" counts only if what follows is latest, first or a number.
func (s Spec) NetRef() NetRef {
	if i := strings.LastIndexByte(s.Arg, '@'); i > 0 {
		at := s.Arg[i+1:]
		if _, err := strconv.ParseUint(at, 10, 63); err == nil || at == "latest" || at == "first" {
			return NetRef{Path: s.Arg[:i], At: at}
		}
	}
	return NetRef{Path: s.Arg}
}

// NetOpener opens a net for a variant. It gives an evaluator of its own to every call of newEval; sum is the SHA-256 of the
// net's weights.
type NetOpener func(ref NetRef, v *rules.Variant) (newEval func() selfplay.Evaluator, sum string, err error)

// key is what the player is apart from its name (see Entrant.Key). A net is known by its weights' sum, not by where it lies:
// "runs/x@latest" may be another net tomorrow.
func (s Spec) key(sum string) string {
	parts := splitSettings(s.Text)
	if s.Kind == "net" {
		parts[0] = "net:" + sum
	}
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return strings.HasPrefix(p, "name=") }), ",")
}

// Entrant makes the player's Entrant; open is called once, and only for nets.
func (s Spec) Entrant(v *rules.Variant, open NetOpener) (Entrant, error) {
	switch s.Kind {
	case "random":
		return Entrant{Name: s.Name, Key: s.key(""), Open: func(context.Context) (Player, error) {
			return renamed{NewRandom(0), s.Name}, nil
		}}, nil
	case "material":
		return Entrant{Name: s.Name, Key: s.key(""), Open: func(context.Context) (Player, error) {
			return renamed{NewMaterial(v, 0), s.Name}, nil
		}}, nil
	case "net":
		search, err := s.search()
		if err != nil {
			return Entrant{}, fmt.Errorf("player %q: %w", s.Text, err)
		}
		newEval, sum, err := open(s.NetRef(), v)
		if err != nil {
			return Entrant{}, fmt.Errorf("player %q: %w", s.Text, err)
		}
		e := NetPlayer(s.Name, v, newEval, search)
		e.Key = s.key(sum)
		return e, nil
	}
	o := protocol.Options{
		Protocol: s.Kind, Command: s.Arg, Variant: v, Threads: s.Threads, Settings: s.Options, AnswerTimeout: s.Timeout,
	}
	if err := o.Validate(); err != nil {
		return Entrant{}, fmt.Errorf("player %q: %w", s.Text, err)
	}
	return Entrant{Name: s.Name, Key: s.key(""), Open: func(ctx context.Context) (Player, error) {
		e, err := NewExternal(ctx, s.Name, o, s.limits())
		if err != nil {
			return nil, err // not e: a Player that holds a nil *External is not nil
		}
		return e, nil
	}}, nil
}

// renamed is a player with random choices under another name.
type renamed struct {
	Player
	name string
}

// Name returns the other name.
func (r renamed) Name() string { return r.name }

// Seed passes the seed on.
func (r renamed) Seed(seed uint64) { r.Player.(Seeder).Seed(seed) }
