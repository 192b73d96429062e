package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"kirin/configs"

	"github.com/spf13/cobra"
)

// configFlags are the flags with which a configuration is named.
type configFlags struct {
	config string
	sets   []string
}

func (f *configFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "preset or YAML file (presets: "+strings.Join(configs.Presets(), ", ")+"; default of a new run "+configs.Presets()[0]+")")
	cmd.Flags().StringArrayVar(&f.sets, "set", nil, "change one key, for example --set train.batch_size=128 (repeatable)")
}

// load builds and checks the configuration.
func (f *configFlags) load() (*configs.Run, error) {
	r, err := configs.Load(f.config, f.sets...)
	if err != nil {
		return nil, err
	}
	return r, checkConfig(r)
}

func checkConfig(r *configs.Run) error {
	if err := r.Validate(); err != nil {
		return fmt.Errorf("the configuration has faults:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return nil
}

func newConfig() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "List, show and check configurations",
		Long: `A configuration is a preset or a YAML file that changes some keys of one, plus
--set key=value. "kirin config show" prints the complete result with a comment
on every key; redirected into a file it is a good start for your own.`,
		Example: "  kirin config show --config minishogi-quick > mine.yaml\n  kirin train --config mine.yaml",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newConfigList(), newConfigShow(), newConfigCheck())
	return cmd
}

func newConfigList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the embedded presets",
		Example: "  kirin config list",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			type row struct{ Name, About string }
			var rows []row
			for _, name := range configs.Presets() {
				about, err := configs.About(name)
				if err != nil {
					return err
				}
				rows = append(rows, row{name, about})
			}
			if asJSON {
				return json.NewEncoder(cmd.OutOrStdout()).Encode(rows)
			}
			for _, r := range rows {
				fmt.Fprintf(cmd.OutOrStdout(), "%-16s %s\n", r.Name, r.About)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func newConfigShow() *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use:     "show",
		Short:   "Print the complete configuration with comments",
		Example: "  kirin config show --config minishogi --set net.spec=3x32",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			r, err := f.load()
			if err != nil {
				return err
			}
			text, err := r.Text()
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	f.add(cmd)
	return cmd
}

func newConfigCheck() *cobra.Command {
	var f configFlags
	cmd := &cobra.Command{
		Use:     "check [FILE]",
		Short:   "Report every fault of a configuration",
		Example: "  kirin config check mine.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				if f.config != "" {
					return fmt.Errorf("name the configuration once: %s or --config %s", args[0], f.config)
				}
				f.config = args[0]
			}
			r, err := f.load()
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "no faults (hash %s)\n", r.Hash())
			return err
		},
	}
	f.add(cmd)
	return cmd
}
