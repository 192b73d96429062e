package main

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"kirin/dataset"
	"kirin/metrics"

	"github.com/spf13/cobra"
)

func newWatch() *cobra.Command {
	var address string
	cmd := &cobra.Command{
		Use:   "watch RUN...",
		Short: "Show the page of finished or running runs, several laid over each other",
		Long: `Watch serves the page of one or more runs from their folders: it reads, and
changes nothing. A run that is being trained by another process is followed.`,
		Example: "  kirin watch runs/minishogi\n  kirin watch runs/a runs/b --web 127.0.0.1:8080",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("name the run to look at, or several")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			var runs []metrics.Run
			names := map[string]bool{}
			for _, dir := range args {
				r, err := openRun(dir)
				if err != nil {
					return err
				}
				h, err := metrics.ReadHistory(r.path("log.jsonl"))
				if errors.Is(err, fs.ErrNotExist) {
					return fmt.Errorf("%s has not been started yet: it has no log.jsonl", dir)
				}
				if err != nil {
					return err
				}
				store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
				if err != nil {
					return err
				}
				name := filepath.Base(filepath.Clean(dir))
				if names[name] {
					name = filepath.Clean(dir)
				}
				names[name] = true
				runs = append(runs, metrics.Run{
					Name: name, Variant: r.variant.Name(), History: h,
					Source:  &gameSource{variant: r.variant, store: store},
					Ratings: func() []metrics.Rating { rows, _ := r.readRatings(); return rows },
				})
			}
			s, err := metrics.NewServer(metrics.Options{Addr: address, AddrKey: "--web", Runs: runs})
			if err != nil {
				return err
			}
			url, err := s.Start()
			if err != nil {
				return err
			}
			newProgress(cmd.ErrOrStderr()).say("dashboard %s   Ctrl-C ends", url)
			<-cmd.Context().Done()
			return s.Close()
		},
	}
	cmd.Flags().StringVar(&address, "web", "127.0.0.1:5477", "host:port of the page")
	return cmd
}
