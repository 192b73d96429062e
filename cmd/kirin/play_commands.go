package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"kirin/dataset/whole"
	"kirin/rules"
	"kirin/rules/notation"
	"kirin/selfplay/protocol"
)

// playCommand is a word that a player can write.
type playCommand struct {
	words []string // the first is the usual one
	args  string
	help  string
	do    func(t *table, ctx context.Context, arg string) (quit bool, err error)
}

// playCommands lists them; it is filled in by init since help reads it.
var playCommands []playCommand

func init() {
	playCommands = []playCommand{
		{[]string{"help", "?"}, "", "this list", (*table).help},
		{[]string{"board", "b"}, "", "show the board again", (*table).board},
		{[]string{"moves", "m"}, "[SQUARE]", "list the legal moves, or those of the piece on a square", (*table).moves},
		{[]string{"hint", "h"}, "", "the net's best three moves, with your chances", (*table).hint},
		{[]string{"back", "undo"}, "", "take back your last move and the answer to it", (*table).back},
		{[]string{"level"}, "NAME", "change the net's strength: " + strings.Join(protocol.LevelNames(), ", "), (*table).setLevel},
		{[]string{"swap"}, "", "change sides: the net goes on with yours", (*table).swap},
		{[]string{"letters"}, "", "letters or kanji on the board", (*table).toggleLetters},
		{[]string{"sfen"}, "", "the position as text", (*table).sfen},
		{[]string{"save"}, "FILE", "write the game as a KIF file", (*table).save},
		{[]string{"resign"}, "", "give up", (*table).resign},
		{[]string{"new"}, "", "start again", (*table).again},
		{[]string{"quit", "exit", "q"}, "", "end the program", func(*table, context.Context, string) (bool, error) { return true, nil }},
	}
}

// obey takes one line: a command or a move.
func (t *table) obey(ctx context.Context, line string) (quit bool, err error) {
	line = strings.TrimSpace(line)
	if line == "" || strings.HasPrefix(line, "#") {
		return false, nil
	}
	word, arg, _ := strings.Cut(line, " ")
	for _, c := range playCommands {
		if slices.Contains(c.words, strings.ToLower(word)) {
			return c.do(t, ctx, strings.TrimSpace(arg))
		}
	}
	if t.outcome.Result != rules.Ongoing {
		t.say("The game is over (%s). Write back, save FILE, new or quit.", t.outcome)
		return false, nil
	}
	m, err := parseAnyMove(t.p, line)
	switch {
	case errors.Is(err, rules.ErrIllegalMove):
		t.say("That is not possible: %v. (moves lists what is, moves SQUARE for one piece)", err)
	case err != nil:
		t.say("%q is neither a move such as %s nor a command. (help lists the commands)", clip(line), t.p.FormatMove(t.p.AppendMoves(nil)[0]))
	default:
		t.say("%d. You play %s", t.p.Ply()+1, t.spell(m))
		t.do(m)
		if t.human[t.p.Side()] || t.p.Outcome(t.p.CountMoves()).Result != rules.Ongoing {
			t.show() // else the answer will
		}
	}
	return false, nil
}

// clip shortens what a user wrote for a message.
func clip(s string) string {
	if r := []rune(s); len(r) > 40 {
		return string(r[:40]) + "..."
	}
	return s
}

func (t *table) help(context.Context, string) (bool, error) {
	t.say("Write a move in USI (7g7f, P*5e, 2b3a+), Western (P-7f, Bx3a+) or Japanese (▲７六歩) notation, or")
	for _, c := range playCommands {
		t.say("  %-16s %s", strings.TrimSpace(c.words[0]+" "+c.args), c.help)
	}
	return false, nil
}

func (t *table) board(context.Context, string) (bool, error) {
	t.show()
	return false, nil
}

func (t *table) moves(_ context.Context, arg string) (bool, error) {
	moves := t.p.AppendMoves(nil)
	if arg != "" {
		sq, err := t.v.ParseSquare(arg)
		if err != nil {
			t.say("%v", err)
			return false, nil
		}
		moves = slices.DeleteFunc(moves, func(m rules.Move) bool { return m.From() != sq })
		t.show(targets(moves)...)
	}
	slices.SortFunc(moves, func(a, b rules.Move) int { return strings.Compare(t.p.FormatMove(a), t.p.FormatMove(b)) })
	for _, m := range moves {
		t.say("  %s", t.spell(m))
	}
	if len(moves) == 0 {
		t.say("There is none.")
	}
	return false, nil
}

func (t *table) hint(ctx context.Context, _ string) (bool, error) {
	if t.over() {
		return false, nil
	}
	a, err := t.solo.Analyze(ctx, t.p, protocol.Limits{MoveTime: t.think}, 3)
	if err != nil {
		return false, err
	}
	for len(t.evals) <= t.p.Ply() {
		t.evals = append(t.evals, math.NaN())
	}
	score := float64(a.Value.Score())
	if t.p.Side() == rules.Gote {
		score = 1 - score
	}
	t.evals[t.p.Ply()] = score
	if len(a.Mate) > 0 {
		t.say("There is a mate in %d: %s", len(a.Mate), strings.Join(moveTexts(t.p, a.Mate), " "))
	}
	for _, l := range a.Moves {
		certain := ""
		if l.Proven {
			certain = " for certain"
		}
		t.say("  %s  wins %.0f %%, draws %.0f %%%s; expected: %s", t.spell(l.Moves[0]), 100*l.Value.Win, 100*l.Value.Draw, certain,
			strings.Join(moveTexts(t.p, l.Moves[:min(len(l.Moves), 6)]), " "))
	}
	return false, nil
}

func (t *table) back(context.Context, string) (bool, error) {
	if t.outcome.Reason == rules.Resignation && t.human[t.p.Side()] { // giving up was the last deed
		t.outcome = rules.Outcome{}
		t.show()
		return false, nil
	}
	if t.p.Ply() == 0 {
		t.say("No move has been made.")
		return false, nil
	}
	keep := t.p.Ply() - 1
	for keep > 0 && !t.human[t.sideAt(keep)] {
		keep--
	}
	if !t.human[t.sideAt(keep)] {
		t.say("You have not moved yet.")
		return false, nil
	}
	for t.p.Ply() > keep {
		t.p.Undo()
	}
	t.outcome = rules.Outcome{}
	t.show()
	return false, nil
}

// sideAt is the side to move after so many plies.
func (t *table) sideAt(ply int) rules.Side {
	if (t.p.Ply()-ply)%2 == 0 {
		return t.p.Side()
	}
	return t.p.Side().Other()
}

func (t *table) setLevel(_ context.Context, arg string) (bool, error) {
	level, err := protocol.ParseLevel(arg)
	if err != nil {
		t.say("The level is %s; choose one of %s.", t.level.Name, strings.Join(protocol.LevelNames(), ", "))
		return false, nil
	}
	t.level = level
	t.say("The level is %s now.", level.Name)
	return false, nil
}

func (t *table) swap(context.Context, string) (bool, error) {
	t.human[0], t.human[1] = t.human[1], t.human[0]
	t.say("%s", t.seats())
	return false, nil
}

func (t *table) toggleLetters(context.Context, string) (bool, error) {
	t.letters = !t.letters
	t.show()
	return false, nil
}

func (t *table) sfen(context.Context, string) (bool, error) {
	t.say("%s", t.p.SFEN())
	return false, nil
}

func (t *table) resign(context.Context, string) (bool, error) {
	if !t.over() {
		t.end(rules.Outcome{Result: rules.Winner(t.p.Side().Other()), Reason: rules.Resignation})
	}
	return false, nil
}

func (t *table) again(context.Context, string) (bool, error) {
	for t.p.Ply() > 0 {
		t.p.Undo()
	}
	t.outcome, t.evals = rules.Outcome{}, nil
	t.solo.Forget()
	t.show()
	return false, nil
}

func (t *table) save(_ context.Context, arg string) (bool, error) {
	if arg == "" {
		t.say("Write save FILE.")
		return false, nil
	}
	if err := t.mayWrite(arg); err != nil {
		t.say("%v", err)
		return false, nil
	}
	if err := t.write(arg); err != nil {
		t.say("%v", err)
	}
	return false, nil
}

// mayWrite refuses files that this session has not written.
func (t *table) mayWrite(file string) error {
	if _, err := os.Stat(file); err != nil || file == t.saved {
		return nil // writing says what is wrong, if anything is
	}
	return fmt.Errorf("%s is there already: give another name", file)
}

// writable tells whether a file can be made, and leaves none behind.
func writable(file string) error {
	f, err := whole.Create(file)
	if err != nil {
		return err
	}
	return f.Abort()
}

// kif is the game as a KIF file.
func (t *table) kif() ([]byte, error) {
	g := &notation.Game{
		Variant: t.v, Outcome: t.outcome, Evals: t.evals, Date: t.began.Format("2006/01/02 15:04:05"), Names: [2]string{t.seat(rules.Sente), t.seat(rules.Gote)},
	}
	if t.start != t.v.Starts()[0].SFEN {
		g.Start = t.start
	}
	for i := range t.p.Ply() {
		g.Moves = append(g.Moves, t.p.MoveAt(i))
	}
	var b bytes.Buffer
	err := g.WriteKIF(&b, notation.UTF8)
	return b.Bytes(), err
}

// write saves the game.
func (t *table) write(file string) error {
	text, err := t.kif()
	if err != nil {
		return err
	}
	if err := whole.WriteFile(file, text); err != nil {
		return err
	}
	t.saved = file
	t.say("Saved %d moves to %s.", t.p.Ply(), file)
	return nil
}

// seat is who plays a side.
func (t *table) seat(s rules.Side) string {
	if t.human[s] {
		return "player"
	}
	return "kirin (" + t.level.Name + ")"
}

// longestPlayLine bounds a line that a player writes.
const longestPlayLine = 4096

// readLines sends the lines of in until it or ctx ends.
func readLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		for r := bufio.NewReader(in); ; {
			text, err := readLine(r, longestPlayLine)
			if len(text) > 0 || err == nil || errors.Is(err, errLongLine) {
				select {
				case lines <- string(text):
				case <-ctx.Done():
					return
				}
			}
			if err != nil && !errors.Is(err, errLongLine) {
				return
			}
		}
	}()
	return lines
}
