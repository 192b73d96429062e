package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/rules/notation"
)

// played runs kirin play over what a player writes.
func played(t *testing.T, input string, args ...string) string {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(t.Context(), append([]string{"play", "--think", "10ms"}, args...), strings.NewReader(input), &out, &errs); status != 0 {
		t.Fatalf("exit status %d: %s%s", status, out.String(), errs.String())
	}
	return out.String()
}

func TestPlayTakesMovesInEveryNotationAndExplainsTheRest(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	for _, c := range []struct{ input, want string }{
		{"3e3d", "1. You play 3e3d  S-3d  ▲３四銀\n2. The net plays "},
		{"S-3d", "You play 3e3d"},
		{"▲３四銀", "You play 3e3d"},
		{"5e5a", "That is not possible: illegal move 5e5a: the king does not reach 5a"},
		{"P*3c", "That is not possible"},
		{"hello world", `"hello world" is neither a move such as`},
		{"\x00\xff", "neither a move"},
		{strings.Repeat("x", longestPlayLine+1) + "\n3e3d", "You play 3e3d"},
		{"help", "take back your last move"},
		{"hint", "wins "},
		{"moves 3e", "3e3d  S-3d  ▲３四銀"},
		{"moves 9z", "square"},
		{"level godlike", "choose one of beginner"},
		{"level beginner\nlevel", "The level is beginner"},
		{"letters", "r   b   s   g   k"},
		{"sfen", "rbsgk/4p/5/P4/KGSBR b - 1"},
		{"swap", "You are gote"},
		{"back", "No move has been made."},
		{"3e3d\nback\nsfen", "rbsgk/4p/5/P4/KGSBR b - 1"},
		{"resign", "The game is over: gote by resignation"},
		{"resign\n3e3d", "The game is over (gote by resignation)"},
		{"resign\nback\n3e3d", "You play 3e3d"},
		{"3e3d\nnew\nsfen", "rbsgk/4p/5/P4/KGSBR b - 1"},
		{"save", "Write save FILE."},
		{"# a remark\n\nquit\n3e3d", "minishogi"},
	} {
		if out := played(t, c.input+"\n", "--net", net); !strings.Contains(out, c.want) {
			t.Errorf("%.60q: %q is missing in\n%s", c.input, c.want, out)
		}
	}
}

func TestPlayBeginsAsAskedFor(t *testing.T) {
	net, shogi := untrained(t, "minishogi", "1x16"), untrained(t, "shogi", "1x16")
	for _, c := range []struct{ args, input, want string }{
		{"--net " + net + " --side gote", "", "1. The net plays "},
		{"--net " + net + " --side gote", "back", "You have not moved yet."},
		{"--net " + net + " --side both", "3e3d\n3a3b\nsfen", "rb1gk/2s1p/5/P1S2/KG1BR b - 3"},
		{"--net " + net + " --side both", "3e3d\n3a3b\nback\nsfen", "rbsgk/4p/5/P1S2/KG1BR w - 2"},
		{"--variant shogi --handicap rook --net " + shogi, "", "1. The net plays "},
	} {
		if out := played(t, c.input+"\n", strings.Fields(c.args)...); !strings.Contains(out, c.want) {
			t.Errorf("%s: %q is missing in\n%s", c.args, c.want, out)
		}
	}
	mate := []string{"--net", net, "--sfen", "4k/2G2/4P/5/K4 b G 1"}
	if out := played(t, "G*2b\n3a4a\n", mate...); !strings.Contains(out, "The game is over: sente by checkmate") {
		t.Errorf("%s", out)
	}
	mated := []string{"--net", net, "--side", "gote", "--sfen", "4k/4G/4P/5/K4 w - 1"}
	if out := played(t, "moves\nhello\n", mated...); !strings.Contains(out, "Write a move, or help") || !strings.Contains(out, "sente by checkmate") {
		t.Errorf("%s", out)
	}
	for _, c := range []struct{ args, want string }{
		{"--side red", "sente, gote or both"}, {"--level godlike", "beginner"}, {"--think 0s", "not above 0"},
		{"--handicap queen", "the start positions of minishogi are even"}, {"--save " + net, "is there already"},
		{"--save " + filepath.Join(net, "none", "x.kif"), "--save: write "},
	} {
		status, _, errs := kirin(t, append([]string{"play", "--net", net}, strings.Fields(c.args)...)...)
		if status == 0 || !strings.Contains(errs, c.want) {
			t.Errorf("%s: %d, %q; want %q", c.args, status, errs, c.want)
		}
	}
}

func TestPlaySavesWhatOtherProgramsRead(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	dir := t.TempDir()
	one, two := filepath.Join(dir, "one.kif"), filepath.Join(dir, "two.kif")
	if err := os.WriteFile(two+"x", []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	out := played(t, "3e3d\nhint\nsave "+two+"x\nsave "+one+"\nresign\nsave "+one+"\n", "--net", net, "--save", two)
	if !strings.Contains(out, "is there already") {
		t.Errorf("a foreign file is overwritten: %s", out)
	}
	for _, file := range []string{one, two} {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		g, err := notation.Read(data, nil)
		if err != nil || len(g.Moves) != 2 || g.Outcome.String() != "gote by resignation" {
			t.Errorf("%s: %+v, %v", data, g, err)
		}
	}
}

func TestAGameThatCannotBeSavedIsWrittenToTheScreen(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	folder := filepath.Join(t.TempDir(), "folder")
	file := filepath.Join(folder, "x.kif")
	if err := os.Mkdir(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	in, typed := io.Pipe()
	go func() {
		io.WriteString(typed, "3e3d\n")
		os.Remove(folder) // with the second line the first has been read, so play has begun
		io.WriteString(typed, "quit\n")
		typed.Close()
	}()
	var out, errs bytes.Buffer
	status := run(t.Context(), []string{"play", "--net", net, "--side", "both", "--save", file}, in, &out, &errs)
	if status != 1 || !strings.Contains(errs.String(), "write "+file) || !strings.Contains(out.String(), "   1 ３四銀(35)") {
		t.Errorf("exit status %d\n%s%s", status, out.String(), errs.String())
	}
}
