package dataset

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
)

// Feed finds finished games for a trainer, each once: in shards, and in the journals of workers that are still playing,
// so that a game arrives with the next Poll after it is stored. Within one Poll the order is fixed: shards by training
// step, sequence and worker, then journals by sequence and worker. Names decide, never file times. Not for concurrent
// use.
type Feed struct {
	s       *Store
	ordered bool

	workers map[workerKey]*progress
	open    map[unit]*openJournal // journals read in part
	pending []located             // shards found but not read yet
	listing []located             // journals at the last Poll
	polls   int

	next int64           // ordered: number of the next game
	held map[int64]*Game // ordered: games that came too early
}

type workerKey struct{ variant, worker string }

// progress tells which of a worker's units have been read to their end.
type progress struct {
	upTo  int64          // all up to this one
	extra map[int64]bool // and these
}

func (p *progress) has(seq int64) bool { return seq <= p.upTo || p.extra[seq] }

func (p *progress) add(seq int64) {
	if p.has(seq) {
		return
	}
	p.extra[seq] = true
	for p.extra[p.upTo+1] {
		p.upTo++
		delete(p.extra, p.upTo)
	}
}

type openJournal struct {
	offset int64
	seen   map[ID]struct{}
}

// Feed returns a feed that starts with the oldest game.
func (s *Store) Feed() *Feed {
	return &Feed{s: s, workers: map[workerKey]*progress{}, open: map[unit]*openJournal{}}
}

// OrderedFeed returns a feed that gives the games in the order of their numbers, without gaps, from next on. A game that
// comes early is held back.
func (s *Store) OrderedFeed(next int64) *Feed {
	f := s.Feed()
	f.ordered, f.next, f.held = true, next, map[int64]*Game{}
	return f
}

// Next returns the number for which an ordered feed waits.
func (f *Feed) Next() int64 { return f.next }

// Batch is what one Poll found.
type Batch struct {
	Games []*Game
	// More: there are more games already; Poll again at once.
	More bool
}

// rescan is the number of polls after which all folders are listed again even if the journals tell of nothing new.
const rescan = 16

// Poll returns new games, about max of them at most: the last shard is read to its end. Bad shards are put aside and
// reported to Options.OnDamage. After an error the games returned with it count as given.
func (f *Feed) Poll(max int) (Batch, error) {
	var b Batch
	journals, err := f.s.journals()
	if err != nil {
		return b, fmt.Errorf("games folder: %w", err)
	}
	if f.polls%rescan == 0 || len(journals) == 0 || !slices.EqualFunc(journals, f.listing, func(x, y located) bool { return x.unit == y.unit }) {
		if err := f.find(); err != nil {
			return b, fmt.Errorf("games folder: %w", err)
		}
	}
	f.polls++
	f.listing = journals
	for len(f.pending) > 0 && len(b.Games) < max {
		l := f.pending[0]
		if err := f.readShard(l, &b); err != nil {
			return b, f.s.at(l, err)
		}
		f.pending = f.pending[1:]
	}
	for i := 0; i < len(journals) && len(f.pending) == 0 && len(b.Games) < max; i++ {
		if err := f.readJournal(journals[i], &b); err != nil {
			return b, f.s.at(journals[i], err)
		}
	}
	b.More = len(b.Games) >= max
	return b, nil
}

// find lists the shards that have not been read.
func (f *Feed) find() error {
	shards, err := f.s.shards()
	if err != nil {
		return err
	}
	f.pending = slices.DeleteFunc(shards, func(l located) bool { return f.done(l.unit) })
	return nil
}

func (f *Feed) progress(u unit) *progress {
	key := workerKey{u.variant, u.worker}
	p := f.workers[key]
	if p == nil {
		p = &progress{extra: map[int64]bool{}}
		f.workers[key] = p
	}
	return p
}

func (f *Feed) done(u unit) bool { return f.progress(u).has(u.seq) }

func (f *Feed) finish(u unit) {
	f.progress(u).add(u.seq)
	delete(f.open, u)
}

// readShard gives the games of a shard but those that came from its journal before.
func (f *Feed) readShard(l located, b *Batch) error {
	if f.done(l.unit) {
		return nil
	}
	games, err := f.newGames(l)
	switch {
	case errors.Is(err, fs.ErrNotExist): // deleted since it was listed
		return nil
	case errors.Is(err, ErrDamaged):
		return f.s.quarantineShard(l, err)
	case err != nil:
		return err
	}
	for _, g := range games {
		f.give(g, b)
	}
	f.finish(l.unit)
	return nil
}

func (f *Feed) newGames(l located) (games []*Game, err error) {
	if f.ordered {
		numbers, err := f.s.shardNumbers(l)
		if err != nil || !slices.ContainsFunc(numbers, func(n int64) bool { return n >= f.next }) {
			return nil, err
		}
	}
	sh, err := openShard(f.s.fsys, f.s.path(l))
	if err != nil {
		return nil, err
	}
	open := f.open[l.unit]
	err = sh.games(f.s.codec, func(g *Game) error {
		if open != nil {
			if _, ok := open.seen[g.ID]; ok {
				return nil
			}
		}
		games = append(games, g)
		return nil
	})
	return games, err
}

// readJournal gives the games that were added to a journal since the last time. What is damaged in it is left to the
// worker, who reports it when the journal is sealed.
func (f *Feed) readJournal(l located, b *Batch) error {
	if f.done(l.unit) {
		return nil
	}
	o := f.open[l.unit]
	if o == nil {
		o = &openJournal{seen: map[ID]struct{}{}}
		f.open[l.unit] = o
	}
	if o.offset > l.size { // an append that failed was undone
		o.offset = 0
	}
	data, err := readFile(f.s.fsys, f.s.path(l), o.offset)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // sealed since it was listed: the next Poll finds the shard
	}
	if err != nil {
		return err
	}
	r := &Replay{End: o.offset}
	if err := r.scan(data, f.s.codec); err != nil {
		return err
	}
	o.offset = r.End
	for _, g := range r.Games {
		if _, ok := o.seen[g.ID]; !ok {
			o.seen[g.ID] = struct{}{}
			f.give(g, b)
		}
	}
	return nil
}

// give hands a game out, at once or when its number comes.
func (f *Feed) give(g *Game, b *Batch) {
	if !f.ordered {
		b.Games = append(b.Games, g)
		return
	}
	if g.Number < f.next || f.held[g.Number] != nil {
		return
	}
	f.held[g.Number] = g
	for f.held[f.next] != nil {
		b.Games = append(b.Games, f.held[f.next])
		delete(f.held, f.next)
		f.next++
	}
}

// feedState is what State writes.
type feedState struct {
	Ordered bool          `json:"ordered,omitempty"`
	Next    int64         `json:"next,omitempty"`
	Workers []workerState `json:"workers,omitempty"`
	Open    []openState   `json:"open,omitempty"`
}

type workerState struct {
	Variant string  `json:"variant"`
	Worker  string  `json:"worker"`
	UpTo    int64   `json:"up_to"`
	Extra   []int64 `json:"extra,omitempty"`
}

type openState struct {
	Variant string `json:"variant"`
	Worker  string `json:"worker"`
	Seq     int64  `json:"seq"`
	Seen    []ID   `json:"seen"`
}

// State returns which games have been given, for Restore. It belongs to the same moment as the window's cursor.
func (f *Feed) State() []byte {
	st := feedState{Ordered: f.ordered, Next: f.next}
	if !f.ordered { // an ordered feed starts from its number alone: held games were not given
		for key, p := range f.workers {
			st.Workers = append(st.Workers, workerState{key.variant, key.worker, p.upTo, slices.Sorted(maps.Keys(p.extra))})
		}
		slices.SortFunc(st.Workers, func(a, b workerState) int {
			return cmp.Or(cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Worker, b.Worker))
		})
		for u, o := range f.open {
			seen := slices.SortedFunc(maps.Keys(o.seen), func(a, b ID) int { return slices.Compare(a[:], b[:]) })
			st.Open = append(st.Open, openState{u.variant, u.worker, u.seq, seen})
		}
		slices.SortFunc(st.Open, func(a, b openState) int {
			return cmp.Or(cmp.Compare(a.Variant, b.Variant), cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Seq, b.Seq))
		})
	}
	return sealState(stateFeed, st)
}

// Restore continues where State was taken. An error wraps ErrDamaged.
func (f *Feed) Restore(state []byte) error {
	var st feedState
	if err := unsealState(stateFeed, state, &st); err != nil {
		return err
	}
	if st.Ordered != f.ordered {
		return fmt.Errorf("the state of an ordered feed (%v) does not fit this feed (%v)", st.Ordered, f.ordered)
	}
	fresh := f.s.Feed()
	fresh.ordered, fresh.next = f.ordered, st.Next
	if f.ordered {
		fresh.held = map[int64]*Game{}
	}
	for _, w := range st.Workers {
		p := fresh.progress(unit{variant: w.Variant, worker: w.Worker})
		p.upTo = w.UpTo
		for _, seq := range w.Extra {
			p.extra[seq] = true
		}
	}
	for _, o := range st.Open {
		open := &openJournal{seen: map[ID]struct{}{}}
		for _, id := range o.Seen {
			open.seen[id] = struct{}{}
		}
		fresh.open[unit{o.Variant, o.Worker, o.Seq}] = open
	}
	*f = *fresh
	return nil
}
