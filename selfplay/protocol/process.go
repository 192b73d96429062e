package protocol

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

// ErrExited says that the program ended by itself.
var ErrExited = errors.New("the program has ended")

const (
	longestLine  = 64 << 10 // bytes of one received line; the rest of a longer one is dropped
	queuedLines  = 1024     // received lines that wait for a reader before the program is made to wait
	queuedWrites = 4096     // lines sent and not yet taken by the program
	closeGrace   = time.Second
)

// process is one running program: lines out, lines in, its own process group.
type process struct {
	cmd    *exec.Cmd
	log    *transcript
	group  group
	stdin  io.WriteCloser
	pipes  []io.Closer
	out    chan string
	lines  chan string
	done   chan struct{} // closed by close: every goroutine leaves
	exited chan struct{} // closed when the program has been waited for
	err    error         // of Wait; valid once exited is closed
	once   sync.Once
	busy   sync.WaitGroup
}

// startProcess runs argv. The program's error output goes to the transcript.
func startProcess(argv []string, log *transcript) (*process, error) {
	path, err := lookProgram(argv[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(path, argv[1:]...)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p := &process{
		cmd: cmd, log: log, stdin: stdin, pipes: []io.Closer{stdout, stderr},
		out: make(chan string, queuedWrites), lines: make(chan string, queuedLines),
		done: make(chan struct{}), exited: make(chan struct{}),
	}
	p.group.prepare(cmd)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", argv[0], err)
	}
	p.group.started(cmd)

	var readers sync.WaitGroup
	readers.Add(2)
	p.busy.Add(4)
	go func() {
		defer p.busy.Done()
		defer readers.Done()
		defer close(p.lines)
		readLines(stdout, func(line string) bool {
			log.add('<', line)
			select {
			case p.lines <- line:
				return true
			case <-p.done:
				return false
			}
		})
	}()
	go func() {
		defer p.busy.Done()
		defer readers.Done()
		readLines(stderr, func(line string) bool {
			log.add('!', line)
			return true
		})
	}()
	go func() {
		defer p.busy.Done()
		p.write()
	}()
	go func() {
		defer p.busy.Done()
		readers.Wait() // Wait closes the pipes, so all must have been read
		p.err = cmd.Wait()
		close(p.exited)
	}()
	return p, nil
}

// write hands the queued lines to the program; a program that does not read holds up this goroutine only.
func (p *process) write() {
	defer p.stdin.Close()
	for {
		select {
		case line := <-p.out:
			if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
				return
			}
		case <-p.done:
			for { // what was queued before the end, such as quit, still goes out
				select {
				case line := <-p.out:
					if _, err := io.WriteString(p.stdin, line+"\n"); err != nil {
						return
					}
				default:
					return
				}
			}
		case <-p.exited:
			return
		}
	}
}

// send queues a line. It does not wait for the program.
func (p *process) send(line string) error {
	select {
	case <-p.exited:
		return p.exitError()
	default:
	}
	select {
	case p.out <- line:
		p.log.add('>', line)
		return nil
	default:
		return errors.New("the program does not read its input")
	}
}

// receive returns the program's next line, or an error when ctx ends or the program has ended.
func (p *process) receive(ctx context.Context) (string, error) {
	select { // a line that is there wins over a deadline that has passed
	case line, ok := <-p.lines:
		if ok {
			return line, nil
		}
		return "", p.gone(ctx)
	default:
	}
	select {
	case line, ok := <-p.lines:
		if ok {
			return line, nil
		}
		return "", p.gone(ctx)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// gone waits for the end of a program whose output has been closed.
func (p *process) gone(ctx context.Context) error {
	select {
	case <-p.exited:
		return p.exitError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (p *process) exitError() error {
	if p.err != nil {
		return fmt.Errorf("%w (%w)", ErrExited, p.err)
	}
	return ErrExited
}

// close ends the program: input closed, a moment to leave by itself, then the whole group is killed. It returns when
// the program and all goroutines are gone.
func (p *process) close(grace time.Duration) {
	p.once.Do(func() {
		close(p.done)
		if !p.wait(grace) {
			p.log.add('#', "killed")
		}
		p.group.kill(p.cmd) // children that outlive their parent go too
		if !p.wait(closeGrace) {
			for _, c := range p.pipes { // a process that left the group holds our pipes open
				c.Close()
			}
			p.stdin.Close()
		}
		p.busy.Wait()
		p.group.release()
	})
}

// wait reports whether the program ended within d. Output that nobody reads any more is dropped meanwhile.
func (p *process) wait(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for lines := p.lines; ; {
		select {
		case <-p.exited:
			return true
		case _, ok := <-lines:
			if !ok {
				lines = nil
			}
		case <-timer.C:
			return false
		}
	}
}

// readLines calls f with every line of r, without line ends, until the end of r or until f returns false. After that
// it reads on to the end, so that the program never waits for a reader.
func readLines(r io.Reader, f func(string) bool) {
	in := bufio.NewReaderSize(r, longestLine)
	on := true
	for {
		line, err := in.ReadSlice('\n')
		if on && (len(line) > 0 || err == nil) {
			on = f(strings.TrimRight(string(line), "\r\n"))
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = in.ReadSlice('\n')
		}
		if err != nil {
			return
		}
	}
}

// lookProgram finds a program as a shell would, and in the folder where Debian keeps games, which is often missing
// from a service's path.
func lookProgram(name string) (string, error) {
	path, err := exec.LookPath(name)
	if err == nil {
		return path, nil
	}
	if runtime.GOOS != "windows" && !strings.Contains(name, "/") {
		for _, dir := range []string{"/usr/games", "/usr/local/games"} {
			candidate := filepath.Join(dir, name)
			if info, e := os.Stat(candidate); e == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return candidate, nil
			}
		}
	}
	return "", fmt.Errorf("no program %q: %w", name, err)
}

// SplitCommand cuts a command line into words; single and double quotes group, a backslash keeps the next character
// (outside single quotes; before anything but a quote, a space or a backslash it stands for itself, so that Windows
// paths survive).
func SplitCommand(s string) ([]string, error) {
	var words []string
	var word strings.Builder
	in, quote := false, rune(0)
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote, in = c, true
		case c == '\\' && quote != '\'' && i+1 < len(runes) && strings.ContainsRune(`\"' `, runes[i+1]):
			i++
			word.WriteRune(runes[i])
			in = true
		case quote == 0 && (c == ' ' || c == '\t'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(c)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("command %q: no closing %c", s, quote)
	}
	if in {
		words = append(words, word.String())
	}
	if len(words) == 0 {
		return nil, errors.New("empty command")
	}
	return words, nil
}
