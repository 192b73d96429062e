package encode_test

import (
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"kirin/rules"
)

// example returns the first code block of a language in docs/nets.md.
func example(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "nets.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "```"+language+"\n")
	code, _, closed := strings.Cut(rest, "```")
	if !ok || !closed {
		t.Fatalf("docs/nets.md has no block of %s", language)
	}
	return code
}

// question is a position for a program of the documentation.
type question struct {
	SFEN  string   `json:"sfen"`
	Names []string `json:"names"`
	Width int      `json:"width"`
	Check bool     `json:"check"`
}

func TestTheDocumentedEncodersMakeOurPlanes(t *testing.T) {
	for _, c := range []struct {
		language, program, flag, main string
	}{
		{"python", "python3", "-c", `
import json, sys
print(json.dumps([encode(q["sfen"], q["names"], q["width"], q["check"]) for q in json.load(sys.stdin)]))
`},
		{"js", "node", "-e", `
const asked = JSON.parse(require('fs').readFileSync(0));
process.stdout.write(JSON.stringify(asked.map((q) => Array.from(encode(q.sfen, q.names, q.width, q.check)))));
`},
	} {
		t.Run(c.language, func(t *testing.T) {
			if _, err := exec.LookPath(c.program); err != nil {
				if os.Getenv("KIRIN_REQUIRE") == "all" {
					t.Fatalf("%s is missing", c.program)
				}
				t.Skipf("%s is missing", c.program)
			}
			var asked []question
			var want [][]float32
			for _, name := range rules.Names() {
				v, e := load(t, name)
				n := 0
				playAll(t, v, 3, 200, func(p *rules.Position, _ []rules.Move) {
					if n++; n%25 != 0 && p.BanSquare() == rules.NoSquare {
						return
					}
					p, err := v.ParseSFEN(p.SFEN())
					if err != nil {
						t.Fatal(err)
					}
					planes := make([]float32, e.Size())
					e.Encode(p, planes)
					asked = append(asked, question{p.SFEN(), e.PlaneNames(), e.Width(), p.InCheck()})
					want = append(want, planes)
				})
			}
			input, err := json.Marshal(asked)
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command(c.program, c.flag, example(t, c.language)+c.main)
			cmd.Stdin = strings.NewReader(string(input))
			out, err := cmd.Output()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			var got [][]float64
			if err := json.Unmarshal(out, &got); err != nil || len(got) != len(want) {
				t.Fatalf("%d answers, %v", len(got), err)
			}
			for i := range want {
				for j := range want[i] {
					if math.Abs(got[i][j]-float64(want[i][j])) > 1e-6 {
						names := asked[i].Names
						t.Fatalf("%s: square %d, plane %q is %v, not %v", asked[i].SFEN, j/len(names), names[j%len(names)], got[i][j], want[i][j])
					}
				}
			}
			t.Logf("%d positions", len(want))
		})
	}
}

func TestPlanesAreWrittenOneALine(t *testing.T) {
	_, e := load(t, "minishogi")
	var b strings.Builder
	if err := e.WritePlanes(&b); err != nil {
		t.Fatal(err)
	}
	if lines := strings.Split(b.String(), "\n"); len(lines) != e.Planes()+1 || lines[5] != "own P" {
		t.Errorf("%q", lines)
	}
}
