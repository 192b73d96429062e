package rulestest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"kirin/rules"
)

// Report is the result of comparing a file of facts with the rules.
type Report struct {
	File string
	// Kind is "perft", "moves" or "games".
	Kind   string
	Rows   []Row
	Failed int
	Nodes  uint64 // positions counted by perft rows
}

// Passed returns the number of rows that agree.
func (r *Report) Passed() int { return len(r.Rows) - r.Failed }

// Row is one row of a file.
type Row struct {
	Line    int    // of the file, from 1
	Problem string // "" when the row agrees
}

// CheckFile compares a file with variant v. It reads three kinds, which it tells apart by their content; a file whose name
// ends in .gz is unpacked.
//
// A table of perft counts (columns sfen, depth, nodes, tab-separated with a header; where a fourth column speaks of "distinct
// USI strings", every writing of a move counts). Lists of legal moves, a JSON object a
// line: sfen, moves in USI, and distinct_results where several writings mean the same move; every listed move must be legal
// and their set must be all moves. Games, a JSON object a line: sfen_start, moves, result (sente, gote, draw or *), reason;
// every move must be legal, the game must go on until the last and then have that result.
//
// The error is about reading the file; disagreements are in the Report.
func CheckFile(path string, v *rules.Variant) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, err
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(f)
		if err != nil {
			return Report{}, fmt.Errorf("%s: %w", path, err)
		}
		r = z
	}
	rep, err := Check(r, v, nil)
	rep.File = path
	if err != nil {
		return rep, fmt.Errorf("%s: %w", path, err)
	}
	return rep, nil
}

// Check is CheckFile on an open file. row, if not nil, is called after each row.
func Check(r io.Reader, v *rules.Variant, row func(Row)) (Report, error) {
	sc := bufio.NewScanner(r)
	sc.Buffer(nil, 16<<20)
	rep := Report{}
	var check func(line []byte, v *rules.Variant, rep *Report) (problem string, err error)
	for line := 1; sc.Scan(); line++ {
		text := bytes.TrimSpace(sc.Bytes())
		if len(text) == 0 || text[0] == '#' {
			continue
		}
		if check == nil {
			rep.Kind, check = kindOf(text)
			if check == nil {
				return rep, fmt.Errorf("line %d: neither a table of perft counts nor moves nor games", line)
			}
			if rep.Kind == "perft" {
				continue
			}
		}
		problem, err := check(text, v, &rep)
		if err != nil {
			return rep, fmt.Errorf("line %d: %w", line, err)
		}
		if problem != "" {
			rep.Failed++
		}
		rep.Rows = append(rep.Rows, Row{line, problem})
		if row != nil {
			row(rep.Rows[len(rep.Rows)-1])
		}
	}
	if err := sc.Err(); err != nil {
		return rep, err
	}
	if check == nil {
		return rep, io.ErrUnexpectedEOF
	}
	return rep, nil
}

// kindOf tells the kind of a file from its first line.
func kindOf(line []byte) (string, func([]byte, *rules.Variant, *Report) (string, error)) {
	switch {
	case bytes.HasPrefix(line, []byte("sfen\tdepth\tnodes")):
		return "perft", checkPerft
	case line[0] == '{' && bytes.Contains(line, []byte(`"sfen_start"`)):
		return "games", checkGame
	case line[0] == '{' && bytes.Contains(line, []byte(`"sfen"`)):
		return "moves", checkMoves
	}
	return "", nil
}

func checkPerft(line []byte, v *rules.Variant, rep *Report) (string, error) {
	f := strings.Split(string(line), "\t")
	if len(f) < 3 {
		return "", fmt.Errorf("%d columns instead of sfen, depth, nodes", len(f))
	}
	depth, err := strconv.ParseUint(f[1], 10, 8)
	if err != nil {
		return "", fmt.Errorf("depth: %w", err)
	}
	want, err := strconv.ParseUint(f[2], 10, 64)
	if err != nil {
		return "", fmt.Errorf("nodes: %w", err)
	}
	p, err := v.ParseSFEN(f[0])
	if err != nil {
		return err.Error(), nil
	}
	perft := Perft
	if len(f) > 3 && strings.Contains(f[3], "distinct USI strings") {
		perft = PerftWritings
	}
	got := perft(p, int(depth))
	rep.Nodes += got
	if got != want {
		return fmt.Sprintf("%s depth %d: %d instead of %d", f[0], depth, got, want), nil
	}
	return "", nil
}

func checkMoves(line []byte, v *rules.Variant, _ *Report) (string, error) {
	var row struct {
		SFEN            string
		Moves           []string
		DistinctResults *int `json:"distinct_results"`
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return "", err
	}
	p, err := v.ParseSFEN(row.SFEN)
	if err != nil {
		return err.Error(), nil
	}
	legal := p.AppendMoves(nil)
	listed := map[rules.Move]bool{}
	for _, s := range row.Moves {
		m, err := p.ParseMove(s)
		if err != nil {
			return row.SFEN + ": " + err.Error(), nil
		}
		listed[m] = true
	}
	for _, m := range legal {
		if !listed[m] {
			return fmt.Sprintf("%s: %s is legal here and not listed", row.SFEN, p.FormatMove(m)), nil
		}
	}
	if n := row.DistinctResults; n != nil && *n != len(legal) {
		return fmt.Sprintf("%s: %d moves instead of %d", row.SFEN, len(legal), *n), nil
	}
	return "", nil
}

// reasons gives, for a reason as other programs name it, the reasons that rules gives in its place.
var reasons = map[string][]rules.Reason{
	"checkmate":  {rules.Checkmate},
	"stalemate":  {rules.NoMoves},
	"repetition": {rules.Repetition, rules.PerpetualCheck},
	"kingslost":  {rules.RoyalCaptured},
	"bareking":   {rules.BareKing},
}

func checkGame(line []byte, v *rules.Variant, _ *Report) (string, error) {
	var row struct {
		Start  string `json:"sfen_start"`
		Moves  []string
		Result string
		Reason string
	}
	if err := json.Unmarshal(line, &row); err != nil {
		return "", err
	}
	p, err := v.ParseSFEN(row.Start)
	if err != nil {
		return err.Error(), nil
	}
	var buf []rules.Move
	for i, s := range row.Moves {
		buf = p.AppendMoves(buf[:0])
		if o := p.Outcome(len(buf)); o.Result != rules.Ongoing {
			return fmt.Sprintf("ply %d: over (%s) before the last of %d moves", i, o, len(row.Moves)), nil
		}
		m, err := p.ParseMove(s)
		if err != nil {
			return fmt.Sprintf("ply %d, %s: %v", i+1, p.SFEN(), err), nil
		}
		p.Do(m)
	}
	buf = p.AppendMoves(buf[:0])
	o := p.Outcome(len(buf))
	known, isKnown := reasons[row.Reason]
	if o.Result == rules.Ongoing && (row.Result == "*" || !isKnown) {
		return "", nil // unfinished, or ended by what is no rule: resignation, time
	}
	if o.Result.String() != row.Result || isKnown && !slices.Contains(known, o.Reason) {
		return fmt.Sprintf("ends %s instead of %s by %s: %s", o, row.Result, row.Reason, p.SFEN()), nil
	}
	return "", nil
}
