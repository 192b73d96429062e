package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"kirin/dataset/whole"
	"kirin/selfplay/match"

	"gonum.org/v1/gonum/stat/distuv"
)

// experimentReport is what an experiment has come to. Elo counts from random
// play, or from the first fixed opponent by name when random does not play.
type experimentReport struct {
	Name     string          `json:"name"`
	About    string          `json:"about"`
	Command  string          `json:"command"`
	Base     string          `json:"base"`
	Set      []string        `json:"set"`
	CPU      float64         `json:"cpu_seconds"` // of each run
	Machine  string          `json:"machine"`
	Version  string          `json:"version"`
	Finished int             `json:"runs_finished"`
	Runs     int             `json:"runs"`
	Limit    string          `json:"limit"`
	Faults   int             `json:"games_not_counted"`
	Spread   float64         `json:"spread"`  // standard deviation between seeds, pooled over the configurations
	Freedom  int             `json:"freedom"` // its degrees of freedom; 0: one seed only, intervals are those of the games
	Rows     []experimentRow `json:"configurations"`
	Ratings  *match.Ratings  `json:"ratings"`
}

// experimentRow is one configuration; all intervals are 95 %.
type experimentRow struct {
	Name      string      `json:"name"`
	About     string      `json:"about,omitempty"`
	Set       []string    `json:"set"`
	Limit     string      `json:"limit,omitempty"`
	Elo       float64     `json:"elo"` // mean over the seeds
	Low       float64     `json:"low"`
	High      float64     `json:"high"`
	Gain      float64     `json:"gain"` // against the first configuration
	GainLow   float64     `json:"gain_low"`
	GainHigh  float64     `json:"gain_high"`
	Nets      []netRating `json:"nets"`
	CPU       float64     `json:"cpu_seconds"` // means over the nets
	Steps     float64     `json:"steps"`
	Games     float64     `json:"games"`
	Positions float64     `json:"positions"`
}

// netRating is the net of one seed.
type netRating struct {
	Seed uint64  `json:"seed"`
	Elo  float64 `json:"elo"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// rate fits all games that there are and compares the configurations.
func (x *experiment) rate() (*experimentReport, error) {
	var matches []match.Options
	for _, e := range x.encounters() {
		if e.a.result == nil || e.b == nil && e.other == "" || e.b != nil && e.b.result == nil {
			continue
		}
		a, b, err := x.players(e)
		if err != nil {
			return nil, err
		}
		matches = append(matches, x.options(a, b, e.games))
	}
	stored, err := storedGames(matches)
	if err != nil {
		return nil, err
	}
	rep := &experimentReport{
		Name: x.Name, About: x.About, Command: "kirin experiment " + filepath.ToSlash(x.file), Base: x.Base, Set: x.Set, CPU: x.CPU.Seconds(),
		Machine: machine(), Version: version, Runs: len(x.runs), Limit: x.Match.Limit,
	}
	var games []match.RatedGame
	for i, o := range matches {
		counted := match.RatedGames(match.Header{A: o.A.Name, B: o.B.Name}, stored[i], o.A.Name+"--"+o.B.Name)
		rep.Faults += len(stored[i]) - len(counted)
		games = append(games, counted...)
	}
	o := match.DefaultFitOptions()
	o.Resamples = 1000
	if rep.Ratings, err = match.Fit(games, o); err != nil {
		return nil, err
	}
	for i, v := range x.Variants {
		row := experimentRow{Name: v.Name, About: v.About, Set: v.Set, Limit: v.Limit}
		var finished []*experimentRun
		for _, r := range x.runs {
			if r.of == i && r.result != nil {
				finished = append(finished, r)
			}
		}
		rep.Finished += len(finished)
		if row.take(finished, rep.Ratings); len(row.Nets) > 0 {
			rep.Rows = append(rep.Rows, row)
		}
	}
	if len(rep.Rows) == 0 {
		return nil, errors.New("no net has been rated yet")
	}
	rep.compare()
	return rep, nil
}

// take sets the nets and means of finished runs; a net that has no rating yet is left out of both.
func (row *experimentRow) take(runs []*experimentRun, ratings *match.Ratings) {
	for _, r := range runs {
		p, ok := ratings.Of(r.name)
		if !ok {
			continue
		}
		row.Nets = append(row.Nets, netRating{r.seed, p.Elo, p.Low, p.High})
		row.CPU += r.result.CPU
		row.Steps += float64(r.result.Step)
		row.Games += float64(r.result.Games)
		row.Positions += float64(r.result.Positions)
	}
	n := max(float64(len(row.Nets)), 1)
	row.CPU, row.Steps, row.Games, row.Positions = row.CPU/n, row.Steps/n, row.Games/n, row.Positions/n
}

// compare sets the configurations' means and intervals. The scatter between
// seeds, in which that of the games is contained, is taken to be the same for
// all configurations (pooled variance, Student's t), since a few seeds say
// little about the scatter of one. With one seed the intervals are those of the
// games alone.
func (rep *experimentReport) compare() {
	squares := 0.0
	for i := range rep.Rows {
		row := &rep.Rows[i]
		for _, n := range row.Nets {
			row.Elo += n.Elo / float64(len(row.Nets))
		}
		for _, n := range row.Nets {
			squares += (n.Elo - row.Elo) * (n.Elo - row.Elo)
		}
		rep.Freedom += len(row.Nets) - 1
	}
	half := func(row *experimentRow) float64 { return (row.Nets[0].High - row.Nets[0].Low) / 2 }
	if rep.Freedom > 0 {
		rep.Spread = math.Sqrt(squares / float64(rep.Freedom))
		t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(rep.Freedom)}.Quantile(0.975)
		half = func(row *experimentRow) float64 { return t * rep.Spread / math.Sqrt(float64(len(row.Nets))) }
	}
	first := &rep.Rows[0]
	for i := range rep.Rows {
		row := &rep.Rows[i]
		h := half(row)
		row.Low, row.High = row.Elo-h, row.Elo+h
		if i > 0 {
			row.Gain = row.Elo - first.Elo
			h = math.Hypot(h, half(first))
			row.GainLow, row.GainHigh = row.Gain-h, row.Gain+h
		}
	}
}

// cells are the row's figures in the order of the table's columns.
func (row *experimentRow) cells(first bool) []string {
	set := strings.Join(row.Set, " ")
	if row.Limit != "" {
		set = strings.TrimSpace(set + " (plays with " + row.Limit + ")")
	}
	if set == "" {
		set = "the base"
	}
	gain, interval := "", ""
	if !first {
		gain, interval = fmt.Sprintf("%+.0f", row.Gain), fmt.Sprintf("%+.0f..%+.0f", row.GainLow, row.GainHigh)
	}
	seeds := make([]string, len(row.Nets))
	for i, n := range row.Nets {
		seeds[i] = fmt.Sprintf("%.0f", n.Elo)
	}
	return []string{
		row.Name, set, fmt.Sprintf("%.0f", row.Elo), fmt.Sprintf("%.0f..%.0f", row.Low, row.High), gain, interval, strings.Join(seeds, ", "),
		span(time.Duration(row.CPU * float64(time.Second))), count(row.Steps), count(row.Games), count(row.Positions),
	}
}

// columns are the heads of the table.
var columns = []string{"configuration", "settings", "Elo", "95 %", "gain", "95 %", "by seed", "CPU", "steps", "games", "positions"}

// print writes the table for a reader at a terminal.
func (rep *experimentReport) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, strings.Join(columns, "\t"))
	for i := range rep.Rows {
		fmt.Fprintln(t, strings.Join(rep.Rows[i].cells(i == 0), "\t"))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w, rep.words())
	return err
}

// words say how the figures came about.
func (rep *experimentReport) words() string {
	s := fmt.Sprintf("%d of %d runs; %d games between the nets and against fixed opponents (%s), fitted together with %s at 0 Elo.",
		rep.Finished, rep.Runs, rep.Ratings.Games, rep.Limit, rep.zero())
	if rep.Freedom > 0 {
		s += fmt.Sprintf(" Intervals are 95 %%, of the mean over the seeds, from the scatter between seeds (standard deviation %.0f Elo, pooled, %d degrees of freedom).", rep.Spread, rep.Freedom)
	} else {
		s += " There is one seed: the intervals (95 %) are those of the games alone, and other seeds may differ by more."
	}
	if rep.Faults > 0 {
		s += fmt.Sprintf(" %d games do not count, since a player failed or disagreed about the rules.", rep.Faults)
	}
	return s
}

// zero names the player at 0 Elo.
func (rep *experimentReport) zero() string {
	for _, p := range rep.Ratings.Players {
		if p.Anchor {
			return p.Name
		}
	}
	return "no player"
}

// markdown is the section of the page.
func (rep *experimentReport) markdown(plot string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\n", rep.Name)
	if rep.About != "" {
		fmt.Fprintf(&b, "%s\n\n", rep.About)
	}
	fmt.Fprintf(&b, "    %s\n\n", rep.Command)
	fmt.Fprintf(&b, "Each run has %s of CPU time. All build on `%s`", span(time.Duration(rep.CPU*float64(time.Second))), rep.Base)
	if len(rep.Set) > 0 {
		fmt.Fprintf(&b, " with `%s`", strings.Join(rep.Set, " "))
	}
	fmt.Fprintf(&b, ". kirin %s on %s.\n\n%s\n\n", rep.Version, rep.Machine, rep.words())
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat("---|", len(columns)))
	for i := range rep.Rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(rep.Rows[i].cells(i == 0), " | "))
	}
	for _, row := range rep.Rows {
		if row.About != "" {
			fmt.Fprintf(&b, "\n`%s`: %s\n", row.Name, row.About)
		}
	}
	fmt.Fprintf(&b, "\n![Elo by configuration, a small dot for each seed](%s)\n\nAll players:\n\n", plot)
	for line := range strings.Lines(rep.Ratings.Table()) {
		b.WriteString(strings.TrimRight("    "+line, " \n") + "\n")
	}
	return b.String()
}

// publish writes ratings and report into the experiment's folder, and the
// section and its plot into the page.
func (x *experiment) publish(rep *experimentReport, page string) error {
	if err := writeRecord(filepath.Join(x.dir, "ratings.json"), rep.Ratings); err != nil {
		return err
	}
	if err := writeRecord(filepath.Join(x.dir, "experiment.json"), rep); err != nil {
		return err
	}
	var rows []match.PlotRow
	for _, row := range rep.Rows {
		r := match.PlotRow{Name: row.Name, Elo: row.Elo, Low: row.Low, High: row.High}
		for _, n := range row.Nets {
			r.Parts = append(r.Parts, n.Elo)
		}
		rows = append(rows, r)
	}
	var plot bytes.Buffer
	title := fmt.Sprintf("%s: %s of CPU time a run, 95 %% intervals", rep.Name, span(x.CPU))
	if err := match.PlotRows(&plot, "svg", title, rows); err != nil {
		return err
	}
	name := rep.Name + ".svg"
	picture := filepath.Join(filepath.Dir(page), "experiments", name)
	if err := os.MkdirAll(filepath.Dir(picture), 0o755); err != nil {
		return err
	}
	if err := whole.WriteFile(picture, plot.Bytes()); err != nil {
		return err
	}
	old, err := os.ReadFile(page)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text, err := insertSection(string(old), rep.Name, rep.markdown("experiments/"+name))
	if err != nil {
		return fmt.Errorf("%s: %w", page, err)
	}
	return whole.WriteFile(page, []byte(text))
}

// insertSection puts a section between its marks, at the end of a page that has
// none yet.
func insertSection(page, name, section string) (string, error) {
	begin, end := fmt.Sprintf("<!-- begin experiment %s -->\n", name), fmt.Sprintf("<!-- end experiment %s -->\n", name)
	section = begin + section + end
	head, rest, ok := strings.Cut(page, begin)
	if !ok {
		if strings.Contains(page, end) {
			return "", fmt.Errorf("it has the mark %q without the other", strings.TrimSpace(end))
		}
		if page == "" {
			page = "# Experiments\n\nWritten by `kirin experiment`; text outside of the marks stays.\n"
		}
		return strings.TrimRight(page, "\n") + "\n\n" + section, nil
	}
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("it has the mark %q without the other", strings.TrimSpace(begin))
	}
	return head + section + tail, nil
}
