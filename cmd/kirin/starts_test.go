package main

import (
	"path/filepath"
	"testing"

	"kirin/dataset"
)

func TestGamesStartFromSidePositionsOfEarlierOnes(t *testing.T) {
	for _, schedule := range []string{"free", "lockstep"} {
		dir := filepath.Join(t.TempDir(), schedule)
		mustRun(t, tiny(dir, "--set", "schedule="+schedule, "--set", "selfplay.side_share=0.5", "--steps", "40")...)
		r, err := openRun(dir)
		if err != nil {
			t.Fatal(err)
		}
		store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
		if err != nil {
			t.Fatal(err)
		}
		usual, n, all := r.variant.Start().SFEN(), 0, 0
		for g, err := range store.All() {
			if err != nil {
				t.Fatal(err)
			}
			all++
			if g.Start != usual {
				n++
			}
		}
		if n == 0 || n == all {
			t.Errorf("%s: %d of %d games start elsewhere", schedule, n, all)
		}
	}
}
