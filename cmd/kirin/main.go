// Command kirin trains, measures and plays neural players for the shogi family.
//
// Each subcommand is one file. This package is the only place that joins the
// parts: everything it imports is usable without it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"kirin/configs"
	"kirin/rules"
	"kirin/selfplay/engine"
	"kirin/selfplay/protocol"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func main() {
	ctx, stop := interruptible(context.Background())
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program with its surroundings passed in; it returns the
// exit status.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	var q quiet
	switch {
	case err == nil:
		return 0
	case errors.As(err, &q):
		return q.status
	case ctx.Err() != nil && ended(err): // by Ctrl-C
		return 130
	default:
		fmt.Fprintf(stderr, "kirin: %v\n", err)
		return 1
	}
}

// quiet is an error that has been reported already.
type quiet struct{ status int }

func (q quiet) Error() string { return fmt.Sprintf("exit status %d", q.status) }

// interruptible returns a context that ends with the first Ctrl-C or SIGTERM; a
// second one ends the program at once.
func interruptible(parent context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancel(parent)
	ch := make(chan os.Signal, 2)
	signal.Notify(ch, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ch
		cancel()
		<-ch
		os.Exit(130)
	}()
	return ctx, func() { signal.Stop(ch); cancel() }
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "kirin",
		Short: "Self-play training for the shogi family",
		Long: `kirin trains strong players for minishogi, tori shogi, shogi and chu shogi by
self-play on the processors you have, and lets you watch, measure, export and
play the result.

Start here:
  kirin train --for 10m        learn minishogi from nothing for ten minutes
  kirin watch runs/minishogi   look at the run afterwards
  kirin match --a net:runs/minishogi@latest --b net:runs/minishogi@first`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return nil
			}
			return unknown(cmd, args[0])
		},
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, _ []string) error {
			// GUIs start a program without arguments and speak to it.
			if f, ok := cmd.InOrStdin().(*os.File); ok && term.IsTerminal(int(f.Fd())) {
				return cmd.Help()
			}
			v, err := rules.Load(configs.Presets()[0])
			if err != nil {
				return err
			}
			return engine.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), engineConfig(v, "", engine.DefaultOptions()))
		},
	}
	root.AddCommand(
		newTrain(), newSelfplay(), newLearn(), newMatch(), newRate(), newWatch(), newExport(),
		newCheck(), newReplay(), newConfig(), newPerft(), newMoves(), newShow(), newVersion(), newEngine(), newAnalyze(), newPlay(), newMate(), newBench(), newFleet(), newExperiment(),
	)
	// cobra's own commands print a page of help for a word that they do not know.
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Example = "  kirin help train"
			cmd.Args = func(_ *cobra.Command, args []string) error {
				at, rest, _ := root.Find(args)
				if len(rest) > 0 {
					return unknown(at, rest[0])
				}
				return nil
			}
		case "completion":
			cmd.Example = "  source <(kirin completion bash)"
			cmd.RunE = func(cmd *cobra.Command, args []string) error { return cmd.Help() }
		}
	}
	complete(root)
	root.SetFlagErrorFunc(wrongFlag)
	return root
}

// wrongFlag says what a flag takes, or where the flags are listed, in the place of
// the library's words.
func wrongFlag(cmd *cobra.Command, err error) error {
	text := err.Error()
	var number *strconv.NumError
	if errors.As(err, &number) {
		what := "a whole number"
		switch {
		case errors.Is(number.Err, strconv.ErrRange):
			what = "no number as large as that"
		case number.Func == "ParseFloat":
			what = "a number"
		case number.Func == "ParseBool":
			what = "true or false"
		}
		text, _, _ = strings.Cut(text, ": strconv.")
		return fmt.Errorf("%s: it takes %s", text, what)
	}
	if text, _, cut := strings.Cut(text, ": time: "); cut {
		return fmt.Errorf("%s: it takes a duration such as 90s, 10m or 2h", text)
	}
	if strings.HasPrefix(text, "unknown") {
		return fmt.Errorf("%s (%s --help lists them)", text, cmd.CommandPath())
	}
	return err
}

// complete gives the shell the words that flags take; for others it has file names.
func complete(root *cobra.Command) {
	words := map[string][]string{
		"variant": rules.Names(),
		"config":  configs.Presets(),
		"level":   protocol.LevelNames(),
		"side":    {"sente", "gote", "both"},
		"format":  slices.Concat(netFormats, gameFormats),
		"net":     {shippedNet},
		"as":      showFormats,
	}
	for _, cmd := range root.Commands() {
		complete(cmd)
		for name, list := range words {
			if cmd.Flags().Lookup(name) != nil {
				cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(list, cobra.ShellCompDirectiveDefault))
			}
		}
	}
}

// unknown is the error of a word that names none of a command's subcommands.
func unknown(cmd *cobra.Command, word string) error {
	hint := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(word); len(near) > 0 {
		hint = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q%s (%s --help lists them)", word, hint, cmd.CommandPath())
}

// untold keeps a default that stands for what the flag's text says out of the help.
func untold(cmd *cobra.Command, name string) { cmd.Flags().Lookup(name).DefValue = "0" }

// exactly wants one argument, and says what it is.
func exactly(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return nil
		}
		return fmt.Errorf("%d arguments; give one, %s", len(args), what)
	}
}
