package mate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/rules"
)

func TestCheckNamesTheFaultyLine(t *testing.T) {
	v := load(t, "minishogi")
	good := "sfen\tkind\tplies\tfirst_moves\nrbsgk/4p/5/P4/KGSBR b - 1\tnone\t3\t-\n"
	for text, want := range map[string]string{
		"": "no rows",
		good + "rbsgk/4p/5/P4/KGSBR b - 1\tnone\t3\n":           "x:3: not a file of mates: 3 fields",
		good + "rbsgk/4p/5/P4 b - 1\tnone\t3\t-\n":              "x:3: not a file of mates: ",
		good + "rbsgk/4p/5/P4/KGSBR b - 1\tquiz\t3\t-\n":        "x:3: not a file of mates: kind \"quiz\"",
		good + "rbsgk/4p/5/P4/KGSBR b - 1\ttsume\tx\t-\n":       "x:3: not a file of mates: plies \"x\"",
		good + "rbsgk/4p/5/P4/KGSBR b - 1\ttsume\t1\t5a5b 1a\n": "x:3: not a file of mates: first move: ",
	} {
		_, err := Check(t.Context(), strings.NewReader(text), "x", v, 1000)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	if _, err := CheckFile(t.Context(), filepath.Join(t.TempDir(), "none.tsv"), v, 1); err == nil || !strings.Contains(err.Error(), "none.tsv") {
		t.Errorf("missing file: %v", err)
	}
}

func FuzzCheck(f *testing.F) {
	for _, game := range games {
		b, err := os.ReadFile(filepath.Join("testdata", game+".tsv"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(game, b[:min(len(b), 600)])
	}
	f.Fuzz(func(t *testing.T, game string, b []byte) {
		v, err := rules.Load(game)
		if err != nil {
			return
		}
		if _, err := Check(t.Context(), strings.NewReader(string(b)), "fuzz", v, 20); err == nil && len(b) == 0 {
			t.Error("nothing is a file of mates")
		}
	})
}
