package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"kirin/network"
)

// Small programs that are handed to other programs on their standard input.
var (
	//go:embed peers/fairy.js
	fairyScript string
	//go:embed peers/shogiops.js
	shogiopsScript string
	//go:embed peers/onnx.js
	onnxScript string
	//go:embed peers/torch.py
	torchScript string
)

// peerLimit ends a peer that stalls.
const peerLimit = 5 * time.Minute

// perftPeer is another program that counts positions.
type perftPeer struct {
	name    string
	shorter int // plies that it counts less, because it is slow
	// count counts to depth and returns the nodes and the CPU-seconds, start-up
	// left out.
	count func(ctx context.Context, depth int) (nodes, seconds float64, err error)
}

// perftPeers finds the programs that know a game.
func perftPeers(ctx context.Context, game string) []perftPeer {
	var found []perftPeer
	script := func(name, check, script string, shorter int) {
		if nodeHas(ctx, check) {
			found = append(found, perftPeer{name, shorter, func(ctx context.Context, depth int) (float64, float64, error) {
				return numbers(ctx, script, "node", "-", game, strconv.Itoa(depth))
			}})
		}
	}
	if path := findProgram("fairy-stockfish"); path != "" && (game == "shogi" || game == "minishogi") {
		commands := fmt.Sprintf("usi\nsetoption name UCI_Variant value %s\nposition startpos\n", game)
		found = append(found, perftPeer{"fairy-stockfish", 0, func(ctx context.Context, depth int) (float64, float64, error) {
			return countBeyondStart(ctx, commands, fmt.Sprintf("go perft %d\n", depth), fairyNodes, path)
		}})
	}
	if game == "torishogi" {
		script("fairy-stockfish wasm", `require.resolve("fairy-stockfish-nnue.wasm/stockfish.js")`, fairyScript, 0)
	}
	if path := findProgram("sjaakii"); path != "" && game != "chushogi" {
		commands := fmt.Sprintf("xboard\nprotover 2\nvariant %s\n", game)
		found = append(found, perftPeer{"sjaakii", 0, func(ctx context.Context, depth int) (float64, float64, error) {
			return countBeyondStart(ctx, commands, fmt.Sprintf("perft %d\n", depth), func(line string) (string, bool) { return sjaakNodes(line, depth) }, path)
		}})
	}
	if game == "chushogi" {
		script("shogiops", shogiopsScript, shogiopsScript, 1)
	}
	return found
}

// fairyNodes reads "Nodes searched: 719731".
func fairyNodes(line string) (string, bool) { return strings.CutPrefix(line, "Nodes searched: ") }

// sjaakNodes reads " 4  719731  0.08  8900000.00nps", a line for each depth.
func sjaakNodes(line string, depth int) (string, bool) {
	f := strings.Fields(line)
	if len(f) != 4 || f[0] != strconv.Itoa(depth) || !strings.HasSuffix(f[3], "nps") {
		return "", false
	}
	return f[1], true
}

// countBeyondStart runs a program twice, with the command that counts and
// without, and takes the difference of their CPU times.
func countBeyondStart(ctx context.Context, commands, count string, nodes func(line string) (string, bool), path string) (float64, float64, error) {
	_, idle, err := output(ctx, commands+"quit\n", path)
	if err != nil {
		return 0, 0, err
	}
	out, busy, err := output(ctx, commands+count+"quit\n", path)
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(out) {
		if text, ok := nodes(strings.TrimRight(line, "\r\n")); ok {
			n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil {
				return 0, 0, fmt.Errorf("%s: %q is not a count", path, text)
			}
			return n, max(busy-idle, 1e-6), nil
		}
	}
	return 0, 0, fmt.Errorf("%s answers no count to %s", path, strings.TrimSpace(count))
}

// output runs a program and returns what it writes and its CPU-seconds.
func output(ctx context.Context, input, path string, args ...string) (string, float64, error) {
	ctx, cancel := context.WithTimeout(ctx, peerLimit)
	defer cancel()
	c := exec.CommandContext(ctx, path, args...)
	var errs bytes.Buffer
	c.Stdin, c.Stderr = strings.NewReader(input), &errs
	out, err := c.Output()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		first, _, _ := strings.Cut(strings.TrimSpace(errs.String()), "\n")
		return "", 0, fmt.Errorf("%s: %w %s", filepath.Base(path), err, first)
	}
	return string(out), (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), nil
}

// numbers runs a script that prints one or two numbers.
func numbers(ctx context.Context, script, path string, args ...string) (a, b float64, err error) {
	out, _, err := output(ctx, script, path, args...)
	if err != nil {
		return 0, 0, err
	}
	if n, _ := fmt.Sscan(out, &a, &b); n == 0 || !(a > 0) || n == 2 && !(b > 0) {
		return 0, 0, fmt.Errorf("%s prints %q instead of a speed", filepath.Base(path), out)
	}
	return a, b, nil
}

// findProgram looks for a program on the path and in Debian's folder of games.
func findProgram(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	if path := "/usr/games/" + name; fileExists(path) {
		return path
	}
	return ""
}

func fileExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// nodeHas tells whether node is installed and runs a script without fault.
func nodeHas(ctx context.Context, script string) bool {
	_, _, err := output(ctx, script, "node", "-")
	return err == nil
}

func hasONNXRuntime(ctx context.Context) bool { return nodeHas(ctx, `require("onnxruntime-node")`) }

// onnxSpeed is onnxruntime's positions per CPU-second with the net in file.
func onnxSpeed(ctx context.Context, file string, f network.Form, batch int, seconds float64) (float64, error) {
	speed, _, err := numbers(ctx, onnxScript, "node", "-", file, strconv.Itoa(f.Height), strconv.Itoa(f.Width), strconv.Itoa(f.Planes), strconv.Itoa(batch), fmt.Sprint(seconds))
	return speed, err
}

// torchPython finds a Python that has torch, "" if there is none.
func torchPython(ctx context.Context) string {
	for _, path := range []string{"python3", "/usr/bin/python3"} { // the system's own may have what the first has not
		if _, _, err := output(ctx, "import torch", path, "-"); err == nil {
			return path
		}
	}
	return ""
}

// torchSpeed is torch's samples per CPU-second with a net of that form.
func torchSpeed(ctx context.Context, python string, f network.Form, batch, threads int, seconds float64) (float64, error) {
	args := []string{"-"}
	for _, n := range []int{f.Height, f.Width, f.Planes, f.PolicyPlanes, f.Spec.Blocks, f.Spec.Channels, f.Spec.PoolEvery, batch} {
		args = append(args, strconv.Itoa(n))
	}
	speed, _, err := numbers(ctx, torchScript, python, append(args, fmt.Sprint(seconds), strconv.Itoa(threads))...)
	return speed, err
}
