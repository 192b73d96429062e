package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"kirin/dataset"
	"kirin/metrics"
	"kirin/network"
)

// brokenNets is a source whose nets cannot be read.
type brokenNets struct{ err error }

func (b *brokenNets) latest() (pointer, error)                  { return pointer{step: 7}, nil }
func (b *brokenNets) readNet(pointer) (*network.Weights, error) { return nil, b.err }

func TestANewNetThatCannotBeReadIsMentionedOnce(t *testing.T) {
	var said bytes.Buffer
	nets := &brokenNets{errors.New("its checksum does not match")}
	s := newNetServer(nets, nil, nil, nil, func(format string, a ...any) { fmt.Fprintf(&said, format+"\n", a...) })
	s.net, s.now = &network.Net{}, pointer{step: 5, sum: "five"}
	ask := func() {
		t.Helper()
		s.at = time.Time{}
		if n, p, err := s.take("five"); n != s.net || p.step != 5 || err != nil {
			t.Errorf("%v, %v", p, err)
		}
	}
	ask()
	ask()
	if want := "the net of step 5 stays in use: its checksum does not match\n"; said.String() != want {
		t.Errorf("%q", said.String())
	}
	nets.err = errors.New("it is empty")
	ask()
	if n := strings.Count(said.String(), "\n"); n != 2 {
		t.Errorf("%q", said.String())
	}
}

// fullFS has no room for folders while it is full.
type fullFS struct {
	dataset.FS
	full bool
}

func (f *fullFS) MkdirAll(path string) error {
	if f.full {
		return syscall.ENOSPC
	}
	return f.FS.MkdirAll(path)
}

func TestAPlayerWaitsForRoomAlsoWhenItOpensItsJournal(t *testing.T) {
	fsys := &fullFS{FS: dataset.OS()}
	o := dataset.DefaultOptions()
	o.FS = fsys
	store, err := dataset.OpenStore(t.TempDir(), o)
	if err != nil {
		t.Fatal(err)
	}
	m := metrics.New()
	f := folders(store, m)("w00").(*folder)
	fsys.full = true
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.append(stopped, &dataset.Game{Net: "a"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("%v", err)
	}
	if waits := m.Waits(); len(waits) != 1 || waits[0].Part != "w00" {
		t.Errorf("%+v", waits)
	}
}
