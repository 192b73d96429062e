package engine

import (
	"context"
	"io"
	"strings"
)

// Serve waits for the first line that tells the client's language, "usi" or "xboard", and serves it. "quit" and the end
// of the input end it. in is read to its end by a goroutine that outlives the call if in blocks.
func Serve(ctx context.Context, in io.Reader, out io.Writer, c Config) error {
	if err := c.Validate(); err != nil {
		return err
	}
	done := make(chan struct{})
	defer close(done)
	lines := readInput(in, done)
	o := &output{w: out}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, ok := <-lines:
			switch word := strings.TrimSpace(line); {
			case !ok || word == "quit":
				return nil
			case word == "usi":
				return serveUSI(ctx, lines, o, c, line)
			case word == "xboard":
				return serveCECP(ctx, lines, o, c)
			}
		}
	}
}
