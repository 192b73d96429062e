package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"kirin/dataset/whole"
	"kirin/network/train"
)

// loopState is what the loop itself must remember, beside the trainer's own
// state, to go on exactly: it is loop.json in each checkpoint.
type loopState struct {
	Step    int     `json:"step"`
	Samples int64   `json:"samples"`     // drawn so far
	Played  int64   `json:"positions"`   // of all games seen so far
	Games   int64   `json:"games"`       // seen so far
	CPU     float64 `json:"cpu_seconds"` // of play, training and storage so far, all starts together
	Random  []byte  `json:"random"`      // of the sampler
	Feed    []byte  `json:"feed"`        // what has been read of the games
	Window  []byte  `json:"window"`      // which games it holds, in order
}

// sealed is loop.json's frame: a flipped bit is noticed.
type sealed struct {
	State    json.RawMessage `json:"state"`
	Checksum uint32          `json:"crc32c"`
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func (r *runDir) checkpointDir(step int) string { return r.path("train", stepName(step)) }

// saveCheckpoint writes train/<step> whole and removes the oldest.
func (r *runDir) saveCheckpoint(t *train.Trainer, s loopState) error {
	state, err := json.Marshal(s)
	if err != nil {
		return err
	}
	loop, err := json.Marshal(sealed{state, crc32.Checksum(state, castagnoli)})
	if err != nil {
		return err
	}
	err = whole.WriteDir(r.checkpointDir(s.Step), func(dir string) error {
		if err := t.Save(dir); err != nil {
			return err
		}
		return whole.WriteFile(filepath.Join(dir, "loop.json"), loop)
	})
	if err != nil {
		return err
	}
	all, err := steps(r.path("train"), "")
	if err != nil {
		return err
	}
	for _, old := range all[:max(len(all)-r.cfg.Loop.KeepCheckpoints, 0)] {
		err = errors.Join(err, whole.RemoveDir(r.checkpointDir(old)))
	}
	return err
}

// checkpoints lists the steps of the checkpoints, from new to old. A checkpoint
// appears whole, so its folder is all there is to say that it exists.
func (r *runDir) checkpoints() ([]int, error) {
	all, err := steps(r.path("train"), "")
	slices.Reverse(all)
	return all, err
}

// damagedSuffix is added to the name of a checkpoint that cannot be read.
const damagedSuffix = ".damaged"

// putAside takes a damaged checkpoint out of the way.
func (r *runDir) putAside(step int) error {
	to := r.checkpointDir(step) + damagedSuffix
	if err := whole.RemoveDir(to); err != nil {
		return err
	}
	return os.Rename(r.checkpointDir(step), to)
}

// loadCheckpoint restores the trainer and the loop from train/<step>.
func (r *runDir) loadCheckpoint(t *train.Trainer, step int) (loopState, error) {
	s, err := r.readLoop(step)
	if err != nil {
		return s, err
	}
	return s, t.Load(r.checkpointDir(step))
}

// readLoop reads loop.json of train/<step>.
func (r *runDir) readLoop(step int) (loopState, error) {
	var s loopState
	file := filepath.Join(r.checkpointDir(step), "loop.json")
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return s, fmt.Errorf("%s is missing", file)
	}
	if err != nil {
		return s, err
	}
	var frame sealed
	if err := json.Unmarshal(b, &frame); err != nil {
		return s, fmt.Errorf("%s: damaged: it is no JSON", file)
	}
	if crc32.Checksum(frame.State, castagnoli) != frame.Checksum {
		return s, fmt.Errorf("%s: damaged: its checksum does not match", file)
	}
	if err := json.Unmarshal(frame.State, &s); err != nil {
		return s, fmt.Errorf("%s: damaged: %w", file, err)
	}
	if s.Step != step {
		return s, fmt.Errorf("%s: damaged: it is of step %d", file, s.Step)
	}
	return s, nil
}
