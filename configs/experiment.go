package configs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"kirin/selfplay/match"

	"github.com/goccy/go-yaml"
)

// Experiment is a table of configurations that are compared: each is trained
// from each seed for the same CPU time, and the nets that result are rated
// together.
type Experiment struct {
	// Name is that of the file.
	Name string `yaml:"-"`
	// About says in a sentence what is asked.
	About string `yaml:"about"`
	// Base is the preset or file on which every configuration builds.
	Base string `yaml:"base"`
	// Set are settings, key=value, of every configuration.
	Set []string `yaml:"set"`
	// Seeds are the seeds from which each configuration is trained.
	Seeds []uint64 `yaml:"seeds"`
	// CPU is the CPU time of each run.
	CPU time.Duration `yaml:"cpu"`
	// Match says how the nets are rated.
	Match ExperimentMatch `yaml:"match"`
	// Variants are the configurations; differences are counted from the first.
	Variants []ExperimentVariant `yaml:"variants"`
}

// ExperimentMatch says how the nets of an experiment are rated.
type ExperimentMatch struct {
	// Limit is how long a net thinks: settings of match.ParsePlayer, such as
	// sims=64 or movetime=50ms.
	Limit string `yaml:"limit"`
	// Games is the number of games between two nets that meet, in pairs.
	Games int `yaml:"games"`
	// Meet is how many other nets each net meets, 0 for all of them.
	Meet int `yaml:"meet"`
	// Anchors are players that every net meets; random stands at 0 Elo. Engines
	// are named as in kirin match.
	Anchors []string `yaml:"anchors"`
	// AnchorGames is the number of games against each of them, in pairs.
	AnchorGames int `yaml:"anchor_games"`
	// OpeningPlies is the number of random plies before each pair of games.
	OpeningPlies int `yaml:"opening_plies"`
	// Seed fixes the openings and the players' choices.
	Seed uint64 `yaml:"seed"`
}

// ExperimentVariant is one configuration.
type ExperimentVariant struct {
	Name  string   `yaml:"name"`
	About string   `yaml:"about"`
	Set   []string `yaml:"set"`
	// Limit replaces match.limit for the nets of this configuration.
	Limit string `yaml:"limit"`
}

// DefaultExperiment returns what holds where a file says nothing.
func DefaultExperiment() Experiment {
	return Experiment{
		Base:  basePreset,
		Seeds: []uint64{1, 2, 3},
		CPU:   10 * time.Minute,
		Match: ExperimentMatch{Limit: "sims=64", Games: 10, Anchors: []string{"random", "material"}, AnchorGames: 10, OpeningPlies: 6, Seed: 1},
	}
}

// ReadExperiment reads and checks an experiment's file. Its errors name the
// file and report every fault at once.
func ReadExperiment(file string) (*Experiment, error) {
	info, err := os.Stat(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file", file)
	case err != nil:
		return nil, err
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s: %d bytes is too large for an experiment", file, info.Size())
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	e, err := parseExperiment(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	e.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("%s has faults:\n  %s", file, strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return e, nil
}

func parseExperiment(text []byte) (e *Experiment, err error) {
	defer func() {
		if p := recover(); p != nil { // the decoder does so over some tags
			e, err = nil, fmt.Errorf("no YAML that can be read: %v", p)
		}
	}()
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("not a text file")
	}
	x := DefaultExperiment()
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(&x); err != nil && !errors.Is(err, io.EOF) {
		return nil, errors.New(oneLine(err))
	}
	return &x, nil
}

// experimentName is what experiments and configurations may be called: they
// become names of files.
var experimentName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,39}$`)

// Validate reports every fault at once. It builds every configuration.
func (e *Experiment) Validate() error {
	var errs []error
	bad := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(!experimentName.MatchString(e.Name), "file: %q cannot name an experiment: letters, digits and . _ + - are possible", e.Name)
	bad(e.CPU < time.Second, "cpu: %v is shorter than 1s", e.CPU)
	bad(len(e.Seeds) == 0, "seeds: none given")
	for i, s := range e.Seeds {
		bad(slices.Contains(e.Seeds[:i], s), "seeds: %d is given twice", s)
	}
	m := e.Match
	bad(m.Games < 2 || m.Games%2 != 0, "match.games: %d is not an even number from 2 on (openings are played from both sides)", m.Games)
	bad(m.AnchorGames < 0 || m.AnchorGames%2 != 0, "match.anchor_games: %d is not an even number from 0 on", m.AnchorGames)
	bad(m.Meet < 0, "match.meet: %d is negative (0 stands for all)", m.Meet)
	bad(m.OpeningPlies < 0, "match.opening_plies: %d is negative", m.OpeningPlies)
	names := map[string]string{}
	for i, text := range m.Anchors {
		s, err := match.ParsePlayer(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("match.anchors: %w", err))
		} else if s.Kind == "net" {
			errs = append(errs, fmt.Errorf("match.anchors: %s: a net is no fixed opponent here; name an engine, random or material", text))
		}
		bad(names[s.Name] != "", "match.anchors: two are called %q: add name=TEXT", s.Name)
		names[s.Name] = m.Anchors[i]
	}
	bad(len(e.Variants) == 0, "variants: none given")
	game := ""
	for i, v := range e.Variants {
		where := fmt.Sprintf("variants[%d] %s", i, v.Name)
		bad(!experimentName.MatchString(v.Name), "%s: the name is not made of letters, digits and . _ + - (at most 40)", where)
		bad(slices.ContainsFunc(e.Variants[:i], func(o ExperimentVariant) bool { return strings.EqualFold(o.Name, v.Name) }), "%s: the name is given twice", where)
		if _, err := e.Player(v, "x"); err != nil {
			errs = append(errs, fmt.Errorf("%s: limit: %w", where, err))
		}
		r, err := Load(e.Base, e.Settings(v, 1)...)
		if err == nil {
			err = r.Validate()
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %s", where, strings.ReplaceAll(err.Error(), "\n", "; ")))
			continue
		}
		plays := fmt.Sprint(r.Variant, r.Rules)
		bad(game != "" && plays != game, "%s: it plays another game or other rules than the first configuration", where)
		if game == "" {
			game = plays
		}
	}
	return errors.Join(errs...)
}

// Settings are the settings of a run, those that an experiment needs of every
// run included: no rating games, which would take CPU time, and no page.
func (e *Experiment) Settings(v ExperimentVariant, seed uint64) []string {
	sets := slices.Concat(e.Set, v.Set)
	return append(sets, fmt.Sprintf("seed=%d", seed), "rating.every=0", "web.address=")
}

// Player is the player that a configuration's net becomes; its Arg, the file,
// is left to the caller.
func (e *Experiment) Player(v ExperimentVariant, name string) (match.Spec, error) {
	limit := v.Limit
	if limit == "" {
		limit = e.Match.Limit
	}
	text := "net:x"
	if limit != "" {
		text += "," + limit
	}
	s, err := match.ParsePlayer(text)
	s.Name = name
	return s, err
}
