package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kirin/rules"
	"kirin/rules/notation"
	"kirin/selfplay/engine"
	"kirin/selfplay/protocol"
)

// The bounds of one query.
const (
	maxQueryMoves  = 2000
	maxQueryVisits = 1 << 24
	maxQueryTime   = 24 * time.Hour
)

// query is one line of input of kirin analyze.
type query struct {
	ID     json.RawMessage `json:"id"`
	Action string          `json:"action"` // "" to analyze, query_version, terminate

	SFEN  string   `json:"sfen"`  // start, default: the even start
	Moves []string `json:"moves"` // from there, in any notation
	Game  string   `json:"game"`  // a whole game file instead: KIF, CSA or USI

	Turns  json.RawMessage `json:"analyze_turns"` // numbers of moves already made, or "all"; default: all moves made
	Visits int64           `json:"max_visits"`
	Time   float64         `json:"max_time"` // seconds
	Lines  int             `json:"lines"`
	Policy bool            `json:"include_policy"`

	Terminate json.RawMessage `json:"terminate_id"`
}

// defaults are what a query does not say.
type defaults struct {
	visits int64
	lines  int
}

// job is one position to be analyzed.
type job struct {
	id     json.RawMessage
	game   *notation.Game
	turn   int
	limits protocol.Limits
	lines  int
	policy bool
	task   *task // the query's, to be told when it is done
}

// parseQuery reads one line. The id is returned with an error too, if there is one.
func parseQuery(line []byte) (query, error) {
	var q query
	var id struct {
		ID json.RawMessage `json:"id"`
	}
	if !json.Valid(line) {
		err := json.Unmarshal(line, &q)
		return query{}, fmt.Errorf("not a JSON object: %w", err)
	}
	_ = json.Unmarshal(line, &id) // other faults are found below
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	err := d.Decode(&q)
	q.ID = id.ID
	if err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			where := kind.Field
			if where == "" {
				where = "query"
			}
			return query{ID: id.ID}, fmt.Errorf("%s: a %s is of the wrong kind", where, kind.Value)
		}
		return query{ID: id.ID}, fmt.Errorf("query: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if bytes.HasPrefix(bytes.TrimSpace(q.ID), []byte("{")) || bytes.HasPrefix(bytes.TrimSpace(q.ID), []byte("[")) {
		return query{}, errors.New("id: must be a text or a number")
	}
	return q, nil
}

// jobs turns a query into the positions that it asks about.
func (q query) jobs(v *rules.Variant, d defaults) ([]job, error) {
	visits, limit, lines := d.visits, time.Duration(0), d.lines
	if q.Visits != 0 || q.Time != 0 {
		visits, limit = q.Visits, time.Duration(q.Time*float64(time.Second))
		if q.Time > 0 {
			limit = max(limit, 1) // 0 is no limit
		}
	}
	switch {
	case q.Visits < 0 || q.Visits > maxQueryVisits:
		return nil, fmt.Errorf("max_visits: %d is not in 1..%d", q.Visits, maxQueryVisits)
	case !(q.Time >= 0 && q.Time <= maxQueryTime.Seconds()):
		return nil, fmt.Errorf("max_time: %v is not in 0..%v seconds", q.Time, maxQueryTime.Seconds())
	case q.Lines < 0:
		return nil, fmt.Errorf("lines: %d is negative", q.Lines)
	case q.Lines > 0:
		lines = q.Lines
	}
	g, err := q.game(v)
	if err != nil {
		return nil, err
	}
	turns, err := q.turns(len(g.Moves))
	if err != nil {
		return nil, err
	}
	var jobs []job
	for _, turn := range turns {
		jobs = append(jobs, job{
			id: q.ID, game: g, turn: turn, lines: lines, policy: q.Policy,
			limits: protocol.Limits{Nodes: visits, MoveTime: limit},
		})
	}
	return jobs, nil
}

// game is the game that the query tells.
func (q query) game(v *rules.Variant) (*notation.Game, error) {
	if q.Game != "" {
		if q.SFEN != "" || len(q.Moves) > 0 {
			return nil, errors.New("game: give either a game or sfen and moves")
		}
		g, err := notation.Read([]byte(q.Game), v)
		if err != nil {
			return nil, fmt.Errorf("game: %w", err)
		}
		if len(g.Moves) > maxQueryMoves {
			return nil, fmt.Errorf("game: more than %d moves", maxQueryMoves)
		}
		return g, nil
	}
	if len(q.Moves) > maxQueryMoves {
		return nil, fmt.Errorf("moves: more than %d", maxQueryMoves)
	}
	g := &notation.Game{Variant: v, Start: q.SFEN}
	p := v.Start()
	if q.SFEN == "startpos" {
		g.Start = ""
	} else if q.SFEN != "" {
		var err error
		if p, err = v.ParseSFEN(q.SFEN); err != nil {
			return nil, fmt.Errorf("sfen: %w", err)
		}
	}
	for i, text := range q.Moves {
		m, err := parseAnyMove(p, text)
		if err != nil {
			return nil, fmt.Errorf("moves: move %d: %w", i+1, err)
		}
		g.Moves = append(g.Moves, m)
		p.Do(m)
	}
	return g, nil
}

// turns are the numbers of moves after which the position is asked about, ascending, each once.
func (q query) turns(plies int) ([]int, error) {
	if len(q.Turns) == 0 || string(q.Turns) == "null" {
		return []int{plies}, nil
	}
	var turns []int
	if string(q.Turns) == `"all"` {
		for i := range plies + 1 {
			turns = append(turns, i)
		}
		return turns, nil
	}
	if err := json.Unmarshal(q.Turns, &turns); err != nil {
		return nil, errors.New(`analyze_turns: must be a list of numbers, or "all"`)
	}
	for _, n := range turns {
		if n < 0 || n > plies {
			return nil, fmt.Errorf("analyze_turns: %d is not in 0..%d, the moves of this game", n, plies)
		}
	}
	slices.Sort(turns)
	return slices.Compact(turns), nil
}

// chances are probabilities of win, draw and loss for the side to move.
type chances struct {
	Win  float32 `json:"win"`
	Draw float32 `json:"draw"`
	Loss float32 `json:"loss"`
}

func chancesOf(v rules.Value) chances { return chances{v.Win, v.Draw, v.Loss} }

// moveReply is one move of a reply.
type moveReply struct {
	Move   string  `json:"move"`
	Order  int     `json:"order"`
	Visits int     `json:"visits"`
	Prior  float32 `json:"prior"`
	chances
	Proven bool     `json:"proven,omitempty"` // the chances are certain
	Plies  int      `json:"plies,omitempty"`  // with proven: to the end
	PV     []string `json:"pv"`
}

// mateReply is a forced mate.
type mateReply struct {
	Plies int      `json:"plies"`
	Moves []string `json:"moves"`
}

// reply is one line of output.
type reply struct {
	ID     json.RawMessage    `json:"id,omitempty"`
	Line   int                `json:"line,omitempty"` // of the input, with an error
	Error  string             `json:"error,omitempty"`
	Action string             `json:"action,omitempty"`
	Info   map[string]string  `json:"info,omitempty"`
	Turn   *int               `json:"turn,omitempty"`
	SFEN   string             `json:"sfen,omitempty"`
	Side   string             `json:"side,omitempty"`
	Over   string             `json:"over,omitempty"`    // the result, if the game is over
	Cut    bool               `json:"no_more,omitempty"` // terminated before its end
	Visits int                `json:"visits,omitempty"`
	Value  *chances           `json:"value,omitempty"`
	Mate   *mateReply         `json:"mate,omitempty"`
	Moves  []moveReply        `json:"moves,omitempty"`
	Policy map[string]float32 `json:"policy,omitempty"`
}

// tell fills in the analysis of p.
func (r *reply) tell(j job, p *rules.Position, a engine.Analysis) {
	v := chancesOf(a.Value)
	r.Visits, r.Value = a.Visits, &v
	if len(a.Mate) > 0 {
		r.Mate = &mateReply{Plies: len(a.Mate), Moves: moveTexts(p, a.Mate)}
	}
	for i, l := range a.Moves {
		m := moveReply{
			Move: p.FormatMove(l.Moves[0]), Order: i, Visits: l.Visits, Prior: l.Prior, chances: chancesOf(l.Value),
			Proven: l.Proven, PV: moveTexts(p, l.Moves),
		}
		if l.Proven {
			m.Plies = l.Plies
		}
		r.Moves = append(r.Moves, m)
	}
	if j.policy {
		r.Policy = map[string]float32{}
		for _, c := range a.Policy {
			r.Policy[p.FormatMove(c.Move)] = c.P
		}
	}
}

// moveTexts writes a line of moves from p in USI.
func moveTexts(p *rules.Position, moves []rules.Move) []string {
	texts := make([]string, len(moves))
	q := p.Clone()
	for i, m := range moves {
		texts[i] = q.FormatMove(m)
		q.Do(m)
	}
	return texts
}

// writeReply writes a reply as one line.
func writeReply(w io.Writer, r reply) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("reply: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}
