package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"kirin/configs"
	"kirin/selfplay/fleet"

	"github.com/spf13/cobra"
)

// fleetFlags are the flags of the fleet commands.
type fleetFlags struct {
	dir      string
	url, web string
	queue    string
	out      string
	guest    bool
	asJSON   bool
}

func newFleet() *cobra.Command {
	f := fleetFlags{dir: "runs/" + configs.Presets()[0], queue: fleet.DefaultQueue}
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Invite workers to a run on several machines, and see what they do",
		Long: `Fleet deals with the workers of a run that was started with --listen or --nats.
As long as nobody is invited, the trainer listens on this machine only (or, with
--open, lets everyone in). With invitations it wants a key of each worker and
encrypts what travels.`,
		Example: `  kirin fleet invite --dir runs/minishogi --url nats://desk.example:5475 laptop
  kirin fleet status --dir runs/minishogi
  kirin fleet revoke --dir runs/minishogi laptop`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().Var((*given)(&f.dir), "dir", "folder of the run")

	invite := &cobra.Command{
		Use:   "invite NAME",
		Short: "Make a key for a worker and write its invitation",
		Long: `Invite writes a file that lets one worker join: kirin selfplay --join FILE. It
holds a secret; send it as you would a password. A worker's key lets it send its
own games and read weights, nothing else. A guest (--guest), somebody whom you do
not know, may only use the HTTPS side, where size and rate are limited. The first
invitation takes effect at the trainer's next start, later ones at once.`,
		Example: "  kirin fleet invite --dir runs/minishogi --url nats://desk.example:5475 laptop",
		Args:    exactly("the NAME of a worker"),
		RunE:    func(cmd *cobra.Command, args []string) error { return f.invite(cmd.ErrOrStderr(), args[0]) },
	}
	invite.Flags().Var((*given)(&f.url), "url", "where the worker reaches the queue: nats://HOST:PORT")
	invite.Flags().Var((*given)(&f.web), "web", "where it reaches the HTTPS side (default: https, the same host, the next port)")
	invite.Flags().Var((*given)(&f.queue), "queue", "name of the run's queue")
	invite.Flags().Var((*given)(&f.out), "out", "file of the invitation (default NAME.kirin)")
	invite.Flags().BoolVar(&f.guest, "guest", false, "for somebody whom you do not know: HTTPS only, with limits")
	invite.MarkFlagRequired("url")

	revoke := &cobra.Command{
		Use:     "revoke NAME",
		Short:   "End a worker's key; its connections are shut within a second",
		Example: "  kirin fleet revoke --dir runs/minishogi laptop",
		Args:    exactly("the NAME of a worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := f.keys()
			if err != nil {
				return err
			}
			if err := keys.Revoke(args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "the key of %s counts no more; kirin fleet invite makes a new one\n", args[0])
			return nil
		},
	}
	release := &cobra.Command{
		Use:     "release NAME",
		Short:   "Let the games of a quarantined worker count again; a trainer that runs notices within a second",
		Example: "  kirin fleet release --dir runs/minishogi laptop",
		Args:    exactly("the NAME of a worker"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := openRun(f.dir)
			if err != nil {
				return err
			}
			q, err := fleet.OpenQuarantine(r.fleetDir())
			if err != nil {
				return err
			}
			return q.Release(args[0])
		},
	}
	list := &cobra.Command{
		Use:     "list",
		Short:   "List the keys of a run",
		Example: "  kirin fleet list --dir runs/minishogi --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.list(cmd.OutOrStdout()) },
	}
	status := &cobra.Command{
		Use:     "status",
		Short:   "Show workers, their nets and rates, the backlog and what was turned away",
		Example: "  kirin fleet status --dir runs/minishogi",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.status(cmd.OutOrStdout()) },
	}
	for _, c := range []*cobra.Command{list, status} {
		c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	}
	cmd.AddCommand(invite, revoke, release, list, status)
	return cmd
}

func (f *fleetFlags) keys() (*fleet.Keys, error) {
	r, err := openRun(f.dir)
	if err != nil {
		return nil, err
	}
	return fleet.OpenKeys(r.fleetDir())
}

func (f *fleetFlags) invite(stderr io.Writer, name string) (err error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Scheme != "nats" && u.Scheme != "tls" || u.Port() == "" {
		return fmt.Errorf("--url %s: write nats://HOST:PORT", f.url)
	}
	if f.web == "" {
		next, err := nextPort(u.Host)
		if err != nil {
			return fmt.Errorf("--url: %w", err)
		}
		f.web = "https://" + next
	}
	if !strings.HasPrefix(f.web, "https://") {
		return fmt.Errorf("--web %s: write https://HOST:PORT", f.web)
	}
	if err := errors.Join(fleet.CheckName(name), fleet.CheckQueue(f.queue)); err != nil {
		return err
	}
	if f.out == "" {
		f.out = name + ".kirin"
	}
	keys, err := f.keys()
	if err != nil {
		return err
	}
	// The file comes first: a key whose secret was not written is of no use to anybody.
	file, err := os.OpenFile(f.out, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("--out: %s exists", f.out)
	}
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	defer func() {
		if err = errors.Join(err, file.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.out))
		}
	}()
	r, err := openRun(f.dir)
	if err != nil {
		return err
	}
	authority, err := fleet.OpenAuthority(r.fleetDir(), time.Now())
	if err != nil {
		return err
	}
	inv, err := keys.Invite(name, f.guest, time.Now())
	if err != nil {
		return err
	}
	inv.Queue, inv.Web, inv.CA = f.queue, f.web, string(authority.PEM())
	if !f.guest {
		inv.URL = f.url
	}
	b, err := json.MarshalIndent(inv, "", "  ")
	if err != nil {
		return err
	}
	if _, err := file.Write(append(b, '\n')); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stderr, "%s is secret; on the other machine: kirin selfplay --join %s\n", f.out, f.out)
	return err
}

func (f *fleetFlags) list(w io.Writer) error {
	keys, err := f.keys()
	if err != nil {
		return err
	}
	all := keys.List()
	if f.asJSON {
		return json.NewEncoder(w).Encode(all)
	}
	if len(all) == 0 {
		fmt.Fprintln(w, "nobody is invited")
	}
	for _, k := range all {
		kind, state := "worker", "valid"
		if k.Guest {
			kind = "guest"
		}
		if k.Revoked {
			state = "revoked"
		}
		fmt.Fprintf(w, "%-24s %-7s %-8s invited %s\n", k.Name, kind, state, k.Created.Format(time.DateOnly))
	}
	return nil
}

func (f *fleetFlags) status(w io.Writer) error {
	r, err := openRun(f.dir)
	if err != nil {
		return err
	}
	s, err := fleet.ReadStatus(r.fleetDir())
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s has not been open to workers: kirin train --dir %s --listen HOST:PORT", r.dir, r.dir)
	}
	if err != nil {
		return err
	}
	if f.asJSON {
		return json.NewEncoder(w).Encode(s)
	}
	age := time.Since(s.Time)
	state := ""
	if age > time.Minute && !r.locked() {
		state = "; no trainer works on the run now"
	}
	fmt.Fprintf(w, "as of %s ago%s\n", span(age), state)
	fmt.Fprintf(w, "queue %s, weights %s, net of step %d\n", s.Queue, s.Web, s.State.Step)
	fmt.Fprintf(w, "backlog %d games (%s bytes), %d taken and not in a shard yet, nets of arriving games %.0f steps old\n", s.Backlog, count(float64(s.Bytes)), s.Open, s.Staleness)
	for _, reason := range sortedKeys(s.Refused) {
		fmt.Fprintf(w, "turned away: %-16s %d\n", reason, s.Refused[reason])
	}
	for _, k := range s.Workers {
		note := k.Waiting
		if k.Quarantined != "" {
			note = "QUARANTINED: " + k.Quarantined
		} else if k.Last != "" {
			note = strings.TrimSpace(note + "  last refusal: " + k.Last)
		}
		fmt.Fprintf(w, "%-24s seen %6s ago  %7d games  %6.2f/s  net %d  kirin %s %s  outbox %d  %s\n",
			k.Name, span(s.Time.Sub(k.Seen)), k.Games, k.Rate, k.Step, k.Version, k.Kernel, k.Outbox, note)
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
