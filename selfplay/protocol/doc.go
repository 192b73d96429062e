// Package protocol speaks with game programs over text: it drives outside engines and holds what both ends of such a
// conversation need.
//
// An Engine is one outside program in its own process group, spoken to in one of four languages:
//
//	usi   Universal Shogi Interface (Fairy-Stockfish, Sjaak II, kirin itself)
//	uci   Universal Chess Interface with shogi variants (Fairy-Stockfish)
//	cecp  Chess Engine Communication Protocol version 2, "xboard" (HaChu, Sjaak II)
//	gnu   the plain text dialogue of GNU shogi and GNU minishogi
//
// Outside engines stall and die. Every wait has a limit; a program that does not answer is killed with all its
// children, started again and asked once more; a second failure is a *Failure that carries the last lines of the
// conversation. Close leaves no process behind. An answer that the rules do not allow is an *IllegalMove, a move of
// ours that the engine does not accept is a *Refusal: both are disagreements about the rules, for the caller to count
// apart from wins and losses.
//
// Coordinates: USI numbers files from the right and letters ranks from the top ("7g7f"); UCI and CECP letter files
// from the left and number ranks from the bottom ("c3c4"), see FormatAlgebraic and ParseAlgebraic.
//
// An Engine is for one game at a time and one goroutine at a time.
package protocol
