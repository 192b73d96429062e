package engine

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"kirin/rules"
)

// languages are the servers under test.
var languages = []struct {
	name  string
	serve func(context.Context, io.Reader, io.Writer, Config) error
	words []string
}{
	{"usi", ServeUSI, strings.Fields("usi isready usinewgame position startpos sfen moves 3e3d 3a3b 5e5d go infinite ponder btime wtime byoyomi " +
		"binc nodes movetime depth mate stop ponderhit setoption name value USI_Variant shogi minishogi chushogi torishogi Level easy MultiPV " +
		"Rules draw gameover win 0 1 7 -3 99999999999999999999 rbsgk/4p/5/P4/KGSBR b - resign \x00 \xff+")},
	{"cecp", ServeCECP, strings.Fields("xboard protover new variant chu minishogi torishogi shogi force go playother usermove c1c2 b5c4 @@@@ " +
		"level st sd time otim ping ? undo remove setboard analyze exit . lift put hover a1 f6 easy hard post nopost result 1-0 memory cores " +
		"option Level=easy MultiPV=3 rbsgk/4p/5/P4/KGSBR [-] w b 0 1 40 5:00 0.1 P@c3 99999999999999999999 \x00 \xff+")},
}

// garbage writes n lines of words that mostly make no sense.
func garbage(rng *rand.Rand, words []string, n int) []byte {
	var b bytes.Buffer
	for range n {
		for range 1 + rng.IntN(7) {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteByte(' ')
		}
		if rng.IntN(20) == 0 {
			for range rng.IntN(50) {
				b.WriteByte(byte(rng.UintN(256)))
			}
		}
		b.WriteByte('\n')
	}
	return b.Bytes()
}

// survive serves input and fails unless the engine reads all of it, ends in time and writes whole lines of text.
func survive(t *testing.T, language int, input []byte) {
	t.Helper()
	c := testConfig("minishogi", 0)
	c.Options.HashMB = minHashMB
	var out bytes.Buffer
	ended := make(chan error, 1)
	go func() {
		ended <- languages[language].serve(context.Background(), bytes.NewReader(input), &out, c)
	}()
	select {
	case err := <-ended:
		if err != nil {
			t.Fatalf("%s ended with %v on %q", languages[language].name, err, input)
		}
	case <-time.After(patience):
		buf := make([]byte, 1<<16)
		t.Fatalf("%s hangs on %q\n%s", languages[language].name, input, buf[:runtime.Stack(buf, true)])
	}
	if out.Len() > 0 && out.Bytes()[out.Len()-1] != '\n' {
		t.Errorf("a torn line at the end: %q", out.String())
	}
}

// TestGarbageIsSurvived feeds commands in every order; -long does so for an hour each, watching the memory.
func TestGarbageIsSurvived(t *testing.T) {
	for i, l := range languages {
		t.Run(l.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, uint64(i)))
			end := time.Now().Add(time.Second)
			if *long > 0 {
				end = time.Now().Add(*long)
			}
			next, lines := time.Now().Add(time.Minute), 0
			for time.Now().Before(end) {
				survive(t, i, garbage(rng, l.words, 100))
				lines += 100
				if time.Now().After(next) {
					var m runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&m)
					t.Logf("%d lines, heap in use %d MB, goroutines %d", lines, m.HeapInuse>>20, runtime.NumGoroutine())
					next = next.Add(10 * time.Minute)
				}
			}
			t.Logf("%d lines", lines)
		})
	}
}

func FuzzServers(f *testing.F) {
	rng := rand.New(rand.NewPCG(1, 2))
	for i, l := range languages {
		for range 4 {
			f.Add(uint8(i), garbage(rng, l.words, 10))
		}
		f.Add(uint8(i), []byte(strings.Repeat("x", 3*longestInput)+"\nquit\n"))
		f.Add(uint8(i), []byte("no end of line"))
	}
	f.Add(uint8(0), []byte("go ponder\nponderhit\nstop\nstop\n"))
	f.Add(uint8(1), []byte("analyze\nusermove c1c2\nundo\nexit\ngo\n?\n"))
	f.Fuzz(func(t *testing.T, language uint8, input []byte) {
		if bytes.Contains(bytes.ToLower(input), []byte("hash")) || bytes.Contains(input, []byte("memory")) {
			return // large tables are slow to make, which is no news
		}
		survive(t, int(language)%len(languages), input)
	})
}

func FuzzFENOfCECP(f *testing.F) {
	f.Add("4k/2G2/4P/5/K4[G] w 0 1")
	f.Add("rbsgk/4p/5/P4/KGSBR [PPps] b 0 1")
	f.Add("[] x")
	v, err := rules.Load("minishogi")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		sfen, err := sfenOf(s)
		if err != nil {
			return
		}
		if p, err := v.ParseSFEN(sfen); err == nil {
			if q, err := v.ParseSFEN(p.SFEN()); err != nil || q.SFEN() != p.SFEN() {
				t.Errorf("%q: %q", s, p.SFEN())
			}
		}
	})
}

func TestHandsAreCounted(t *testing.T) {
	for in, want := range map[string]string{"": "-", "-": "-", "PPp": "2Pp", "spBs": "B2sp", "R": "R"} {
		if got := countHands(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	if s := fmt.Sprint(oneLine("a\nb\x1b")); s != "a b " {
		t.Errorf("%q", s)
	}
}
