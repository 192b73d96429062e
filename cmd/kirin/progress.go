package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

// progress shows one line about a long job on stderr: rewritten in place on a
// terminal, a new line now and then elsewhere. Each line may begin with a name.
type progress struct {
	*screen
	name string
}

// screen is where the lines go.
type screen struct {
	mu       sync.Mutex
	w        io.Writer
	terminal bool
	every    time.Duration // between two lines when not on a terminal
	last     time.Time
	width    int // of the line on the terminal
}

func newProgress(w io.Writer) *progress {
	p := &progress{screen: &screen{w: w, every: 30 * time.Second}}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.terminal = true
	}
	return p
}

// named is the same screen for a part of the job: its lines begin with a name.
func (p *progress) named(name string) *progress { return &progress{p.screen, p.name + name} }

// show offers a new state of the line.
func (p *progress) show(line string) {
	line = p.name + line
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal {
		if f, ok := p.w.(*os.File); ok {
			if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 1 && len(line) > w-1 {
				line = line[:w-1]
			}
		}
		pad := max(p.width-len(line), 0)
		fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", pad))
		p.width = len(line)
		return
	}
	if now := time.Now(); now.Sub(p.last) >= p.every {
		p.last = now
		fmt.Fprintln(p.w, line)
	}
}

// say prints a line that stays.
func (p *progress) say(format string, a ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.width > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", p.width))
		p.width = 0
	}
	fmt.Fprintf(p.w, "%s"+format+"\n", append([]any{p.name}, a...)...)
}

// count writes a number with a unit prefix: 950, 12.3k, 4.56M.
func count(n float64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2fG", n/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2fM", n/1e6)
	case n >= 1e4:
		return fmt.Sprintf("%.1fk", n/1e3)
	}
	return fmt.Sprintf("%.0f", n)
}

// span writes a duration as a person would: 42s, 7m05s, 3h12m.
func span(d time.Duration) string {
	d = d.Round(time.Second)
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%ds", int(d.Seconds()))
}

// finish leaves the last state of the line standing.
func (p *progress) finish() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.terminal && p.width > 0 {
		fmt.Fprintln(p.w)
		p.width = 0
	}
}
