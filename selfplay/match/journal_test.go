package match

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAFileThatIsNoJournalOfTheMatchStaysAsItIs(t *testing.T) {
	h := Header{Version: journalVersion, Variant: "minishogi", Rules: "default", A: "random", B: "material", Seed: 1}
	other := h
	other.B, other.Seed = "net:x", 2
	for name, c := range map[string]struct {
		text, want string
		h          Header
	}{
		"a line of text":      {"buy milk", "it is there already and no journal", h},
		"text without an end": {"# Notes\nbuy milk", "line 1: ", h},
		"another match, torn": {"", `belongs to another match: b is "net:x" there and "material" here; seed is 2 there and 1 here`, other},
		"the match itself":    {"", "", h},
		"its header, torn":    {`{"kirin_match":1,"variant":"mini`, "", h},
		"an empty line":       {"\n", "line 1: ", h},
	} {
		path := filepath.Join(t.TempDir(), "journal")
		if c.text == "" {
			j, _, err := openJournal(path, c.h)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := j.file.WriteString(`{"pair":`); err != nil {
				t.Fatal(err)
			}
			j.file.Close()
		} else if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		before, _ := os.ReadFile(path)
		j, games, err := openJournal(path, h)
		after, _ := os.ReadFile(path)
		if c.want == "" {
			if err != nil || len(games) != 0 || !strings.HasSuffix(string(after), "\n") || strings.Count(string(after), "\n") != 1 {
				t.Errorf("%s: %d games, %v, %q", name, len(games), err, after)
			} else {
				j.file.Close()
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || string(after) != string(before) {
			t.Errorf("%s: %v, %q became %q", name, err, before, after)
		}
	}
}
