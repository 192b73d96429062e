package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"kirin/configs"
	"kirin/dataset"
	"kirin/dataset/whole"
	"kirin/network"
	"kirin/network/encode"
	"kirin/rules"
	"kirin/selfplay/match"

	"github.com/spf13/cobra"
)

// exportFlags are the flags of export.
type exportFlags struct {
	net, games, format, out string
}

// netFormats and gameFormats say what export can write.
var (
	netFormats  = []string{"onnx", "safetensors"}
	gameFormats = []string{"usi", "kif", "csa", "parquet"}
)

func newExport() *cobra.Command {
	var f exportFlags
	cmd := &cobra.Command{
		Use:   "export",
		Short: "Write a net or games for other programs",
		Long: `Export writes a net as
  onnx          for onnxruntime and others; beside NAME.onnx a table of the
                policy's indices (NAME.moves.tsv) and a list of the input planes
                (NAME.planes.txt). docs/nets.md says how to feed it
  safetensors   the weights with their metadata
or the games of a run, or of a match's journal, as
  usi           one game a line: position sfen ... moves ...
  kif           a folder with a KIF file a game, with evaluations as comments
  csa           all games in one CSA file, divided by lines / (shogi only)
  parquet       all shards of a run in one file, for DuckDB, pandas and others`,
		Example: `  kirin export --net runs/minishogi@latest --format onnx --out minishogi.onnx
  kirin export --games runs/minishogi --format parquet --out games.parquet`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return f.run(cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.net, "net", "", "net to export: FILE, RUN or RUN@latest, RUN@first, RUN@STEP, shipped (the one for "+configs.Presets()[0]+")")
	fl.StringVar(&f.games, "games", "", "run, or journal of a match, whose games to export")
	fl.StringVar(&f.format, "format", "", "nets: "+strings.Join(netFormats, ", ")+"; games: "+strings.Join(gameFormats, ", "))
	fl.StringVar(&f.out, "out", "", "file to write (usi, csa: - for standard output)")
	cmd.MarkFlagRequired("format")
	cmd.MarkFlagRequired("out")
	return cmd
}

func (f *exportFlags) run(stdout, stderr io.Writer) error {
	switch {
	case (f.net == "") == (f.games == ""):
		return errors.New("give either --net or --games")
	case f.net != "" && !slices.Contains(netFormats, f.format):
		return fmt.Errorf("--format %s: a net is written as %s", f.format, strings.Join(netFormats, " or "))
	case f.games != "" && !slices.Contains(gameFormats, f.format):
		return fmt.Errorf("--format %s: games are written as %s", f.format, strings.Join(gameFormats, " or "))
	case f.out == "-" && !slices.Contains(streamFormats, f.format):
		return fmt.Errorf("--out -: only %s go to standard output", strings.Join(streamFormats, " and "))
	}
	if run := runOf(f.out); f.out != "-" && run != "" {
		return fmt.Errorf("--out %s: that is inside the run %s, whose files are its own", f.out, run)
	}
	if f.out != "-" && f.format != "kif" { // which is a folder
		if err := writable(f.out); err != nil {
			return fmt.Errorf("--out: %w", err)
		}
	}
	if f.net != "" {
		return f.exportNet(stderr)
	}
	return f.exportGames(stdout, stderr)
}

func (f *exportFlags) exportNet(stderr io.Writer) error {
	w, file, err := readNet(f.net, configs.Presets()[0])
	if err != nil {
		return err
	}
	if f.format == "safetensors" {
		sum, err := network.WriteWeights(f.out, w)
		if err == nil {
			fmt.Fprintf(stderr, "%s: net %s of step %d, sha256 %s\n", f.out, w.Form.Spec, w.Meta.Step, sum)
		}
		return err
	}
	v, err := loadRules(w.Meta.Variant, w.Meta.Rules)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	enc, err := encode.New(v)
	if err != nil {
		return err
	}
	if err := fits(w, v, enc); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := network.WriteONNX(f.out, w); err != nil {
		return err
	}
	base := strings.TrimSuffix(f.out, filepath.Ext(f.out))
	moves, planes := base+".moves.tsv", base+".planes.txt"
	if err := errors.Join(writeTable(moves, enc.WriteMoves), writeTable(planes, enc.WritePlanes)); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: net %s of step %d; its policy indices: %s, its input planes: %s\n", f.out, w.Form.Spec, w.Meta.Step, moves, planes)
	return nil
}

// streamFormats can be written to standard output.
var streamFormats = []string{"usi", "csa"}

// runOf is the run in whose folder a path lies, or "".
func runOf(path string) string {
	path, err := filepath.Abs(path)
	if err != nil {
		return ""
	}
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		if r := (&runDir{dir: dir}); isRun(r) {
			return dir
		}
		if dir == filepath.Dir(dir) {
			return ""
		}
	}
}

func isRun(r *runDir) bool {
	for _, name := range []string{"config.yaml", "games", "weights", "train"} {
		if _, err := os.Stat(r.path(name)); err != nil {
			return false
		}
	}
	return true
}

// writeTable makes a file whole of what write writes.
func writeTable(path string, write func(io.Writer) error) error {
	t, err := whole.Create(path)
	if err != nil {
		return err
	}
	buf := bufio.NewWriter(t)
	if err := errors.Join(write(buf), buf.Flush()); err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", path, err), t.Abort())
	}
	return t.Commit()
}

// loadRules loads a game from what files record of its rules.
func loadRules(name, recorded string) (*rules.Variant, error) {
	if recorded == "" || recorded == "default" {
		return rules.Load(name)
	}
	return rules.Load(name, strings.Split(recorded, ",")...)
}

func (f *exportFlags) exportGames(stdout, stderr io.Writer) error {
	games, err := f.openGames(stderr)
	if err != nil || games == nil {
		return err
	}
	if f.format == "kif" {
		return f.exportKIF(games, stderr)
	}
	write := writeUSI
	if f.format == "csa" {
		write = writeCSA
	}
	if f.out == "-" {
		_, err := write(stdout, games)
		return err
	}
	file, err := whole.Create(f.out)
	if err != nil {
		return err
	}
	n, err := write(file, games)
	if err != nil {
		return errors.Join(err, file.Abort())
	}
	if err := file.Commit(); err != nil {
		return err
	}
	fmt.Fprintf(stderr, "%s: %d games\n", f.out, n)
	return nil
}

// openGames opens the games of a run or of a match's journal; nil if they are
// written already, as Parquet is.
func (f *exportFlags) openGames(stderr io.Writer) (iter.Seq2[exported, error], error) {
	if info, err := os.Stat(f.games); err == nil && !info.IsDir() {
		if f.format == "parquet" {
			return nil, fmt.Errorf("--games %s: the games of a match are written as usi, kif or csa", f.games)
		}
		data, err := os.ReadFile(f.games)
		if err != nil {
			return nil, err
		}
		h, games, err := match.ReadJournal(bytes.NewReader(data))
		if err != nil {
			return nil, fmt.Errorf("--games %s: %w", f.games, err)
		}
		return journalGames(h, games)
	}
	r, err := openRun(f.games)
	if err != nil {
		return nil, err
	}
	store, err := dataset.OpenStore(r.path("games"), r.cfg.Data)
	if err != nil {
		return nil, err
	}
	if f.format == "parquet" {
		n, err := store.Merge(f.out)
		if err == nil {
			fmt.Fprintf(stderr, "%s: %d games\n", f.out, n)
		}
		return nil, err
	}
	return runGames(r.variant, store), nil
}
