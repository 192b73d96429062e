// Package rules plays four games of the shogi family: shogi, minishogi, tori shogi and chu shogi.
//
// A [Variant] is one game with its options, read-only and shared; a [Position] is one game in progress with its whole
// history. One concrete Position serves all four games: everything that differs between them stands in the Variant's
// tables, which are computed once by [Load] from the piece descriptions in the files game_*.go.
//
//	v, err := rules.Load("minishogi")
//	p := v.Start()
//	moves := p.AppendMoves(nil)
//	if out := p.Outcome(len(moves)); out.Result == rules.Ongoing {
//		p.Do(moves[0])
//	}
//
// Coordinates: a [Square] is row*Width+column; row 0 is rank a (printed on top), column 0 the highest file (printed on the
// left). Sente (Black, uppercase in SFEN) moves towards row 0.
//
// Moves are canonical actions: no two moves of one position lead to the same position. A double move of a lion, horned
// falcon or soaring eagle carries the square of its first capture in Via; a double move through an empty square is the
// plain move to its end, or the pass (from == to, no Via). [Position.ParseMove] maps every other way of writing onto these.
//
// [Position.Outcome] tests in this order: royal captured, mate or no legal move; repetition; declaration; bare king; ply
// limit. Repetition is decided on [Position.Key]; caches must use [Position.CacheKey], which also holds what the result
// depends on besides the position.
//
// AppendMoves, CountMoves, Do, Undo and Outcome do not allocate (Do grows its history rarely, by doubling). A Position is
// not safe for concurrent use; a Variant is.
package rules
