package match

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// journalVersion is the version of the journal's format.
const journalVersion = 1

// Header is the first line of a journal: what must be equal for a match to go on.
type Header struct {
	Version int    `json:"kirin_match"`
	Variant string `json:"variant"`
	Rules   string `json:"rules"`
	A       string `json:"a"`
	B       string `json:"b"`
	AKey    string `json:"a_key,omitempty"` // Entrant.Key
	BKey    string `json:"b_key,omitempty"`
	Seed    uint64 `json:"seed"`
	Opening string `json:"opening"` // openings and clock in words
}

// journal is a file of JSON lines, the first a header. A journal without a file keeps nothing.
type journal struct {
	what string // in errors
	file *os.File
}

// openJournal reads the games of a journal and leaves it ready for more. An empty path gives a journal that keeps nothing.
func openJournal(path string, h Header) (*journal, []*Game, error) {
	var games []*Game
	j, err := openLines("match", path, h, func(data []byte) (Header, error) {
		header, list, err := decodeJournal(data)
		games = list
		if header.AKey == "" && header.BKey == "" { // a journal from before there were keys
			header.AKey, header.BKey = h.AKey, h.BKey
		}
		return header, err
	})
	return j, games, err
}

// openLines opens a journal for more lines: a new one gets the header, the whole lines of an old one go to read, and its
// header must be the same.
func openLines[H comparable](what, path string, h H, read func(data []byte) (H, error)) (*journal, error) {
	j := &journal{what: what}
	if path == "" {
		return j, nil
	}
	var err error
	if j.file, err = os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644); err != nil {
		return nil, fmt.Errorf("%s journal: %w", what, err)
	}
	if err = takeUp(j, h, read); err != nil {
		j.file.Close()
		return nil, fmt.Errorf("%s journal %s: %w", what, path, err)
	}
	return j, nil
}

// takeUp reads an open journal and leaves it at its end, without the last line if an end has torn that. A file that is
// no journal, or another's, stays as it is.
func takeUp[H comparable](j *journal, h H, read func(data []byte) (H, error)) error {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return err
	}
	whole := bytes.LastIndexByte(data, '\n') + 1
	if whole == 0 {
		if first, err := json.Marshal(h); err != nil || !bytes.HasPrefix(first, data) {
			return errors.Join(errors.New("it is there already and no journal"), err)
		}
	} else if header, err := read(data[:whole]); err != nil {
		return err
	} else if header != h {
		return fmt.Errorf("it belongs to another %s: %s", j.what, differences(header, h))
	}
	if whole < len(data) {
		if err := j.file.Truncate(int64(whole)); err != nil {
			return fmt.Errorf("drop its torn last line: %w", err)
		}
	}
	if _, err := j.file.Seek(0, io.SeekEnd); err != nil {
		return err
	}
	if whole == 0 {
		return j.append(h)
	}
	return nil
}

// differences names the fields that differ between a journal's header and that of the match at hand.
func differences(header, h any) string {
	fields := func(x any) (m map[string]json.RawMessage) {
		text, _ := json.Marshal(x)
		json.Unmarshal(text, &m)
		return m
	}
	was, is := fields(header), fields(h)
	for key := range is {
		if _, ok := was[key]; !ok {
			was[key] = nil
		}
	}
	var parts []string
	for _, key := range slices.Sorted(maps.Keys(was)) {
		if !bytes.Equal(was[key], is[key]) {
			parts = append(parts, fmt.Sprintf("%s is %s there and %s here", key, cmp.Or(string(was[key]), "nothing"), cmp.Or(string(is[key]), "nothing")))
		}
	}
	return strings.Join(parts, "; ")
}

// ReadJournal reads a finished or running match's journal; a torn last line is passed over.
func ReadJournal(r io.Reader) (Header, []*Game, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return Header{}, nil, fmt.Errorf("match journal: %w", err)
	}
	return decodeJournal(data[:bytes.LastIndexByte(data, '\n')+1])
}

func decodeJournal(data []byte) (Header, []*Game, error) {
	var h Header
	var games []*Game
	number := 0
	for line := range bytes.Lines(data) {
		number++
		if number == 1 {
			if err := json.Unmarshal(line, &h); err != nil {
				return h, nil, fmt.Errorf("line 1: %w", err)
			}
			if h.Version != journalVersion {
				return h, nil, fmt.Errorf("line 1: no match journal of version %d", journalVersion)
			}
			continue
		}
		g := &Game{}
		if err := json.Unmarshal(line, g); err != nil {
			return h, nil, fmt.Errorf("line %d: %w", number, err)
		}
		if g.Pair < 0 || g.Pair > 1<<30 {
			return h, nil, fmt.Errorf("line %d: pair %d", number, g.Pair)
		}
		games = append(games, g)
	}
	if number == 0 {
		return h, nil, errors.New("empty")
	}
	return h, games, nil
}

// append writes one line and waits until it is on the disk.
func (j *journal) append(x any) error {
	if j.file == nil {
		return nil
	}
	line, err := json.Marshal(x)
	if err != nil {
		return fmt.Errorf("%s journal: %w", j.what, err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("%s journal: %w", j.what, err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("%s journal: %w", j.what, err)
	}
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
