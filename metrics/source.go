package metrics

import "errors"

// Board is a position of a game being played.
type Board struct {
	Variant  string  `json:"variant"`
	SFEN     string  `json:"sfen"`
	LastMove string  `json:"last_move"` // USI, or empty
	Ply      int     `json:"ply"`
	GameID   string  `json:"game"`
	Net      string  `json:"net"`   // e.g. "step 1200"
	Value    float32 `json:"value"` // expected score of sente, 0 to 1; negative: not known
}

// GameSummary is a line in the list of recent games.
type GameSummary struct {
	ID      string  `json:"id"`
	Variant string  `json:"variant"`
	Net     string  `json:"net"`
	Result  string  `json:"result"` // sente, gote, draw or *
	Reason  string  `json:"reason"`
	Plies   int     `json:"plies"`
	Time    float64 `json:"time"` // seconds since 1970, 0 when not known
}

// GameRecord is a game to step through. SFENs has one entry more than Moves:
// entry i is the position before move i.
type GameRecord struct {
	ID      string    `json:"id"`
	Variant string    `json:"variant"`
	Net     string    `json:"net"`
	Result  string    `json:"result"`
	Reason  string    `json:"reason"`
	SFENs   []string  `json:"sfens"`
	Moves   []string  `json:"moves"`  // USI
	Values  []float32 `json:"values"` // as Board.Value, by position; may be shorter
}

// Source gives the games of a run, from any goroutine. Game returns an error
// that wraps ErrNoGame for an id that the run does not have.
type Source interface {
	// Recent lists up to n finished games, newest first.
	Recent(n int) []GameSummary
	Game(id string) (GameRecord, error)
}

// ErrNoGame is wrapped by the errors of Source.Game.
var ErrNoGame = errors.New("no such game in this run")

// Rating is a player's strength, fitted over all rating games of a run.
type Rating struct {
	Name   string  `json:"name"`
	Step   int64   `json:"step"` // training step of a net; -1 for an anchor
	Elo    float64 `json:"elo"`
	Low    float64 `json:"low"` // 95 % interval
	High   float64 `json:"high"`
	Games  int     `json:"games"`
	Anchor bool    `json:"anchor"` // a fixed opponent: drawn as a line
}
