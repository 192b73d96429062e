package match

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// Game is one game of a match as the journal keeps it. Values are the movers' own opinions (score in [0,1]), one a ply
// from the end of the opening on, -1 where the player had none.
type Game struct {
	Pair    int       `json:"pair"` // from 0
	Second  bool      `json:"second,omitempty"`
	First   string    `json:"first"` // the player who moves first from Start
	Start   string    `json:"start"` // SFEN
	Opening int       `json:"opening"`
	Moves   string    `json:"moves"` // USI from Start, with the opening's
	Result  string    `json:"result"`
	Reason  string    `json:"reason"`
	Score   float64   `json:"score"` // of A: 1, 0.5 or 0
	Fault   string    `json:"fault,omitempty"`
	Detail  string    `json:"detail,omitempty"`
	Log     []string  `json:"log,omitempty"`
	Claims  []string  `json:"claims,omitempty"` // what engines said about the end and the rules did not
	Values  []float64 `json:"values,omitempty"`
}

// The faults of games that count for nobody.
const (
	FaultDisagreement = "disagreement" // a player's engine and the rules differ about a move or an end
	FaultFailure      = "failure"      // an engine failed twice
)

// Counts tells whether the game counts in scores.
func (g *Game) Counts() bool { return g.Fault == "" }

// number is the game's place in the match, from 0.
func (g *Game) number() int {
	if g.Second {
		return 2*g.Pair + 1
	}
	return 2 * g.Pair
}

// Clock is the time control of a match's games; the zero Clock is none.
type Clock struct {
	Initial, Increment, Byoyomi time.Duration
	// Slack is how much a player may overstep before the game is lost: the way to an engine and back costs time.
	Slack time.Duration
}

// DefaultSlack is a Clock.Slack for engines on this machine.
const DefaultSlack = 100 * time.Millisecond

func (c Clock) on() bool { return c.Initial > 0 || c.Increment > 0 || c.Byoyomi > 0 }

// referee plays one game.
type referee struct {
	v        *rules.Variant
	clock    Clock
	maxPlies int
	watch    func(p *rules.Position, d Decision)
}

// gameSeed is the seed of one game's random choices.
func gameSeed(seed uint64, number int, player string) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %s", seed, number, player)
	return h.Sum64()
}

// play plays a game from o; players[0] moves first from the opening's start. Errors are those of players of our own and
// of ctx; what goes wrong with an outside engine is in the game.
func (r *referee) play(ctx context.Context, o opening, players [2]Player) (*Game, error) {
	g := &Game{Start: o.start, Opening: o.plies}
	start, err := r.v.ParseSFEN(o.start)
	if err != nil {
		return nil, fmt.Errorf("start of a game: %w", err)
	}
	for _, pl := range players {
		if err := pl.NewGame(ctx, start); err != nil {
			out, err := g.trouble(ctx, pl, err)
			g.Moves, g.Result, g.Reason = gameMoves(start, o.pos), out.Result.String(), out.Reason.String()
			return g, err
		}
	}
	p := o.pos.Clone()
	out, err := r.run(ctx, g, p, start.Side(), players)
	if err != nil {
		return nil, err
	}
	g.Moves = gameMoves(start, p)
	g.Result, g.Reason = out.Result.String(), out.Reason.String()
	for _, pl := range players {
		pl.GameOver(out)
	}
	return g, nil
}

// run makes moves until the game is over.
func (r *referee) run(ctx context.Context, g *Game, p *rules.Position, first rules.Side, players [2]Player) (rules.Outcome, error) {
	left := [2]time.Duration{r.clock.Initial, r.clock.Initial}
	var moves []rules.Move
	for {
		moves = p.AppendMoves(moves[:0])
		if out := p.Outcome(len(moves)); out.Result != rules.Ongoing {
			return out, nil
		}
		if r.maxPlies > 0 && p.Ply() >= r.maxPlies {
			return rules.Outcome{Result: rules.Draw, Reason: rules.PlyLimit}, nil
		}
		side := p.Side()
		pl := players[side^first]
		began := time.Now()
		d, err := pl.Move(ctx, p, r.limits(left))
		used := time.Since(began)
		if err != nil {
			return g.trouble(ctx, pl, err)
		}
		value := -1.0
		if d.Value != nil {
			value = float64(int(d.Value.Score()*1000+0.5)) / 1000
		}
		g.Values = append(g.Values, value)
		if r.clock.on() {
			over := used - left[side] - r.clock.Byoyomi
			if over > r.clock.Slack {
				return rules.Outcome{Result: rules.Winner(side.Other()), Reason: rules.Time}, nil
			}
			left[side] = max(left[side]-used, 0) + r.clock.Increment
		}
		switch {
		case d.Resign:
			reason := rules.Resignation
			if text := d.Claim.Text; text != "" && !strings.Contains(strings.ToLower(text), "resign") {
				reason = rules.Adjudicated
				g.claim(p, pl, text, "and has lost by its own word")
			}
			return rules.Outcome{Result: rules.Winner(side.Other()), Reason: reason}, nil
		case d.Move == rules.NoMove:
			if out, ok := p.Declare(); ok && out.Result == d.Claim.Result && out.Result == rules.Winner(side) {
				return out, nil
			}
			g.Fault = FaultDisagreement
			g.Detail = fmt.Sprintf("%s says %q where the game goes on: %s", pl.Name(), d.Claim.Text, p.SFEN())
			return rules.Outcome{Reason: rules.Adjudicated}, nil
		}
		if !slices.Contains(moves, d.Move) {
			g.Fault = FaultDisagreement
			g.Detail = fmt.Sprintf("%s played %s, which is not legal in %s", pl.Name(), p.FormatMove(d.Move), p.SFEN())
			return rules.Outcome{Reason: rules.IllegalMove}, nil
		}
		if r.watch != nil {
			r.watch(p, d)
		}
		p.Do(d.Move)
		if d.Claim.Result != rules.Ongoing {
			if out := p.Outcome(p.CountMoves()); out.Result != d.Claim.Result {
				g.claim(p, pl, d.Claim.Text, "the rules say "+out.String())
			}
		}
	}
}

// claim notes what an engine said about the end of the game, once if it goes on saying it.
func (g *Game) claim(p *rules.Position, pl Player, text, comment string) {
	said := fmt.Sprintf("%s says %q, %s", pl.Name(), text, comment)
	if !slices.ContainsFunc(g.Claims, func(c string) bool { return strings.HasSuffix(c, said) }) {
		g.Claims = append(g.Claims, fmt.Sprintf("ply %d: %s", p.Ply(), said))
	}
}

// limits are the clocks as the players are told them.
func (r *referee) limits(left [2]time.Duration) protocol.Limits {
	if !r.clock.on() {
		return protocol.Limits{}
	}
	return protocol.Limits{
		Timed: true, Clock: left, Increment: [2]time.Duration{r.clock.Increment, r.clock.Increment}, Byoyomi: r.clock.Byoyomi,
	}
}

// trouble sorts an error of a player: disagreements and failures of engines end the game without a result, all others
// end the match.
func (g *Game) trouble(ctx context.Context, pl Player, err error) (rules.Outcome, error) {
	var illegal *protocol.IllegalMove
	var refusal *protocol.Refusal
	var failure *protocol.Failure
	g.Detail = fmt.Sprintf("%s: %v", pl.Name(), err)
	switch {
	case ctx.Err() != nil:
		return rules.Outcome{}, ctx.Err()
	case errors.As(err, &illegal), errors.As(err, &refusal):
		g.Fault = FaultDisagreement
		return rules.Outcome{Reason: rules.IllegalMove}, nil
	case errors.As(err, &failure):
		const kept = 60
		g.Fault = FaultFailure
		g.Log = failure.Transcript[max(len(failure.Transcript)-kept, 0):]
		return rules.Outcome{}, nil
	}
	return rules.Outcome{}, err
}

// gameMoves writes the moves of p's game, which began at start, in USI.
func gameMoves(start, p *rules.Position) string {
	moves := make([]rules.Move, p.Ply())
	for i := range moves {
		moves[i] = p.MoveAt(i)
	}
	return formatMoves(start, moves)
}
