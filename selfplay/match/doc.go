// Package match lets players meet and says how strong they are.
//
// A Player chooses moves: Random and Material (one-ply capture greed) are the fixed anchors of every rating, Net searches
// with an evaluator, External drives an outside engine. ParsePlayer reads the text by which a user names one, such as
// "net:runs/mini@latest,sims=64" or "usi:fairy-stockfish,nodes=1000".
//
// Run plays A against B. Games come in pairs: both players meet every opening with both colours, so that neither the
// first player's advantage nor a lopsided opening counts for anyone. The pair, with its five possible scores, is the unit
// of every interval and of the SPRT. A match with a journal goes on where it was stopped.
//
// Fit turns the games of many players into ratings: Bradley-Terry with draws (Davidson) and the first player's advantage,
// fixed anchors, players known to be close (FitOptions.Links), intervals, and checks for what such a model cannot say (players that never met, circles of results).
//
// # The journal
//
// A text file of JSON lines. The first is a Header: what was asked for; a match with other settings, or with a player of
// other settings or another net by the same name, refuses to go on with it. Every further line is one finished Game: its opening, moves in USI, result and reason, the players' values.
// Games are appended as they finish, in any order, each with its number; a torn last line is dropped.
//
// # Games that do not count
//
// When a player's engine and the rules disagree about a move, or an engine fails twice, the game ends without a result:
// it is kept, reported in Result.Disagreements or Result.Failures, and counted for nobody. An engine that claims an end and
// makes no move disagrees, unless it claims to have lost, which counts as giving up, or to have won where the rules let it
// declare the win (nyugyoku); if it moves all the same the game goes on and the claim is listed in Result.Claims.
//
// # Determinism
//
// With players that are functions of the position and their seed (random, material, net by simulations or nodes, engines
// by depth or nodes that clear their memory between games), a match is a function of its options: game n of pair k has
// its own seed, and the number of games at once changes nothing. An SPRT looks at pairs in their order, and pairs beyond
// its end are left out of the result.
package match
