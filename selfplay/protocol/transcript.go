package protocol

import (
	"strings"
	"sync"
)

// transcriptLines is how many lines of a conversation are kept.
const transcriptLines = 200

// transcript is a ring of the last lines of a conversation. Safe for concurrent use.
type transcript struct {
	mu    sync.Mutex
	lines []string
	next  int
}

// add keeps a line; mark is '>' for sent, '<' for received, '!' for the program's error output, '#' for notes.
func (t *transcript) add(mark byte, line string) {
	const longest = 400
	if len(line) > longest {
		line = line[:longest] + " ..."
	}
	line = string(mark) + " " + strings.ToValidUTF8(line, "?")
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lines) < transcriptLines {
		t.lines = append(t.lines, line)
		return
	}
	t.lines[t.next] = line
	t.next = (t.next + 1) % transcriptLines
}

// all returns the kept lines, oldest first.
func (t *transcript) all() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]string, 0, len(t.lines))
	out = append(out, t.lines[t.next:]...)
	return append(out, t.lines[:t.next]...)
}
