package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kirin/dataset/whole"
	"kirin/rules"
)

// Report is what Check found in a store.
type Report struct {
	Dir         string        `json:"dir"`
	Deep        bool          `json:"deep"` // every game was replayed
	Bytes       int64         `json:"bytes"`
	Shards      int           `json:"shards"`
	Journals    int           `json:"journals"` // of workers that are playing or died
	Games       int64         `json:"games"`
	Plies       int64         `json:"plies"`
	Positions   int64         `json:"positions"`  // plies with a policy target
	Duplicates  int64         `json:"duplicates"` // games stored once more
	Nets        int           `json:"nets"`
	FirstStep   int64         `json:"first_step"` // training steps of the nets that played
	LastStep    int64         `json:"last_step"`
	Results     []ResultCount `json:"results"`
	Torn        int64         `json:"torn_bytes"`            // unfinished records at the end of journals: no damage
	Unfinished  []string      `json:"unfinished,omitempty"`  // files that a worker is writing, or did not finish
	Damaged     []Damage      `json:"damaged,omitempty"`     // what is wrong
	Quarantined []Damage      `json:"quarantined,omitempty"` // what was put aside earlier
}

// ResultCount counts the games that ended in one way.
type ResultCount struct {
	Variant   string `json:"variant"`
	Result    string `json:"result"`
	Reason    string `json:"reason"`
	Truncated bool   `json:"truncated"`
	Games     int64  `json:"games"`
	Plies     int64  `json:"plies"`
}

// Check looks at every file of the store in dir without changing anything. Shards are compared with their checksums and
// counted; deep also replays every game in them: each move and target legal, the result what the rules say. Games in
// journals are always replayed. Damage is in the report; the error tells of files that cannot be read at all.
func Check(dir string, deep bool) (*Report, error) {
	c := &checker{
		s: &Store{dir: dir, o: DefaultOptions(), fsys: OS(), codec: NewCodec()},
		r: &Report{Dir: dir, Deep: deep, FirstStep: -1}, ids: map[ID]struct{}{}, nets: map[string]bool{},
		results: map[ResultCount]*ResultCount{},
	}
	if _, err := os.Stat(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	if err := c.run(); err != nil {
		return nil, fmt.Errorf("games folder: %w", err)
	}
	return c.r, nil
}

type checker struct {
	s       *Store
	r       *Report
	ids     map[ID]struct{}
	nets    map[string]bool
	results map[ResultCount]*ResultCount
}

func (c *checker) run() error {
	journals, err := c.s.journals()
	if err != nil {
		return err
	}
	shards, err := c.s.sizedShards()
	if err != nil {
		return err
	}
	if c.r.Bytes, err = c.s.usage(shards); err != nil {
		return err
	}
	sealed := map[unit]bool{}
	for _, l := range shards {
		if err := c.shard(l); err != nil {
			return err
		}
		sealed[l.unit] = true
	}
	for _, l := range journals {
		if err := c.journal(l, sealed[l.unit]); err != nil {
			return err
		}
	}
	for _, n := range c.results {
		c.r.Results = append(c.r.Results, *n)
	}
	slices.SortFunc(c.r.Results, func(a, b ResultCount) int {
		return cmp.Or(strings.Compare(a.Variant, b.Variant), cmp.Compare(b.Games, a.Games), strings.Compare(a.Result, b.Result),
			strings.Compare(a.Reason, b.Reason), cmp.Compare(b2i(a.Truncated), b2i(b.Truncated)))
	})
	c.r.Nets, c.r.FirstStep = len(c.nets), max(c.r.FirstStep, 0)
	return c.others()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// summary is the part of a row that a report counts.
type summary struct {
	ID        string `parquet:"id"`
	Variant   string `parquet:"variant,dict"`
	Result    string `parquet:"result,dict"`
	Reason    string `parquet:"reason,dict"`
	Truncated bool   `parquet:"truncated"`
	Length    int32  `parquet:"length"`
	Positions int32  `parquet:"positions"`
	Net       string `parquet:"net,dict"`
	Step      int64  `parquet:"step"`
}

func (c *checker) shard(l located) error {
	c.r.Shards++
	sh, err := openShard(c.s.fsys, c.s.path(l))
	if err == nil {
		err = readAll(sh.file, 64, func(m *summary) error {
			id, err := ParseID(m.ID)
			if err != nil {
				return damaged("%v", err)
			}
			c.count(id, m)
			return nil
		})
	}
	if err == nil && c.r.Deep {
		err = sh.games(c.s.codec, func(g *Game) error {
			if g.Variant != l.variant {
				return damaged("a game of %s lies in the folder of %s", g.Variant, l.variant)
			}
			return nil
		})
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		c.r.Shards-- // deleted meanwhile
		return nil
	}
	return c.damage(l, err)
}

// damage notes bad data; any other error stops the check.
func (c *checker) damage(l located, err error) error {
	if !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
		return err
	}
	c.r.Damaged = append(c.r.Damaged, Damage{Path: c.s.rel(c.s.path(l)), Bytes: l.size, Reason: reasonOf(err)})
	return nil
}

// journal reads a journal. One whose shard is there is the trace of a death between naming the shard and deleting the
// journal: its games have been counted.
func (c *checker) journal(l located, sealed bool) error {
	r, err := ReadJournal(c.s.fsys, c.s.path(l), c.s.codec)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	c.r.Journals++
	if err != nil {
		return c.damage(l, err)
	}
	for _, d := range r.Damage {
		d.Path = c.s.rel(c.s.path(l))
		c.r.Damaged = append(c.r.Damaged, d)
	}
	c.r.Torn += r.Torn
	if sealed {
		return nil
	}
	for _, g := range r.Games {
		c.count(g.ID, &summary{
			Variant: g.Variant, Result: g.Outcome.Result.String(), Reason: g.Outcome.Reason.String(), Truncated: g.Truncated,
			Length: int32(len(g.Plies)), Positions: int32(g.Positions()), Net: g.Net, Step: g.Step,
		})
	}
	return nil
}

func (c *checker) count(id ID, m *summary) {
	if _, ok := c.ids[id]; ok {
		c.r.Duplicates++
		return
	}
	c.ids[id] = struct{}{}
	c.r.Games++
	c.r.Plies += int64(m.Length)
	c.r.Positions += int64(m.Positions)
	c.nets[m.Net] = true
	if c.r.FirstStep < 0 || m.Step < c.r.FirstStep {
		c.r.FirstStep = m.Step
	}
	c.r.LastStep = max(c.r.LastStep, m.Step)
	key := ResultCount{Variant: m.Variant, Result: m.Result, Reason: m.Reason, Truncated: m.Truncated}
	n := c.results[key]
	if n == nil {
		n = &ResultCount{Variant: m.Variant, Result: m.Result, Reason: m.Reason, Truncated: m.Truncated}
		c.results[key] = n
	}
	n.Games++
	n.Plies += int64(m.Length)
}

// others lists unfinished files and what was put aside.
func (c *checker) others() error {
	err := filepath.WalkDir(c.s.dir, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !d.IsDir() && whole.Temporary(d.Name()) {
			c.r.Unfinished = append(c.r.Unfinished, c.s.rel(path))
		}
		return err
	})
	if err != nil {
		return err
	}
	aside, err := c.s.quarantined()
	if err != nil {
		return err
	}
	for _, rel := range aside {
		path := filepath.Join(c.s.dir, filepath.FromSlash(rel))
		size, err := sizeOf(c.s.fsys, path)
		if err != nil {
			return err
		}
		reason, err := readFile(c.s.fsys, path+reasonExt, 0)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		c.r.Quarantined = append(c.r.Quarantined, Damage{Path: rel, Bytes: size, Reason: strings.TrimSpace(string(reason))})
	}
	return nil
}

// Write prints the report for people.
func (r *Report) Write(w io.Writer) {
	fmt.Fprintf(w, "games       %d of %d plies (%.1f each), %d positions to train on, by %d nets of steps %d to %d\n",
		r.Games, r.Plies, float64(r.Plies)/float64(max(r.Games, 1)), r.Positions, r.Nets, r.FirstStep, r.LastStep)
	fmt.Fprintf(w, "files       %d shards and %d journals, %.1f MB\n", r.Shards, r.Journals, float64(r.Bytes)/(1<<20))
	several := len(r.Results) > 0 && r.Results[0].Variant != r.Results[len(r.Results)-1].Variant
	for _, n := range r.Results {
		how := n.Result + " by " + n.Reason
		if n.Result == rules.Ongoing.String() {
			how = "no result"
		}
		if n.Truncated {
			how += ", cut short"
		}
		if several {
			how += " (" + n.Variant + ")"
		}
		fmt.Fprintf(w, "  %-34s %8d  %5.1f %%  %6.1f plies\n", how, n.Games,
			100*float64(n.Games)/float64(r.Games), float64(n.Plies)/float64(n.Games))
	}
	if r.Duplicates > 0 {
		fmt.Fprintf(w, "duplicates  %d games are stored twice; they count once\n", r.Duplicates)
	}
	if r.Torn > 0 {
		fmt.Fprintf(w, "unfinished  %d bytes of a game that was being written; cut off at the next start\n", r.Torn)
	}
	for _, f := range r.Unfinished {
		fmt.Fprintf(w, "unfinished  %s; deleted when its worker starts again\n", f)
	}
	for _, d := range r.Quarantined {
		fmt.Fprintf(w, "put aside   %s: %s\n", d.Path, d.Reason)
	}
}
