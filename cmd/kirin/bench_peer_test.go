package main

import (
	"os"
	"path/filepath"
	"testing"

	"kirin/network"
)

// needed skips a test without another program, unless KIRIN_REQUIRE is "all".
func needed(t *testing.T, there bool, name string) {
	t.Helper()
	switch {
	case there:
	case os.Getenv("KIRIN_REQUIRE") == "all":
		t.Fatalf("%s is not installed, and KIRIN_REQUIRE=all asks for it", name)
	default:
		t.Skipf("%s is not installed", name)
	}
}

// known are counts from the start positions; shogiops counts each writing of a
// move of a lion.
var known = []struct {
	game, peer string
	depth      int
	nodes      float64
}{
	{"shogi", "fairy-stockfish", 3, 25470},
	{"minishogi", "fairy-stockfish", 4, 35401},
	{"torishogi", "fairy-stockfish wasm", 3, 5430},
	{"shogi", "sjaakii", 3, 25470},
	{"minishogi", "sjaakii", 4, 35401},
	{"torishogi", "sjaakii", 3, 5430},
	{"chushogi", "shogiops", 2, 1296},
}

func TestOtherProgramsCountKnownPositions(t *testing.T) {
	for _, k := range known {
		t.Run(k.game+" "+k.peer, func(t *testing.T) {
			found := false
			for _, p := range perftPeers(t.Context(), k.game) {
				if p.name != k.peer {
					continue
				}
				found = true
				if nodes, seconds, err := p.count(t.Context(), k.depth); err != nil || nodes != k.nodes || seconds <= 0 {
					t.Errorf("%v nodes in %v s, %v; want %v nodes", nodes, seconds, err, k.nodes)
				}
			}
			needed(t, found, k.peer)
		})
	}
}

func TestOnnxruntimeRunsTheNetOfTheBenchmark(t *testing.T) {
	needed(t, hasONNXRuntime(t.Context()), "onnxruntime-node")
	w, _, err := randomNet("minishogi", network.Spec{Blocks: 2, Channels: 16, PoolEvery: 2})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "net.onnx")
	if err := network.WriteONNX(file, w); err != nil {
		t.Fatal(err)
	}
	if speed, err := onnxSpeed(t.Context(), file, w.Form, 3, 0.01); err != nil || speed <= 0 {
		t.Errorf("%v positions, %v", speed, err)
	}
}

func TestTorchTrainsTheNetOfTheBenchmark(t *testing.T) {
	python := torchPython(t.Context())
	needed(t, python != "", "torch")
	w, _, err := randomNet("minishogi", network.Spec{Blocks: 2, Channels: 16, PoolEvery: 2})
	if err != nil {
		t.Fatal(err)
	}
	if speed, err := torchSpeed(t.Context(), python, w.Form, 4, 1, 0.01); err != nil || speed <= 0 {
		t.Errorf("%v samples, %v", speed, err)
	}
}
