package notation

import "kirin/rules"

// ending is a word for the end of a game with what it means when a side is to move.
type ending struct {
	word   string
	result func(toMove rules.Side) rules.Result
	reason rules.Reason
}

func loses(s rules.Side) rules.Result { return rules.Winner(s.Other()) }
func wins(s rules.Side) rules.Result  { return rules.Winner(s) }
func draws(rules.Side) rules.Result   { return rules.Draw }
func stops(rules.Side) rules.Result   { return rules.Ongoing }

// kifEndings are the words of KIF files. Of several words for one thing the first is written.
var kifEndings = []ending{
	{"中断", stops, rules.None},
	{"投了", loses, rules.Resignation},
	{"詰み", loses, rules.Checkmate},
	{"詰", loses, rules.Checkmate},
	{"切れ負け", loses, rules.Time},
	{"時間切れ", loses, rules.Time},
	{"Time-up", loses, rules.Time},
	{"反則負け", loses, rules.IllegalMove},
	{"反則勝ち", wins, rules.IllegalMove},
	{"入玉勝ち", wins, rules.Declaration},
	{"不戦勝", wins, rules.Adjudicated},
	{"不戦敗", loses, rules.Adjudicated},
	{"千日手", draws, rules.Repetition},
	{"持将棋", draws, rules.Declaration},
	{"引き分け", draws, rules.Adjudicated},
	{"引分け", draws, rules.Adjudicated},
	{"引分", draws, rules.Adjudicated},
	{"不詰", stops, rules.None},
	{"封じ手", stops, rules.None},
}

// csaEndings are the special moves of CSA files (version 2.2, section 2.6).
var csaEndings = []ending{
	{"CHUDAN", stops, rules.None},
	{"TORYO", loses, rules.Resignation},
	{"TSUMI", loses, rules.Checkmate},
	{"TIME_UP", loses, rules.Time},
	{"ILLEGAL_MOVE", loses, rules.IllegalMove},
	{"-ILLEGAL_ACTION", func(rules.Side) rules.Result { return rules.SenteWins }, rules.IllegalMove},
	{"+ILLEGAL_ACTION", func(rules.Side) rules.Result { return rules.GoteWins }, rules.IllegalMove},
	{"KACHI", wins, rules.Declaration},
	{"SENNICHITE", draws, rules.Repetition},
	{"JISHOGI", draws, rules.Declaration},
	{"MAX_MOVES", draws, rules.PlyLimit},
	{"HIKIWAKE", draws, rules.Adjudicated},
	{"FUZUMI", stops, rules.None},
	{"MATTA", stops, rules.None},
	{"ERROR", stops, rules.None},
}

// outcome returns what the word means.
func (e *ending) outcome(toMove rules.Side) rules.Outcome {
	return rules.Outcome{Result: e.result(toMove), Reason: e.reason}
}

// endingFor returns the word that comes nearest to an outcome: the same result, and the same reason or a likely one.
func endingFor(list []ending, o rules.Outcome, toMove rules.Side) *ending {
	if o.Result == rules.Ongoing {
		return &list[0]
	}
	near := o.Reason
	loser := o.Result != rules.Draw && o.Result != rules.Winner(toMove)
	switch {
	case loser && (near == rules.NoMoves || near == rules.RoyalCaptured || near == rules.BareKing):
		near = rules.Checkmate
	case near == rules.PerpetualCheck, o.Result != rules.Draw && near == rules.Repetition:
		near = rules.IllegalMove
	}
	var fallback *ending
	for i := range list {
		e := &list[i]
		if e.result(toMove) != o.Result {
			continue
		}
		if e.reason == near {
			return e
		}
		// Otherwise the loser resigns, or the winner is given the game for a foul; a draw is an agreed one.
		if fallback == nil || o.Result == rules.Draw && e.reason == rules.Declaration {
			fallback = e
		}
	}
	return fallback
}
