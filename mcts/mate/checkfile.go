package mate

import (
	"bufio"
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
// An error names the file and line.
func CheckFile(path string, v *rules.Variant, nodes int64) (Report, error) {
	f, err := os.Open(path)
	if err != nil {
		return Report{}, fmt.Errorf("open file of mates: %w", err)
	}
	r, err := Check(f, path, v, nodes)
	return r, errors.Join(err, f.Close())
}

// Check is CheckFile for a stream with the given name.
func Check(in io.Reader, name string, v *rules.Variant, nodes int64) (Report, error) {
	o := DefaultOptions()
	o.Nodes = nodes
	c := checker{solver: New(o), endgame: NewEndgame(10 * nodes), variant: v}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for n := 1; lines.Scan(); n++ {
		text := strings.TrimSuffix(lines.Text(), "\r")
		if text == "" || n == 1 && strings.HasPrefix(text, "sfen\t") {
			continue
		}
		if err := c.row(strings.Split(text, "\t")); err != nil {
			return c.report, fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := lines.Err(); err != nil {
		return c.report, fmt.Errorf("%s: %w", name, err)
	}
	if c.report.Rows == 0 {
		return c.report, fmt.Errorf("%s: %w: no rows", name, ErrFormat)
	}
	return c.report, nil
}

type checker struct {
	variant *rules.Variant
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

func (c *checker) row(fields []string) error {
	if len(fields) < 4 {
		return fmt.Errorf("%w: %d fields, want sfen, kind, plies, first_moves", ErrFormat, len(fields))
	}
	sfen, kind, length, firsts := fields[0], fields[1], fields[2], fields[3]
	p, err := c.variant.ParseSFEN(sfen)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFormat, err)
	}
	plies, err := strconv.Atoi(length)
	if never := kind == "endgame" && length == "inf"; !never && (err != nil || plies > maxPly || plies < -maxPly || plies < 1 && kind != "endgame") {
		return fmt.Errorf("%w: plies %q", ErrFormat, length)
	}
	var first []rules.Move
	if firsts != "-" {
		for _, s := range strings.Fields(firsts) {
			m, err := p.ParseMove(s)
			if err != nil {
				return fmt.Errorf("%w: first move: %w", ErrFormat, err)
			}
			if !slices.Contains(first, m) {
				first = append(first, m)
			}
		}
	}
	start := time.Now()
	var g grade
	var nodes int64
	var said string
	switch kind {
	case "tsume", "royal", "none":
		g, nodes, said = c.mate(p, kind, plies, first)
	case "endgame":
		if g, nodes, said, err = c.ending(p, length == "inf", plies, first); err != nil {
			return err
		}
	default:
		return fmt.Errorf("%w: kind %q is not one of tsume, royal, none, endgame", ErrFormat, kind)
	}
	c.count(kind, length, g, nodes, time.Since(start))
	if g == wrong {
		c.report.Mistakes = append(c.report.Mistakes, fmt.Sprintf("%s: %s %s %s, but %s", sfen, kind, length, firsts, said))
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
