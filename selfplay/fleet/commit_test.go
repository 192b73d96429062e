package fleet

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"kirin/dataset"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// sender is a connection like a worker's, for the length of the test.
func (x *trainer) sender() jetstream.JetStream {
	x.t.Helper()
	nc, err := nats.Connect("nats://" + x.queue)
	if err != nil {
		x.t.Fatal(err)
	}
	x.t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		x.t.Fatal(err)
	}
	return js
}

func TestGamesOfManyWorkersAreStoredTogetherAndAnsweredOneByOne(t *testing.T) {
	x := newTrainer(t)
	x.seal.SealGames, x.seal.SealAfter = 1000, 10*time.Minute // they stay in the queue until the end
	x.start()
	const workers, each = 12, 8
	var mu sync.Mutex
	seqs := map[uint64]bool{}
	var all []*dataset.Game
	var wg sync.WaitGroup
	for i := range workers {
		name := string(rune('a' + i))
		games := x.games(name, each)
		all = append(all, games...)
		js := x.sender()
		for _, g := range games {
			m := &nats.Msg{Subject: Names{DefaultQueue}.games(name), Data: x.record(g)}
			wg.Go(func() {
				// An id that all share must not make them duplicates of each other.
				ack, err := js.PublishMsg(t.Context(), m, jetstream.WithMsgID("mine"))
				mu.Lock()
				defer mu.Unlock()
				if err != nil || ack.Duplicate || seqs[ack.Sequence] {
					t.Errorf("%s: %+v, %v", name, ack, err)
					return
				}
				seqs[ack.Sequence] = true
			})
		}
	}
	wg.Wait()
	batched, ids := 0, map[string]bool{}
	for seq := range seqs {
		m, err := x.intake.stream.GetMsg(t.Context(), seq)
		if err != nil {
			t.Fatal(err)
		}
		if id := m.Header.Get(headerBatch); id != "" {
			batched++
			ids[id] = true
		}
	}
	if batched < 2 || len(ids) > batched/2 {
		t.Errorf("of %d games %d were stored in %d batches", len(seqs), batched, len(ids))
	}
	x.stop()
	x.waitFor(all)
}

func TestAQueueThatDoesNotAnswerIsSaidSo(t *testing.T) {
	x := newTrainer(t)
	x.start()
	defer x.stop()
	js := x.sender()
	record := x.record(x.play("a", 1))
	for range 20 { // the stream may be made anew before a game comes
		if err := x.intake.js.DeleteStream(t.Context(), x.intake.c.Names.stream()); err != nil && !errors.Is(err, jetstream.ErrStreamNotFound) {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		refused := make(chan error, 20)
		for range cap(refused) {
			wg.Go(func() {
				_, err := js.PublishMsg(t.Context(), &nats.Msg{Subject: x.intake.c.Names.games("a"), Data: record}, jetstream.WithRetryAttempts(0))
				refused <- err
			})
		}
		wg.Wait()
		close(refused)
		said := 0
		for err := range refused {
			var api *jetstream.APIError
			if errors.As(err, &api) && api.Code == 503 && strings.Contains(err.Error(), "the queue does not answer") {
				said++
			} else if err != nil {
				t.Error(err)
			}
		}
		if said > 0 || t.Failed() {
			return
		}
	}
	t.Error("every game was taken by a stream that had been deleted")
}
