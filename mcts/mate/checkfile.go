package mate

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"kirin/rules"
)

// Tally counts the rows of a file of known mates with one kind and length.
type Tally struct {
	Kind     string `json:"kind"`
	Plies    string `json:"plies"`
	Found    int    `json:"found"`
	Wrong    int    `json:"wrong"`
	NotFound int    `json:"not_found"`
	// Nodes and Micros are the sums over the rows, MostNodes the most of one row.
	Nodes     int64 `json:"nodes"`
	MostNodes int64 `json:"most_nodes"`
	Micros    int64 `json:"micros"`
}

// Report is the outcome of CheckFile.
type Report struct {
	Tallies []Tally `json:"tallies"` // in the order of first appearance
	// Mistakes has a sentence for each wrong row.
	Mistakes []string `json:"mistakes"`
	Rows     int      `json:"rows"`
	Found    int      `json:"found"`
	Wrong    int      `json:"wrong"`
	NotFound int      `json:"not_found"`
}

// ErrFormat marks a file that is not one of known mates.
var ErrFormat = errors.New("not a file of mates")

// CheckFile compares the solvers with a file of known mates of the variant's game:
// tab-separated, a header, and in each row the fields
//
//	sfen  kind  plies  first_moves  ...
//
// Further fields are ignored. A row has at most nodes positions, an endgame row,
// where all moves count, ten times as many. By kind it is
// found, wrong or, when the bounds were reached, not found:
//
//	tsume    a mate by checks in exactly plies, of which first_moves (USI, separated
//	         by spaces) are all first moves: found if a mate of that length begins
//	         with one of them
//	royal    the same, by capture of the last royal
//	none     no such mate within plies: found if it is refuted, wrong if one is given
//	endgame  with all moves, the side to move wins in plies, or loses in -plies (0: has
//	         no move); first_moves are those that win soonest or lose latest; "inf":
//	         nobody ever wins: found if length and first moves are the same
//
// An error names the file and line; when ctx ends it is ctx's.
func CheckFile(ctx context.Context, path string, v *rules.Variant, nodes int64) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("open file of mates: %w", err)
	}
	r, err := Check(ctx, f, path, v, nodes)
	return r, errors.Join(err, f.Close())
}

// Check is CheckFile for a stream with the given name.
func Check(ctx context.Context, in io.Reader, name string, v *rules.Variant, nodes int64) (Report, error) {
	o := DefaultOptions()
	o.Nodes = nodes
	c := checker{ctx: ctx, solver: New(o), endgame: NewEndgame(10 * nodes)}
	stopped := func() bool { return ctx.Err() != nil }
	c.solver.Interrupt, c.endgame.solver.Interrupt = stopped, stopped
	err := ReadRows(in, name, v, c.row)
	return c.report, err
}

// Row is a line of a file of known mates; see CheckFile.
type Row struct {
	Position *rules.Position
	SFEN     string
	Kind     string       // tsume, royal, none or endgame
	Plies    int          // 0 with Never
	Never    bool         // an endgame that nobody wins
	First    []rules.Move // each once
	fields   []string
}

// ReadRows calls f for each row of a stream with the given name. An error, f's
// too, names the line.
func ReadRows(in io.Reader, name string, v *rules.Variant, f func(Row) error) error {
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	rows := 0
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSuffix(lines.Text(), "\r")
		if text == "" || n == 1 && strings.HasPrefix(text, "sfen\t") {
			continue
		}
		row, err := readRow(v, strings.Split(text, "\t"))
		if err == nil {
			err = f(row)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
		rows++
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if rows == 0 {
		return fmt.Errorf("%s: %w: no rows", name, ErrFormat)
	}
	return nil
}

func readRow(v *rules.Variant, fields []string) (Row, error) {
	if len(fields) < 4 {
		return Row{}, fmt.Errorf("%w: %d fields, want sfen, kind, plies, first_moves", ErrFormat, len(fields))
	}
	r := Row{SFEN: fields[0], Kind: fields[1], fields: fields}
	length, firsts := fields[2], fields[3]
	switch r.Kind {
	case "tsume", "royal", "none", "endgame":
	default:
		return Row{}, fmt.Errorf("%w: kind %q is not one of tsume, royal, none, endgame", ErrFormat, r.Kind)
	}
	var err error
	if r.Position, err = v.ParseSFEN(r.SFEN); err != nil {
		return Row{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if r.Kind == "endgame" && length == "inf" {
		r.Never = true
	} else if r.Plies, err = strconv.Atoi(length); err != nil || r.Plies > maxPly || r.Plies < -maxPly || r.Plies < 1 && r.Kind != "endgame" {
		return Row{}, fmt.Errorf("%w: plies %q", ErrFormat, length)
	}
	if firsts == "-" {
		return r, nil
	}
	for _, s := range strings.Fields(firsts) {
		m, err := r.Position.ParseMove(s)
		if err != nil {
			return Row{}, fmt.Errorf("%w: first move: %w", ErrFormat, err)
		}
		if !slices.Contains(r.First, m) {
			r.First = append(r.First, m)
		}
	}
	return r, nil
}

type checker struct {
	ctx     context.Context
	solver  *Solver
	endgame *Endgame
	report  Report
}

// grade of a row.
type grade uint8

const (
	notFound grade = iota
	found
	wrong
)

func (c *checker) row(r Row) error {
	start := time.Now()
	var g grade
	var nodes int64
	var said string
	if r.Kind == "endgame" {
		var err error
		if g, nodes, said, err = c.ending(r.Position, r.Never, r.Plies, r.First); err != nil {
			return err
		}
	} else {
		g, nodes, said = c.mate(r.Position, r.Kind, r.Plies, r.First)
	}
	if err := c.ctx.Err(); err != nil {
		return err
	}
	c.count(r.Kind, r.fields[2], g, nodes, time.Since(start))
	if g == wrong {
		c.report.Mistakes = append(c.report.Mistakes, fmt.Sprintf("%s: %s %s %s, but %s", r.SFEN, r.Kind, r.fields[2], r.fields[3], said))
	}
	return nil
}

func (c *checker) mate(p *rules.Position, kind string, plies int, first []rules.Move) (grade, int64, string) {
	r := c.solver.Within(p, plies, c.solver.o.Nodes)
	said := fmt.Sprintf("the solver says %v in %d plies", r.Status, r.Plies)
	if r.Status == Mate {
		said += ", beginning with " + p.FormatMove(r.PV[0])
	}
	switch {
	case r.Status == Unknown:
		return notFound, r.Nodes, said
	case kind == "none" && r.Status == NoMate,
		kind != "none" && r.Status == Mate && r.Plies == plies && slices.Contains(first, r.PV[0]):
		return found, r.Nodes, said
	}
	return wrong, r.Nodes, said
}

func (c *checker) ending(p *rules.Position, inf bool, plies int, first []rules.Move) (grade, int64, string, error) {
	e, err := c.endgame.Solve(p, max(plies, -plies))
	if err != nil {
		return notFound, 0, "", err
	}
	said := fmt.Sprintf("the solver says %d plies", e.Plies)
	if e.Never {
		said = "the solver says that nobody wins"
	}
	for _, m := range e.First {
		said += " " + p.FormatMove(m)
	}
	same := func() bool {
		a, b := slices.Clone(first), slices.Clone(e.First)
		slices.Sort(a)
		slices.Sort(b)
		return e.Never == inf && (inf || e.Plies == plies && slices.Equal(a, b))
	}
	switch {
	case !e.Known:
		return notFound, e.Nodes, said, nil
	case same():
		return found, e.Nodes, said, nil
	}
	return wrong, e.Nodes, said, nil
}

func (c *checker) count(kind, length string, g grade, nodes int64, d time.Duration) {
	r := &c.report
	i := slices.IndexFunc(r.Tallies, func(t Tally) bool { return t.Kind == kind && t.Plies == length })
	if i < 0 {
		i = len(r.Tallies)
		r.Tallies = append(r.Tallies, Tally{Kind: kind, Plies: length})
	}
	t := &r.Tallies[i]
	t.Nodes += nodes
	t.MostNodes = max(t.MostNodes, nodes)
	t.Micros += d.Microseconds()
	r.Rows++
	switch g {
	case found:
		t.Found++
		r.Found++
	case wrong:
		t.Wrong++
		r.Wrong++
	default:
		t.NotFound++
		r.NotFound++
	}
}
