package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"kirin/dataset/whole"
	"kirin/selfplay"
)

// starts opens the start positions of the run's games. A file of them is copied
// into the run's folder when the run begins, so that the run does not change with
// it.
func (r *runDir) starts() (*selfplay.Starts, error) {
	o := r.cfg.Selfplay.Options
	if o.StartShare > 0 {
		kept := r.path("starts.sfen")
		if _, err := os.Stat(kept); errors.Is(err, fs.ErrNotExist) {
			if _, err := selfplay.NewStarts(r.variant, o); err != nil {
				return nil, fmt.Errorf("selfplay.%w", err)
			}
			text, err := os.ReadFile(o.StartFile)
			if err != nil {
				return nil, fmt.Errorf("selfplay.start_file: %w", err)
			}
			if err := whole.WriteFile(kept, text); err != nil {
				return nil, err
			}
		}
		o.StartFile = kept
	}
	s, err := selfplay.NewStarts(r.variant, o)
	if err != nil {
		return nil, fmt.Errorf("selfplay.%w", err)
	}
	return s, nil
}

// recall adds the stored games before the next one to be read, so that a run that
// was interrupted chooses as one that was not.
func (l *learner) recall(s *selfplay.Starts) error {
	if l.run.cfg.Selfplay.SideShare == 0 {
		return nil
	}
	feed := l.store.OrderedFeed(max(l.state.Games-selfplay.SideGames, 0))
	for {
		batch, err := feed.Poll(pollGames)
		if err != nil {
			return err
		}
		if len(batch.Games) == 0 {
			return nil
		}
		for _, g := range batch.Games {
			if g.Number >= l.state.Games {
				return nil
			}
			s.Add(g)
		}
	}
}
