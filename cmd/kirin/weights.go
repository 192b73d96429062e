package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"kirin/dataset/whole"
	"kirin/network"
)

// pointer names a net of a run: the content of weights/latest.
type pointer struct {
	step int
	sum  string // sha256 of the file, hex
}

const weightsSuffix = ".safetensors"

func (r *runDir) weightsFile(step int) string {
	return r.path("weights", stepName(step)+weightsSuffix)
}

// publish writes a net and then points weights/latest at it.
func (r *runDir) publish(w *network.Weights, step int) (pointer, error) {
	file := r.weightsFile(step)
	sum, err := network.WriteWeights(file, w)
	if err != nil {
		return pointer{}, err
	}
	p := pointer{step, sum}
	return p, whole.WriteFile(r.path("weights", "latest"), fmt.Appendf(nil, "%s %s\n", filepath.Base(file), p.sum))
}

// latest reads weights/latest; fs.ErrNotExist when nothing was published yet.
func (r *runDir) latest() (pointer, error) {
	file := r.path("weights", "latest")
	b, err := os.ReadFile(file)
	if err != nil {
		return pointer{}, err
	}
	name, sum, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	digits, ok := strings.CutSuffix(name, weightsSuffix)
	step, err := strconv.Atoi(digits)
	if !ok || err != nil || step < 0 || len(sum) != 64 {
		return pointer{}, fmt.Errorf("%s: damaged: it should name a file and its sha256; delete it and start kirin train again, which writes it anew", file)
	}
	return pointer{step, sum}, nil
}

// readNet reads the net a pointer names and checks that it is that very file.
func (r *runDir) readNet(p pointer) (*network.Weights, error) {
	file := r.weightsFile(p.step)
	w, err := network.ReadWeights(file)
	if err != nil {
		return nil, err
	}
	if sum, err := w.Sum(); err != nil || sum != p.sum {
		return nil, fmt.Errorf("%s: its sha256 is not %.12s; was it copied from another run?", file, p.sum)
	}
	return w, nil
}

// shippedNet is the text that names the net built into the program.
const shippedNet = "shipped"

// readNet reads the net that a player's text names, with or without "net:" before
// it, and says where it was found.
func readNet(text, variant string) (w *network.Weights, name string, err error) {
	text = strings.TrimPrefix(text, "net:")
	if text == shippedNet {
		w, err = network.Shipped(variant)
		return w, "shipped net", err
	}
	file, err := netFile(text)
	if err != nil {
		return nil, "", err
	}
	w, err = network.ReadWeights(file)
	return w, file, err
}

// netFile finds the file that a player's text names: a weights file, a run's
// folder, RUN@latest, RUN@first or RUN@STEP.
func netFile(text string) (string, error) {
	if info, err := os.Stat(text); err == nil && !info.IsDir() {
		return text, nil
	}
	dir, which := text, "latest"
	if i := strings.LastIndexByte(text, '@'); i >= 0 {
		dir, which = text[:i], text[i+1:]
	}
	all, err := steps(filepath.Join(dir, "weights"), weightsSuffix)
	if err != nil {
		return "", err
	}
	if len(all) == 0 {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("net %q: there is no such file or run", text)
		}
		return "", fmt.Errorf("net %q: %s holds no weights yet", text, dir)
	}
	r := &runDir{dir: dir}
	switch which {
	case "first":
		return r.weightsFile(all[0]), nil
	case "latest":
		// Files of later steps may be left from before the run went back to an earlier checkpoint.
		if p, err := r.latest(); err == nil && slices.Contains(all, p.step) {
			return r.weightsFile(p.step), nil
		}
		return r.weightsFile(all[len(all)-1]), nil
	}
	step, err := strconv.Atoi(which)
	if err != nil || step < 0 {
		return "", fmt.Errorf("net %q: write %s@latest, %s@first or %s@STEP", text, dir, dir, dir)
	}
	if slices.Contains(all, step) {
		return r.weightsFile(step), nil
	}
	return "", fmt.Errorf("net %q: the run holds no weights of step %d (it has %d nets from step %d to %d)", text, step, len(all), all[0], all[len(all)-1])
}

// thinWeights removes nets in excess of keep.
func (r *runDir) thinWeights(keep int) error {
	all, err := steps(r.path("weights"), weightsSuffix)
	if err != nil {
		return err
	}
	var faults error
	for _, step := range thinned(all, keep) {
		faults = errors.Join(faults, os.Remove(r.weightsFile(step)))
	}
	return faults
}

// thinned lists which of some ascending steps to give up so that keep are left:
// those that lie closest between their neighbours, so that what stays is spread
// evenly over the run. The first and the newest quarter of keep stay.
func thinned(all []int, keep int) (out []int) {
	all = slices.Clone(all)
	for len(all) > max(keep, 2) {
		closest := 1
		for i := 2; i < len(all)-max(keep/4, 1); i++ {
			if all[i+1]-all[i-1] < all[closest+1]-all[closest-1] {
				closest = i
			}
		}
		out = append(out, all[closest])
		all = slices.Delete(all, closest, closest+1)
	}
	return out
}
