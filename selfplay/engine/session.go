package engine

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// session is what both languages have in common: a variant with its net, a game, and one search at a time.
type session struct {
	c       Config
	o       Options
	variant string   // wanted; loaded by ready
	rules   []string // settings wanted
	netName string   // wanted
	v       *rules.Variant
	thinker *thinker
	start   string // SFEN of the game's start
	game    *rules.Position
	out     *output

	ctl  *control     // of the running search, nil: none runs
	done chan finding // gets the running search's end
}

// finding is the end of a search.
type finding struct {
	choice choice
	err    error
	ctl    *control
}

// newSession loads the variant, so that positions can be taken at once; the net is loaded by ready.
func newSession(c Config, out *output) (*session, error) {
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	s := &session{c: c, o: c.Options, variant: c.Variant, rules: c.Rules, netName: c.Net, out: out, done: make(chan finding, 1)}
	return s, s.loadVariant()
}

// loadVariant makes the wanted variant the played one and starts a new game.
func (s *session) loadVariant() error {
	v, err := rules.Load(s.variant, s.rules...)
	if err != nil {
		return err
	}
	if s.v != nil && v.Hash() == s.v.Hash() {
		return nil
	}
	s.v, s.thinker = v, nil
	s.newGame()
	return nil
}

// setVariant changes the game, with its default rules unless the rules are the same.
func (s *session) setVariant(name string) error {
	if name == s.variant {
		return nil
	}
	was, rulesWere := s.variant, s.rules
	s.variant, s.rules = name, nil
	if err := s.loadVariant(); err != nil {
		s.variant, s.rules = was, rulesWere
		return err
	}
	return nil
}

// setRules changes the rule settings, written "preset=lishogi,max_plies=0"; "default" or nothing are the defaults.
func (s *session) setRules(text string) error {
	was := s.rules
	s.rules = nil
	for _, part := range strings.Split(text, ",") {
		part = strings.TrimSpace(part)
		if part == "" || part == "default" || part == "<empty>" {
			continue
		}
		if !strings.Contains(part, "=") {
			part = "preset=" + part
		}
		s.rules = append(s.rules, part)
	}
	if err := s.loadVariant(); err != nil {
		s.rules = was
		return err
	}
	return nil
}

// ready loads the net if it is not loaded yet.
func (s *session) ready() error {
	if s.thinker != nil {
		s.thinker.prepare(s.o)
		return nil
	}
	net, err := s.c.Open(s.v, s.netName)
	if err != nil {
		return err
	}
	s.thinker = newThinker(s.v, net)
	s.thinker.prepare(s.o)
	return nil
}

// newGame begins a game from the variant's start.
func (s *session) newGame() {
	s.game = s.v.Start()
	s.start = s.game.SFEN()
	if s.thinker != nil {
		s.thinker.forget()
	}
}

// setPosition makes the game one that began at sfen ("" is the variant's start) and went on by moves. On error the game
// stays as it was.
func (s *session) setPosition(sfen string, moves []string, parse func(*rules.Position, string) (rules.Move, error)) error {
	p := s.v.Start()
	if sfen != "" {
		var err error
		if p, err = s.v.ParseSFEN(sfen); err != nil {
			return err
		}
	}
	start := p.SFEN()
	for i, text := range moves {
		m, err := parse(p, text)
		if err != nil {
			return fmt.Errorf("move %d: %w", i+1, err)
		}
		p.Do(m)
	}
	s.game, s.start = p, start
	return nil
}

// thinking tells whether a search runs.
func (s *session) thinking() bool { return s.ctl != nil }

// begin starts a search of the game's position; its end comes over s.done.
func (s *session) begin(o order) error {
	if s.thinking() {
		return errors.New("a search is running")
	}
	if err := s.ready(); err != nil {
		return err
	}
	o.options, o.start = s.o, s.start
	level, err := protocol.ParseLevel(s.o.Level)
	if err != nil {
		return err
	}
	o.level = level
	s.ctl = o.ctl
	p := s.game.Clone()
	thinker := s.thinker
	go func() {
		c, err := thinker.think(p, o)
		o.ctl.halt()
		s.done <- finding{choice: c, err: err, ctl: o.ctl}
	}()
	return nil
}

// end waits for the running search after telling it to stop, and returns what it found. It must not be called without one.
func (s *session) end() finding {
	s.ctl.halt()
	f := <-s.done
	s.ctl = nil
	return f
}

// abandon ends the running search, if there is one, and forgets its answer.
func (s *session) abandon() {
	if s.thinking() {
		s.end()
	}
}

// loop feeds lines to handle and finished searches to finished until handle says quit, the input ends or ctx does.
func (s *session) loop(ctx context.Context, lines <-chan string, handle func(string) (quit bool), finished func(finding)) error {
	defer s.abandon()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case f := <-s.done:
			s.ctl = nil
			finished(f)
		case line, ok := <-lines:
			if !ok || handle(line) {
				return s.out.failure()
			}
		}
		if err := s.out.failure(); err != nil {
			return fmt.Errorf("engine: write: %w", err)
		}
	}
}
