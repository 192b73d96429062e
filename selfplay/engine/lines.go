package engine

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"sync"
)

// longestInput bounds one line of input: longer ones lose their rest. A game of 10,000 moves fits.
const longestInput = 128 << 10

// readInput sends the lines of r, in order, until r ends or done is closed, then closes the channel. Bytes that are no
// text are passed on; whoever reads the line finds no command in it.
func readInput(r io.Reader, done <-chan struct{}) <-chan string {
	lines := make(chan string, 16)
	go func() {
		defer close(lines)
		in := bufio.NewReaderSize(r, longestInput)
		for {
			line, err := in.ReadSlice('\n')
			text := strings.TrimRight(string(line), "\r\n")
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
			if len(line) > 0 {
				select {
				case lines <- text:
				case <-done:
					return
				}
			}
			if err != nil {
				return
			}
		}
	}()
	return lines
}

// output writes whole lines, from several goroutines.
type output struct {
	mu sync.Mutex
	w  io.Writer
	b  []byte
	// err is the first error; after it nothing is written any more.
	err error
}

// line writes one line.
func (o *output) line(s string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.b = append(append(o.b[:0], s...), '\n')
	_, o.err = o.w.Write(o.b)
}

// failure returns the first error.
func (o *output) failure() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
