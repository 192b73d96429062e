package match

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"

	"kirin/rules"
)

// Openings say how the games of a match begin.
type Openings struct {
	// Plies is the number of uniformly random legal plies played from the start position.
	Plies int
	// Book lists positions as SFEN; when there are any, pair k begins from entry k modulo their number, and then Plies
	// random plies are played from there.
	Book []string
}

// openingTries bounds the draws for one opening.
const openingTries = 2000

// opening is where a pair starts: a position and the random plies already played from it.
type opening struct {
	start string
	first rules.Side // the side to move at the start
	plies int
	pos   *rules.Position
}

// pick makes pair k's opening, a function of (seed, k) and the options alone.
func (o Openings) pick(v *rules.Variant, seed uint64, k int) (opening, error) {
	start := v.Start()
	if len(o.Book) > 0 {
		p, err := v.ParseSFEN(o.Book[k%len(o.Book)])
		if err != nil {
			return opening{}, fmt.Errorf("book entry %d: %w", k%len(o.Book)+1, err)
		}
		start = p
	}
	rng := rand.New(rand.NewPCG(seed, 0x6f70656e<<32+uint64(k)))
	var moves []rules.Move
	for range openingTries {
		p := start.Clone()
		for moves = p.AppendMoves(moves[:0]); p.Ply() < o.Plies; moves = p.AppendMoves(moves[:0]) {
			if len(moves) == 0 || p.Outcome(len(moves)).Result != rules.Ongoing {
				break
			}
			p.Do(moves[rng.IntN(len(moves))])
		}
		if p.Ply() < o.Plies || p.Outcome(len(moves)).Result != rules.Ongoing {
			continue
		}
		return opening{start: start.SFEN(), first: start.Side(), plies: p.Ply(), pos: p}, nil
	}
	return opening{}, fmt.Errorf("opening %d: none of %d random ones of %d plies is open", k+1, openingTries, o.Plies)
}

// validate checks the options and every book entry.
func (o Openings) validate(v *rules.Variant) error {
	var errs []error
	if o.Plies < 0 || o.Plies > 400 {
		errs = append(errs, fmt.Errorf("openings: %d random plies are not in 0..400", o.Plies))
	}
	for i, s := range o.Book {
		p, err := v.ParseSFEN(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("openings: book entry %d: %w", i+1, err))
		} else if p.Outcome(len(p.AppendMoves(nil))).Result != rules.Ongoing {
			errs = append(errs, fmt.Errorf("openings: book entry %d: the game is over in %q", i+1, s))
		}
	}
	return errors.Join(errs...)
}

// ReadBook reads a list of SFENs, one a line; empty lines and lines that start with # are passed over, a leading
// "sfen " or "position sfen " is too.
func ReadBook(r io.Reader) ([]string, error) {
	var book []string
	in := bufio.NewScanner(r)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		line = strings.TrimPrefix(line, "position ")
		book = append(book, strings.TrimPrefix(line, "sfen "))
	}
	if err := in.Err(); err != nil {
		return nil, fmt.Errorf("book line %d: %w", len(book)+1, err)
	}
	return book, nil
}
