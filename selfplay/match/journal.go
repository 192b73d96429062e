package match

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
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
	Seed    uint64 `json:"seed"`
	Opening string `json:"opening"` // openings and clock in words
}

// journal is the file of a match's games. A journal without a file keeps nothing.
type journal struct {
	file *os.File
}

// openJournal reads the games of a journal and leaves it ready for more. An empty path gives a journal that keeps nothing.
func openJournal(path string, h Header) (*journal, []*Game, error) {
	if path == "" {
		return &journal{}, nil, nil
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("match journal: %w", err)
	}
	j := &journal{file: file}
	games, err := j.load(path, h)
	if err != nil {
		file.Close()
		return nil, nil, err
	}
	return j, games, nil
}

func (j *journal) load(path string, h Header) ([]*Game, error) {
	data, err := io.ReadAll(j.file)
	if err != nil {
		return nil, fmt.Errorf("match journal: %w", err)
	}
	whole := bytes.LastIndexByte(data, '\n') + 1 // what follows was torn by an end
	if whole < len(data) {
		if err := j.file.Truncate(int64(whole)); err != nil {
			return nil, fmt.Errorf("match journal %s: drop its torn last line: %w", path, err)
		}
		data = data[:whole]
	}
	if _, err := j.file.Seek(0, io.SeekEnd); err != nil {
		return nil, fmt.Errorf("match journal: %w", err)
	}
	if len(data) == 0 {
		return nil, j.append(h)
	}
	header, games, err := decodeJournal(data)
	if err != nil {
		return nil, fmt.Errorf("match journal %s: %w", path, err)
	}
	if header != h {
		was, _ := json.Marshal(header)
		is, _ := json.Marshal(h)
		return nil, fmt.Errorf("match journal %s belongs to another match: it has %s, this one %s", path, was, is)
	}
	return games, nil
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
		return fmt.Errorf("match journal: %w", err)
	}
	if _, err := j.file.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("match journal: %w", err)
	}
	if err := j.file.Sync(); err != nil {
		return fmt.Errorf("match journal: %w", err)
	}
	return nil
}

func (j *journal) close() error {
	if j.file == nil {
		return nil
	}
	return j.file.Close()
}
