package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestShowDrawsPositionsAndConvertsGames(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	kif := write("game.kif", "手合割：5五将棋\n先手：a\n   1 ５三歩(54)\n   2 ３二角(41)\n   3 投了\n")
	csa := write("game.csa", "V2.2\nPI\n+\n+7776FU\n-3334FU\n%TORYO\n")
	bad := write("bad.kif", "手合割：平手\n   1 ７五歩(77)\n")
	svg := filepath.Join(dir, "board.svg")
	for _, c := range []struct {
		args   []string
		status int
		want   string // a part of the output, or of the error
	}{
		{[]string{"--variant", "shogi", "7g7f"}, 0, "gote to move, move 2; last move ▲７六歩 (7g7f)"},
		{[]string{"--variant", "shogi", "--letters"}, 0, "|  l   n   s   g   k   g   s   n   l |a\n"},
		{[]string{"--variant", "shogi", "--moves", "--from", "7g"}, 0, "7g7f     P-7f       ▲７六歩\n"},
		{[]string{"--variant", "torishogi", "--as", "sfen"}, 0, "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1\n"},
		{[]string{"--variant", "chushogi"}, 0, "|v反  ・ v角  ・ v虎 v鳳 v麒 v虎  ・ v角  ・ v反 |b 二"},
		{[]string{"--game", kif}, 0, "the game is over: gote by resignation"},
		{[]string{"--game", kif, "--ply", "1", "--as", "usi"}, 0, "position startpos moves 5d5c\n"},
		{[]string{"--game", csa, "--as", "western"}, 0, "1. P-7f P-3d\n"},
		{[]string{"--game", csa, "--as", "japanese"}, 0, "1 ▲７六歩\n2 △３四歩\n"},
		{[]string{"--game", csa, "--as", "kif"}, 0, "   1 ７六歩(77)\n   2 ３四歩(33)\n   3 投了\n"},
		{[]string{"--game", csa, "--as", "csa"}, 0, "+7776FU\n-3334FU\n%TORYO\n"},
		{[]string{"--svg", "-"}, 0, "<svg "},
		{[]string{"--svg", svg, "--moves"}, 0, ""},
		{[]string{"--game", bad}, 1, "KIF line 2: illegal move"},
		{[]string{"--game", csa, "--variant", "chushogi"}, 1, "the game is shogi, not chushogi"},
		{[]string{"--game", csa, "--ply", "3"}, 1, "only 2 moves"},
		{[]string{"--game", csa, "7g7f"}, 1, "either --game or a position"},
		{[]string{"--game", filepath.Join(dir, "none")}, 1, "--game"},
		{[]string{"--as", "pdf"}, 1, "not one of text"},
		{[]string{"--moves", "--from", "9z"}, 1, "--from"},
		{[]string{"5d5a"}, 1, "ply 1: illegal move"},
	} {
		status, out, errs := kirin(t, append([]string{"show"}, c.args...)...)
		if status != c.status || !strings.Contains(out+errs, c.want) {
			t.Errorf("show %s: status %d, %q is missing in\n%s%s", strings.Join(c.args, " "), status, c.want, out, errs)
		}
	}
	if data, err := os.ReadFile(svg); err != nil || !strings.HasPrefix(string(data), "<svg ") {
		t.Errorf("the picture: %.40q, %v", data, err)
	}
}

func TestShowReadsStandardInput(t *testing.T) {
	var out, errs strings.Builder
	in := strings.NewReader("position startpos moves 7g7f 3c3d\n")
	if status := run(t.Context(), []string{"show", "--game", "-", "--as", "sfen"}, in, &out, &errs); status != 0 {
		t.Fatal(errs.String())
	}
	if want := "lnsgkgsnl/1r5b1/pppppp1pp/6p2/9/2P6/PP1PPPPPP/1B5R1/LNSGKGSNL b - 3\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
