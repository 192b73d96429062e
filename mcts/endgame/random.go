package endgame

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"

	"kirin/rules"
)

// bags are the pieces that random endgames draw from.
var bags = map[string]string{
	"minishogi": "RRBBGGSSPP",
	"shogi":     "RRBBGGGGSSSSNNNNLLLLPPPPPP",
}

// Random returns a position of two kings and 2 to 4 other pieces, on the board or
// in hand. Only minishogi and shogi have such endgames.
func Random(v *rules.Variant, rng *rand.Rand) (*rules.Position, error) {
	bag := []byte(bags[v.Name()])
	if len(bag) == 0 {
		return nil, fmt.Errorf("there are no random endgames of %s", v.Name())
	}
	for range 10_000 {
		if p, err := v.ParseSFEN(randomSFEN(v, bag, rng)); err == nil {
			return p, nil
		}
	}
	return nil, errors.New("no legal endgame was found")
}

func randomSFEN(v *rules.Variant, bag []byte, rng *rand.Rand) string {
	side := v.Width()
	board := make([]string, v.Squares())
	place := func(s string) {
		for {
			if i := rng.IntN(len(board)); board[i] == "" {
				board[i] = s
				return
			}
		}
	}
	place("K")
	place("k")
	hands := map[string]int{}
	rng.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
	for _, letter := range bag[:2+rng.IntN(3)] {
		s := string(letter)
		if rng.IntN(2) == 0 {
			s = strings.ToLower(s)
		}
		switch up := letter != 'G' && rng.IntN(4) == 0; {
		case rng.IntN(3) == 0:
			hands[s]++
		case up:
			place("+" + s)
		default:
			place(s)
		}
	}
	var b strings.Builder
	for i := 0; i < len(board); {
		if i > 0 && i%side == 0 {
			b.WriteByte('/')
		}
		if board[i] != "" {
			b.WriteString(board[i])
			i++
			continue
		}
		free := 1
		for (i+free)%side != 0 && board[i+free] == "" {
			free++
		}
		fmt.Fprint(&b, free)
		i += free
	}
	hand := ""
	for _, s := range strings.Split("RBGSNLPrbgsnlp", "") {
		if n := hands[s]; n > 1 {
			hand += fmt.Sprint(n)
		}
		if hands[s] > 0 {
			hand += s
		}
	}
	if hand == "" {
		hand = "-"
	}
	return fmt.Sprintf("%s %c %s 1", b.String(), "bw"[rng.IntN(2)], hand)
}
