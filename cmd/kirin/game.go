package main

import (
	"errors"
	"fmt"
	"strings"

	"kirin/rules"
	"kirin/rules/notation"

	"github.com/spf13/cobra"
)

// gameFlags name a game and its rules.
type gameFlags struct {
	variant string
	preset  string
	sets    []string
	sfen    string
}

func (f *gameFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.variant, "variant", "minishogi", "game: "+strings.Join(rules.Names(), ", "))
	cmd.Flags().StringVar(&f.preset, "rules", "", "named set of rule options (chushogi: japanese, jcsa, western, lishogi)")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "rule option, for example --set max_plies=0 (repeatable)")
}

func (f *gameFlags) addSFEN(cmd *cobra.Command) {
	cmd.Flags().Var((*given)(&f.sfen), "sfen", "position (default: the start position)")
}

// load returns the game.
func (f *gameFlags) load() (*rules.Variant, error) {
	settings := f.sets
	if f.preset != "" {
		settings = append([]string{"preset=" + f.preset}, settings...)
	}
	return rules.Load(f.variant, settings...)
}

// position returns the game and the position --sfen names.
func (f *gameFlags) position() (*rules.Variant, *rules.Position, error) {
	v, err := f.load()
	if err != nil {
		return nil, nil, err
	}
	if f.sfen == "" {
		return v, v.Start(), nil
	}
	p, err := v.ParseSFEN(f.sfen)
	if err != nil {
		return nil, nil, fmt.Errorf("--sfen: %w", err)
	}
	return v, p, nil
}

// parseAnyMove reads a move in USI, Western or Japanese notation. Of several errors it returns the one that knows most.
func parseAnyMove(p *rules.Position, text string) (rules.Move, error) {
	var first error
	for _, parse := range []func(*rules.Position, string) (rules.Move, error){
		(*rules.Position).ParseMove, notation.ParseWestern, notation.ParseJapanese,
	} {
		m, err := parse(p, text)
		if err == nil {
			return m, nil
		}
		if first == nil || errors.Is(err, rules.ErrIllegalMove) && !errors.Is(first, rules.ErrIllegalMove) {
			first = err
		}
	}
	return rules.NoMove, first
}

// playMoves plays USI moves, naming the ply of one that is not legal.
func playMoves(p *rules.Position, moves []string) error {
	for i, text := range moves {
		m, err := p.ParseMove(text)
		if err != nil {
			return fmt.Errorf("ply %d: %w", i+1, err)
		}
		p.Do(m)
	}
	return nil
}

// given is a text flag that may be left out but not be empty: an unset variable
// of the shell is a mistake, not a wish.
type given string

func (g *given) String() string { return string(*g) }
func (g *given) Type() string   { return "string" }

func (g *given) Set(s string) error {
	if s == "" {
		return errors.New("it is empty")
	}
	*g = given(s)
	return nil
}
