package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"kirin/rules"
	"kirin/rules/notation"
	"kirin/selfplay/engine"
	"kirin/selfplay/protocol"

	"github.com/spf13/cobra"
)

// playFlags are the flags of play.
type playFlags struct {
	game     gameFlags
	net      string
	level    string
	side     string
	handicap string
	save     string
	letters  bool
	think    time.Duration
	threads  int
}

func newPlay() *cobra.Command {
	var f playFlags
	cmd := &cobra.Command{
		Use:   "play",
		Short: "Play a game against a net in the terminal",
		Long: `Play shows the board, takes your moves and answers with the net's. Moves can be
written in USI (7g7f, P*5e, 2b3a+), Western (P-7f, Bx3a+) or Japanese (▲７六歩)
notation; "help" lists the commands, among them moves, hint, back, level, save and
resign.

It needs no terminal: lines may come from a file or a pipe, and the end of the
input ends the game. Your king (or first royal) is at the bottom if you are sente.`,
		Example: `  kirin play --net runs/minishogi
  kirin play --variant shogi --level beginner --side gote
  kirin play --variant shogi --handicap bishop --save game.kif`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	f.game.add(cmd)
	f.game.addSFEN(cmd)
	fl := cmd.Flags()
	fl.StringVar(&f.net, "net", "", "net: FILE, RUN or RUN@latest, RUN@first, RUN@STEP, shipped (default as kirin engine)")
	fl.StringVar(&f.level, "level", "easy", "its strength: "+strings.Join(protocol.LevelNames(), ", "))
	fl.StringVar(&f.side, "side", "sente", "yours: sente (moves first), gote, or both (the net only gives hints)")
	fl.StringVar(&f.handicap, "handicap", "", "start position by name; a wrong one lists them")
	fl.StringVar(&f.save, "save", "", "write the game to this KIF file when it ends")
	fl.BoolVar(&f.letters, "letters", false, "letters instead of kanji on the board")
	fl.DurationVar(&f.think, "think", time.Second, "time for each of its moves and hints")
	fl.IntVar(&f.threads, "threads", 1, "threads of a search")
	return cmd
}

// table is a game at the terminal.
type table struct {
	out     io.Writer
	v       *rules.Variant
	net     engine.Net
	solo    *engine.Solo
	start   string // SFEN
	p       *rules.Position
	human   [2]bool // by side
	level   protocol.Level
	think   time.Duration
	letters bool
	saved   string // the file that this session has written
	outcome rules.Outcome
	evals   []float64 // what sente could expect after each ply, as far as the net was asked
	began   time.Time
}

func (f *playFlags) run(ctx context.Context, in io.Reader, out io.Writer) error {
	t, err := f.open(out)
	if err != nil {
		return err
	}
	if f.save != "" {
		err := t.mayWrite(f.save)
		if err == nil {
			err = writable(f.save)
		}
		if err != nil {
			return fmt.Errorf("--save: %w", err)
		}
	}
	t.welcome()
	err = t.play(ctx, in)
	if f.save != "" && t.p.Ply() > 0 {
		if unsaved := t.write(f.save); unsaved != nil {
			text, unwritten := t.kif()
			_, unsaid := out.Write(text) // at least the game is on the screen
			err = errors.Join(err, unsaved, unwritten, unsaid)
		}
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(out)
		return quiet{130}
	}
	return err
}

// open sets the table.
func (f *playFlags) open(out io.Writer) (*table, error) {
	v, p, err := f.game.position()
	if err != nil {
		return nil, err
	}
	if f.handicap != "" {
		if f.game.sfen != "" {
			return nil, errors.New("give either --handicap or --sfen")
		}
		names := startNames(v)
		at := slices.Index(names, f.handicap)
		if at < 0 {
			return nil, fmt.Errorf("--handicap %s: the start positions of %s are %s", f.handicap, v.Name(), strings.Join(names, ", "))
		}
		if p, err = v.ParseSFEN(v.Starts()[at].SFEN); err != nil {
			return nil, err
		}
	}
	level, err := protocol.ParseLevel(f.level)
	if err != nil {
		return nil, fmt.Errorf("--level: %w", err)
	}
	if f.think <= 0 {
		return nil, fmt.Errorf("--think %v is not above 0", f.think)
	}
	t := &table{out: out, v: v, start: p.SFEN(), p: p, level: level, think: f.think, letters: f.letters, began: time.Now()}
	switch f.side {
	case "sente":
		t.human[rules.Sente] = true
	case "gote":
		t.human[rules.Gote] = true
	case "both":
		t.human = [2]bool{true, true}
	default:
		return nil, fmt.Errorf("--side %s: write sente, gote or both", f.side)
	}
	if t.net, err = openEngineNet(v, f.net); err != nil {
		return nil, err
	}
	o := engine.DefaultOptions()
	o.Threads = f.threads
	t.solo, err = engine.NewSolo(v, t.net, o)
	return t, err
}

// startNames are the names of a game's start positions.
func startNames(v *rules.Variant) []string {
	var names []string
	for _, s := range v.Starts() {
		names = append(names, s.Name)
	}
	return names
}

func (t *table) say(format string, args ...any) { fmt.Fprintf(t.out, format+"\n", args...) }

func (t *table) welcome() {
	t.say("%s, %s rules. %s", t.v.Name(), t.v.Rules(), t.seats())
	example := ""
	if moves := t.p.AppendMoves(nil); len(moves) > 0 {
		example = " such as " + t.p.FormatMove(moves[0])
	}
	t.say("The net is %s, its level %s. Write a move%s, or help.", t.net.Name, t.level.Name, example)
}

// seats says who plays what.
func (t *table) seats() string {
	switch t.human {
	case [2]bool{true, true}:
		return "You play both sides."
	case [2]bool{true, false}:
		return "You are sente (▲, bottom)."
	}
	return "You are gote (△, top)."
}

// play takes turns until the player quits or the input ends.
func (t *table) play(ctx context.Context, in io.Reader) error {
	lines := readLines(ctx, in)
	t.show()
	for {
		if !t.over() && !t.human[t.p.Side()] {
			if err := t.answer(ctx); err != nil {
				return err
			}
			continue
		}
		fmt.Fprint(t.out, "> ")
		select {
		case <-ctx.Done():
			return ctx.Err()
		case line, ok := <-lines:
			if !ok {
				fmt.Fprintln(t.out)
				return nil
			}
			quit, err := t.obey(ctx, line)
			if err != nil || quit {
				return err
			}
		}
	}
}

// over tells whether the game has ended, and says so once.
func (t *table) over() bool {
	if t.outcome.Result != rules.Ongoing {
		return true
	}
	if out := t.p.Outcome(t.p.CountMoves()); out.Result != rules.Ongoing {
		t.end(out)
		return true
	}
	return false
}

func (t *table) end(out rules.Outcome) {
	t.outcome = out
	t.say("The game is over: %s. You can still go back, save, start a new game or quit.", out)
}

// show draws the board.
func (t *table) show(dots ...rules.Square) {
	fmt.Fprint(t.out, notation.Text(t.p, notation.Picture{Letters: t.letters, Dots: dots}))
	if t.p.InCheck() && t.outcome.Result == rules.Ongoing {
		t.say("Check!")
	}
}

// spell writes a move in the three notations.
func (t *table) spell(m rules.Move) string {
	return fmt.Sprintf("%s  %s  %s", t.p.FormatMove(m), notation.Western(t.p, m), notation.Japanese(t.p, m))
}

// do makes a move on the board.
func (t *table) do(m rules.Move) {
	t.p.Do(m)
	t.evals = t.evals[:min(len(t.evals), t.p.Ply())]
}

// answer lets the net move.
func (t *table) answer(ctx context.Context) error {
	m, resign, win, err := t.solo.Choose(ctx, t.p, protocol.Limits{MoveTime: t.think}, t.level)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return err
	case win:
		t.end(rules.Outcome{Result: rules.Winner(t.p.Side()), Reason: rules.Declaration})
		return nil
	case resign:
		t.end(rules.Outcome{Result: rules.Winner(t.p.Side().Other()), Reason: rules.Resignation})
		return nil
	}
	t.say("%d. The net plays %s", t.p.Ply()+1, t.spell(m))
	t.do(m)
	t.show()
	return nil
}
