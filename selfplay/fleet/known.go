package fleet

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"kirin/dataset"
)

// netKey names the games of one net.
type netKey struct {
	net  string
	step int64
}

// known tells which games are stored, net by net: the ids of a net's games are
// read from the store when its first game arrives, and forgotten when no game
// of it has come for long.
type known struct {
	store   *dataset.Store
	variant string
	nets    map[netKey]*knownNet
	clock   int64
}

type knownNet struct {
	ids  map[dataset.ID]struct{} // stored, in shards or in journals
	used int64
}

// maxKnown is the number of nets whose games are kept in memory.
const maxKnown = 24

func newKnown(s *dataset.Store, variant string) *known {
	return &known{store: s, variant: variant, nets: map[netKey]*knownNet{}}
}

// of returns the ids of a net's games.
func (k *known) of(n netKey) (map[dataset.ID]struct{}, error) {
	k.clock++
	if e := k.nets[n]; e != nil {
		e.used = k.clock
		return e.ids, nil
	}
	ids, err := k.store.IDsOf(k.variant, n.net, n.step)
	if err != nil {
		return nil, err
	}
	if len(k.nets) >= maxKnown {
		var oldest netKey
		least := k.clock
		for key, e := range k.nets {
			if e.used < least {
				oldest, least = key, e.used
			}
		}
		delete(k.nets, oldest)
	}
	k.nets[n] = &knownNet{ids: ids, used: k.clock}
	return ids, nil
}

// Nets is the list of nets that a run has published: a file with a line for
// each, step and sha256. Games of other nets are refused. It may be used from
// several goroutines.
type Nets struct {
	file string

	mu   sync.Mutex
	step map[string]int64
}

// OpenNets reads the list in a run's fleet folder; there need not be one.
func OpenNets(dir string) (*Nets, error) {
	n := &Nets{file: filepath.Join(dir, "nets"), step: map[string]int64{}}
	f, err := os.Open(n.file)
	if errors.Is(err, fs.ErrNotExist) {
		return n, os.MkdirAll(dir, 0o755)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var step int64
		var sum string
		if _, err := fmt.Sscanf(lines.Text(), "%d %s", &step, &sum); err == nil && CheckSum(sum) == nil {
			n.step[sum] = step
		}
	}
	return n, lines.Err()
}

// Add notes a net that is about to be published.
func (n *Nets) Add(sum string, step int64) error {
	if err := CheckSum(sum); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if old, ok := n.step[sum]; ok && old == step {
		return nil
	}
	f, err := os.OpenFile(n.file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	// The line break in front ends what a sudden death may have left.
	_, err = fmt.Fprintf(f, "\n%d %s\n", step, sum)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	n.step[sum] = step
	return nil
}

// Has tells whether the run has published a net at a step.
func (n *Nets) Has(sum string, step int64) bool {
	got, ok := n.Step(sum)
	return ok && got == step
}

// Step returns the step at which a net was published.
func (n *Nets) Step(sum string) (int64, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	step, ok := n.step[sum]
	return step, ok
}

// CheckSum tells whether a text is a SHA-256 in hex.
func CheckSum(sum string) error {
	if len(sum) != 64 || strings.Trim(sum, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is not a sha256 in hexadecimal digits", sum)
	}
	return nil
}
