package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// weights are the nets that a worker has fetched: files <sha256>.safetensors
// in a folder; <sha256>.part is a download that goes on where it was.
type weights struct {
	dir    string
	base   string
	client *http.Client
	header http.Header

	busy chan struct{} // holds a token while files come or go
	mu   sync.Mutex
	kept []string // sums that stay, the newest last
}

// Downloads: how long no byte may come, and how much there may be.
const (
	stall      = 20 * time.Second
	maxWeights = 2 << 30
	keepNets   = 2
)

const (
	netExt  = ".safetensors"
	partExt = ".part"
)

func (l *Link) openWeights() (*weights, error) {
	w := &weights{dir: filepath.Join(l.c.Dir, "weights"), busy: make(chan struct{}, 1)}
	var err error
	if w.base, err = l.webBase(); err != nil {
		return nil, err
	}
	if w.client, w.header, err = webClient(l.c); err != nil {
		return nil, err
	}
	return w, os.MkdirAll(w.dir, 0o755)
}

func (w *weights) path(sum string) string { return filepath.Join(w.dir, sum+netExt) }

// get returns the file of a net, fetching it when it is not there. It waits for
// another download no longer than ctx lives.
func (w *weights) get(ctx context.Context, sum string) (string, error) {
	select {
	case w.busy <- struct{}{}:
		defer func() { <-w.busy }()
	case <-ctx.Done():
		return "", fmt.Errorf("weights %.12s: %w", sum, ctx.Err())
	}
	path := w.path(sum)
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := w.download(ctx, sum); err != nil {
		return "", fmt.Errorf("weights %.12s: %w", sum, err)
	}
	return path, nil
}

func (w *weights) download(ctx context.Context, sum string) error {
	part := filepath.Join(w.dir, sum+partExt)
	f, err := os.OpenFile(part, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	hash := sha256.New()
	have, err := io.Copy(hash, f)
	if err != nil {
		return err
	}
	if err := w.continueAt(ctx, sum, have, io.MultiWriter(f, hash)); err != nil {
		return err
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != sum {
		return errors.Join(fmt.Errorf("what the trainer sent has the sha256 %.12s; it is fetched anew", got), os.Remove(part))
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(part, w.path(sum))
}

// continueAt fetches the bytes from an offset on.
func (w *weights) continueAt(ctx context.Context, sum string, from int64, dst io.Writer) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(stall, func() { cancel(fmt.Errorf("nothing has come for %v", stall)) })
	defer watchdog.Stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimSuffix(w.base, "/")+"/fleet/v1/weights/"+sum, nil)
	if err != nil {
		return err
	}
	r.Header = w.header.Clone()
	if from > 0 {
		r.Header.Set("Range", fmt.Sprintf("bytes=%d-", from))
	}
	a, err := w.client.Do(r)
	if err != nil {
		return errors.Join(err, context.Cause(ctx))
	}
	defer a.Body.Close()
	switch {
	case a.StatusCode == http.StatusRequestedRangeNotSatisfiable && from > 0:
		return nil // all of it was there; the hash decides
	case from > 0 && a.StatusCode != http.StatusPartialContent, from == 0 && a.StatusCode != http.StatusOK:
		return fmt.Errorf("the trainer answers %s", a.Status)
	}
	buf := make([]byte, 64<<10)
	for total := from; ; {
		n, err := a.Body.Read(buf)
		watchdog.Reset(stall)
		if total += int64(n); total > maxWeights {
			return fmt.Errorf("they have more than %d bytes", maxWeights)
		}
		if _, err := dst.Write(buf[:n]); err != nil {
			return err
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return errors.Join(err, context.Cause(ctx))
		}
	}
}

// keep notes the net in use and removes all but the last two.
func (w *weights) keep(sum string) {
	w.busy <- struct{}{}
	defer func() { <-w.busy }()
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.kept); n == 0 || w.kept[n-1] != sum {
		w.kept = append(w.kept, sum)
		w.kept = w.kept[max(0, len(w.kept)-keepNets):]
	}
	entries, err := os.ReadDir(w.dir)
	if err != nil || len(w.kept) < keepNets && len(entries) <= keepNets {
		return
	}
	for _, e := range entries {
		sum := strings.TrimSuffix(strings.TrimSuffix(e.Name(), netExt), partExt)
		stays := false
		for _, k := range w.kept {
			stays = stays || k == sum
		}
		if !stays && CheckSum(sum) == nil {
			if err := os.Remove(filepath.Join(w.dir, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return // in use on some systems; the next net tries again
			}
		}
	}
}
