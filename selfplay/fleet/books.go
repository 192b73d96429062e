package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"kirin/dataset"
	"kirin/metrics"
)

// book is where the games of one net are written.
type book struct {
	*dataset.Writer
	letter int
	open   []*openGame
	used   time.Time
}

// openGame is in a journal and waits for its shard.
type openGame struct {
	id      dataset.ID
	replies []string // to acknowledge, one for each delivery
	at      time.Time
}

const (
	maxBooks  = 20
	idleBook  = 2 * time.Minute
	retryWait = 500 * time.Millisecond
)

// bookOf opens the book of a net.
func (in *Intake) bookOf(n netKey) (*book, error) {
	if b := in.books[n]; b != nil {
		b.used = time.Now()
		return b, nil
	}
	if len(in.books) >= maxBooks {
		var oldest netKey
		for k, b := range in.books {
			if in.books[oldest] == nil || b.used.Before(in.books[oldest].used) {
				oldest = k
			}
		}
		if err := in.closeBook(oldest); err != nil {
			return nil, err
		}
	}
	var taken [26]bool
	for _, b := range in.books {
		taken[b.letter] = true
	}
	letter := slices.Index(taken[:], false)
	w, err := in.c.Store.Writer(fmt.Sprintf("fleet-%c", 'a'+letter))
	if err != nil {
		return nil, err
	}
	b := &book{Writer: w, letter: letter, used: time.Now()}
	in.books[n] = b
	return b, nil
}

// store writes the games of one net, and waits while there is no room: a game
// is not given up, and not acknowledged either.
func (in *Intake) store(ctx context.Context, n netKey, batch []*message) error {
	seal := max(in.c.Seal.SealGames, 1)
	for len(batch) > 0 {
		part := batch[:min(seal, len(batch))]
		batch = batch[len(part):]
		if err := in.patiently(ctx, func() error { return in.write(n, part, len(part) == seal) }); err != nil {
			return ignoreEnd(ctx, err)
		}
	}
	return nil
}

// write stores some games: as a shard when there are enough for one, else in
// the journal. After an error nothing of them is known and the call may be
// repeated.
func (in *Intake) write(n netKey, batch []*message, whole bool) error {
	b, err := in.bookOf(n)
	if err != nil {
		return err
	}
	ids, err := in.known.of(n)
	if err != nil {
		return err
	}
	games, records := make([]*dataset.Game, len(batch)), make([][]byte, len(batch))
	for i, m := range batch {
		games[i], records[i] = m.game, m.data
	}
	if whole {
		err = b.AppendShard(games)
	} else {
		err = b.AppendRecords(games, records)
	}
	if err != nil {
		in.settle(b)
		return err
	}
	newest := in.news.step()
	for _, m := range batch {
		ids[m.game.ID] = struct{}{}
		o := &openGame{id: m.game.ID, replies: append(m.also, m.reply), at: m.at}
		in.open[o.id] = o
		b.open = append(b.open, o)
		in.roster.stored(m.key, m.game, newest)
	}
	in.settle(b)
	return nil
}

// settle acknowledges the games of a book when all of them are in shards.
func (in *Intake) settle(b *book) {
	if b.Open() > 0 {
		return
	}
	now := time.Now()
	for _, o := range b.open {
		for _, r := range o.replies {
			in.ack(r)
		}
		delete(in.open, o.id)
		in.c.Metrics.FleetStored(now.Sub(o.at))
	}
	b.open = b.open[:0]
}

// patiently repeats what fails for lack of room.
func (in *Intake) patiently(ctx context.Context, f func() error) error {
	waited := false
	for {
		err := f()
		if err == nil {
			if waited {
				in.c.Metrics.Working(part)
			}
			return nil
		}
		if in.c.Patient == nil || !in.c.Patient(err) {
			return err
		}
		waited = true
		in.c.Metrics.Wait(part, metrics.WaitDiskFull, err.Error())
		if !pause(ctx, retryWait) {
			return err
		}
	}
}

// tickBooks seals journals that are old enough and closes idle books.
func (in *Intake) tickBooks(ctx context.Context) error {
	for n, b := range in.books {
		err := in.patiently(ctx, b.Tick)
		if err != nil {
			return ignoreEnd(ctx, err)
		}
		in.settle(b)
		if len(b.open) == 0 && time.Since(b.used) > idleBook {
			if err := in.closeBook(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// relieve seals the largest journals while so many games are open that the
// queue would soon give no more.
func (in *Intake) relieve(ctx context.Context) error {
	for len(in.open) > in.c.Options.MaxOpen-in.c.Options.Batch {
		var largest *book
		for _, b := range in.books {
			if largest == nil || len(b.open) > len(largest.open) {
				largest = b
			}
		}
		if largest == nil || len(largest.open) == 0 {
			return nil
		}
		if err := in.patiently(ctx, largest.Flush); err != nil {
			return ignoreEnd(ctx, err)
		}
		in.settle(largest)
	}
	return nil
}

func (in *Intake) closeBook(n netKey) error {
	b := in.books[n]
	err := b.Flush()
	in.settle(b)
	if err != nil {
		return err
	}
	delete(in.books, n)
	return b.Close()
}

// closeBooks ends all books. What cannot be sealed stays in its journal and is
// not acknowledged.
func (in *Intake) closeBooks() error {
	var errs []error
	for n, b := range in.books {
		if err := in.closeBook(n); err != nil {
			errs = append(errs, err, b.Close())
		}
	}
	in.nc.FlushTimeout(2 * time.Second)
	return errors.Join(errs...)
}
