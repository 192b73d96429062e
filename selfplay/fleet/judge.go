package fleet

import (
	"errors"
	"fmt"
	"strings"

	"kirin/dataset"
	"kirin/rules"
)

// Reasons why a game is refused.
const (
	RefusedTruncated   = "truncated"    // the record ends early
	RefusedGarbage     = "garbage"      // no record, or a damaged one
	RefusedNewer       = "newer_format" // written by a newer program
	RefusedIllegal     = "illegal_move"
	RefusedResult      = "forged_result" // not the result that the moves give
	RefusedUnproven    = "unproven_result"
	RefusedOtherRun    = "other_run"    // another game, other rules or other settings
	RefusedOtherWorker = "other_worker" // signed by a name that the key does not have
	RefusedUnknownNet  = "unknown_net"  // of a net that the run has not published
	RefusedDuplicate   = "duplicate"    // stored already
	RefusedQuarantined = "quarantined"
	RefusedMismatch    = "mismatch" // not what its net plays
	RefusedRate        = "rate_limit"
)

// refusal is a reason with a sentence.
type refusal struct {
	reason string
	err    error
}

func (r *refusal) Error() string { return r.reason + ": " + r.err.Error() }

func refuse(reason, format string, a ...any) *refusal {
	return &refusal{reason, fmt.Errorf(format, a...)}
}

// Proof is what becomes of a result that the board does not show by itself.
type Proof int

// The outcomes of [Judge.Prove].
const (
	Proven Proof = iota
	Disproven
	Undecided // too hard: the game is played again with its net
)

// Judge decides whether a game may count. Its fields do not change while it is
// used, from several goroutines.
type Judge struct {
	Codec    *dataset.Codec
	Variant  *rules.Variant
	Hash     string // of the run's settings
	CapPlies int    // at which games are cut off, 0: never
	// Published tells whether the run has published this net at this step.
	Published func(net string, step int64) bool
	// ResignBelow is the expected score below which the run's players resign, 0:
	// they never do.
	ResignBelow float64
	// Prove looks again for the win that ended a game. It may be nil.
	Prove func(*dataset.Game) Proof
}

// verdict is what a record turned out to be.
type verdict struct {
	game  *dataset.Game
	again bool // its result stands only if the net plays the same game
	no    *refusal
}

// judge decodes one record that key has sent, which plays it on a board, and
// compares what it says with the run.
func (j *Judge) judge(key string, record []byte) verdict {
	g, no := j.decode(record)
	if no != nil {
		return verdict{no: no}
	}
	switch {
	case g.Variant != j.Variant.Name() || g.Rules != j.Variant.Rules():
		return verdict{no: refuse(RefusedOtherRun, "it is a game of %s (%s), the run plays %s (%s)", g.Variant, g.Rules, j.Variant.Name(), j.Variant.Rules())}
	case g.Config != j.Hash:
		return verdict{no: refuse(RefusedOtherRun, "it was played under the settings %s, the run has %s", g.Config, j.Hash)}
	case !strings.HasPrefix(g.Worker, PlayerName(key)):
		return verdict{no: refuse(RefusedOtherWorker, "it is signed by %q and was sent by %q", g.Worker, key)}
	case !j.Published(g.Net, g.Step):
		return verdict{no: refuse(RefusedUnknownNet, "the run has published no net %.12s at step %d", g.Net, g.Step)}
	}
	return j.result(g)
}

func (j *Judge) decode(record []byte) (*dataset.Game, *refusal) {
	n, err := dataset.RecordLength(record)
	switch {
	case err != nil && len(record) < 16:
		return nil, refuse(RefusedTruncated, "%d bytes are too few", len(record))
	case err != nil:
		return nil, refuse(RefusedGarbage, "%w", err)
	case n > len(record):
		return nil, refuse(RefusedTruncated, "%d bytes instead of %d", len(record), n)
	}
	g, err := j.Codec.Decode(record)
	if err != nil {
		return nil, j.explain(err)
	}
	return g, nil
}

func (j *Judge) explain(err error) *refusal {
	switch {
	case errors.Is(err, dataset.ErrNewer):
		return refuse(RefusedNewer, "%w", err)
	case errors.Is(err, dataset.ErrWrongGame):
		return refuse(RefusedOtherRun, "%w", err)
	case errors.Is(err, rules.ErrIllegalMove):
		return refuse(RefusedIllegal, "%w", err)
	case errors.Is(err, dataset.ErrResult):
		return refuse(RefusedResult, "%w", err)
	}
	return refuse(RefusedGarbage, "%w", err)
}

// result looks at results that the rules alone do not give: self-play ends
// games by proven mates, by its own cap and, where the run has it so, when the
// side to move resigns. That it had reason to resign only the net can tell, as
// with the moves' targets: the share of games that are played again shows it.
func (j *Judge) result(g *dataset.Game) verdict {
	capped := j.CapPlies > 0 && len(g.Plies) >= j.CapPlies && g.Outcome == (rules.Outcome{Result: rules.Draw, Reason: rules.Adjudicated})
	if g.Truncated != capped {
		return verdict{no: refuse(RefusedResult, "it says that it was cut off at %d plies, the run does so at %d", len(g.Plies), j.CapPlies)}
	}
	switch g.Outcome.Reason {
	case rules.Resignation:
		if j.ResignBelow == 0 {
			return verdict{no: refuse(RefusedResult, "no side resigns in this run")}
		}
		if g.Outcome.Result != rules.Winner(j.mover(g).Other()) {
			return verdict{no: refuse(RefusedResult, "the side that is not to move resigns")}
		}
	case rules.Time, rules.IllegalMove, rules.None:
		return verdict{no: refuse(RefusedResult, "self-play does not end by %v", g.Outcome.Reason)}
	case rules.Adjudicated:
		if !capped {
			return verdict{no: refuse(RefusedResult, "self-play does not end by %v", g.Outcome.Reason)}
		}
	case rules.MateProven:
		if j.Prove == nil {
			return verdict{game: g, again: true}
		}
		switch j.Prove(g) {
		case Disproven:
			return verdict{no: refuse(RefusedResult, "no mate was there")}
		case Undecided:
			return verdict{game: g, again: true}
		}
	}
	return verdict{game: g}
}

// mover is the side to move at a game's end.
func (j *Judge) mover(g *dataset.Game) rules.Side {
	start, err := j.Variant.ParseSFEN(g.Start)
	if err != nil { // it was read when the game was decoded
		return rules.Sente
	}
	return start.Side() ^ rules.Side(len(g.Plies)&1)
}
