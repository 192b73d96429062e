// Package engine lets people and programs play against a net: it serves USI and CECP version 2 on a pair of streams.
//
//	err := engine.Serve(ctx, os.Stdin, os.Stdout, engine.Config{Open: open, ...})
//
// Solo is the same search for a program that asks one question after the other.
//
// Serve listens for the first word and then speaks the language of whoever is there: "usi" or "xboard". ServeUSI and
// ServeCECP speak one language from the start.
//
// One goroutine reads lines, one holds the state and answers, one thinks. The thinking one looks at a flag after every
// evaluation, so that "stop" and "?" are answered within one evaluation of a few positions by the net (a few
// milliseconds). Between moves
// the tree is kept and what the opponent's move left of it is searched on.
//
// A line that makes no sense is answered with an explanation and changes nothing; a position or move that the rules do
// not allow is named with the reason, and the position stays as it was. The end of the input ends the server.
//
// # Time
//
// A clock is shared out by allot: part of the time left, most of the increment and byoyomi, never more than what is left
// less the option MoveOverhead, which is for the way to the GUI and back; of a time for the move alone half of it is taken
// off. A quarter of either is used all the same, however large MoveOverhead is.
//
// # Scores
//
// Scores are in centipawns on the Elo scale, cp = 400 log10(s/(1-s)) with s = win + draw/2; "wdl" gives the chances in
// thousandths. Mates are in plies in USI, as its documents say.
package engine
