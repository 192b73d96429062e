package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"kirin/configs"
	"kirin/network"
	"kirin/network/kernel"
	"kirin/rules"
	"kirin/selfplay/engine"

	"github.com/spf13/cobra"
)

func newEngine() *cobra.Command {
	var g gameFlags
	var net string
	o := engine.DefaultOptions()
	cmd := &cobra.Command{
		Use:   "engine",
		Short: "Play with a net as a USI or CECP (xboard) engine",
		Long: `Engine speaks USI or CECP version 2 on standard input and output, whichever the
GUI begins with. Without --net it takes the newest net of the run of the game's
preset, runs/VARIANT, else the one built into the program, and says which.

Point a GUI at the program with the argument "engine"; started without any
argument and spoken to with "usi" or "xboard", kirin is an engine too.`,
		Example: "  kirin engine --net runs/minishogi@latest\n  kirin engine --variant chushogi --rules lishogi --net chu.safetensors",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			v, err := g.load()
			if err != nil {
				return err
			}
			if net != "" {
				if _, err := openEngineNet(v, net); err != nil {
					return fmt.Errorf("--net: %w", err)
				}
			}
			return engine.Serve(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), engineConfig(v, net, o))
		},
	}
	g.add(cmd)
	fl := cmd.Flags()
	fl.StringVar(&net, "net", "", "net to play with: FILE, RUN or RUN@latest, RUN@first, RUN@STEP, shipped")
	fl.IntVar(&o.Threads, "threads", o.Threads, "threads of a search")
	fl.IntVar(&o.HashMB, "hash", o.HashMB, "memory of the search tree in MB")
	fl.StringVar(&o.Level, "level", o.Level, "strength: beginner, easy, medium, hard or max")
	return cmd
}

// engineConfig is what an engine of v with a net starts from.
func engineConfig(v *rules.Variant, net string, o engine.Options) engine.Config {
	c := engine.Config{
		Name: "kirin " + version, Author: "the kirin authors", Variant: v.Name(), Net: net, Open: openEngineNet, Options: o,
	}
	if r := v.Rules(); r != "default" {
		c.Rules = strings.Split(r, ",")
	}
	return c
}

// openEngineNet opens the net an engine asks for; an empty text means the
// newest net of runs/VARIANT, or else the one built into the program.
func openEngineNet(v *rules.Variant, text string) (engine.Net, error) {
	if text == "" {
		text = filepath.Join("runs", v.Name())
		if _, err := netFile(text); err != nil {
			text = shippedNet
		}
	}
	w, name, err := readNet(text, v.Name())
	if errors.Is(err, network.ErrNotShipped) {
		return engine.Net{}, fmt.Errorf("no net for %s: there is no run %s and %w; train one (kirin train --config %s) or name one (--net FILE, or the engine's option Net)",
			v.Name(), filepath.Join("runs", v.Name()), network.ErrNotShipped, presetOf(v.Name()))
	}
	if err != nil {
		return engine.Net{}, err
	}
	newEval, err := evaluators(w, v, kernel.Best(), name)
	if err != nil {
		return engine.Net{}, err
	}
	return engine.Net{Name: fmt.Sprintf("%s (net %s of step %d)", name, w.Form.Spec, w.Meta.Step), NewEvaluator: newEval}, nil
}

// presetOf is the preset that trains a game.
func presetOf(variant string) string {
	for _, p := range configs.Presets() {
		if p == variant {
			return p
		}
	}
	return configs.Presets()[0]
}
