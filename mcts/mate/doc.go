// Package mate finds forced mates.
//
// A Solver looks for mates by checks alone (tsume) in the games that have check:
// the attacker gives check with every move, the defender may answer in any legal
// way. In chu shogi, where royals are captured, it looks in the same way for the
// forced capture of the last royal: every move of the attacker but the last must
// attack a royal.
//
// # Search
//
// Proof-number search, depth first with a table (df-pn; Nagai: Df-pn algorithm
// for searching AND/OR trees and its applications, 2002), deepened by two plies
// at a time: first mates in one, then in three, and so on. So the first mate found
// is a shortest one, and every statement of the table is of the form "mate within
// n plies" or "no mate within n plies".
//
// # Repetition
//
// Such a statement, made without regard to repetition, is true of a position
// whatever way led there, so nothing in the table depends on a path: cycles end at
// the depth bound, and a shortest mate never passes a position twice. What the
// rules add (repetition with the moves of the game so far, perpetual check, ply
// limits, declarations) enters when a mate has been found: its proof is replayed
// with the full rules, against every defence, from the position with its history.
// A proof that does not stand is given up as Unknown. NoMate means: no mate by
// checks within Options.MaxPly, or, with Result.Plies 0, none at all.
//
// A Solver allocates nothing after its first position of a game; its table keeps
// no trace of earlier positions, so an answer depends on the position and the
// options alone.
//
// Endgame is a plain solver for both sides and all moves, CheckFile compares both
// with files of known mates.
package mate
