package network_test

import (
	"encoding/binary"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"kirin/network"
)

// answered holds the outputs of an ONNX file for a batch.
type answered struct {
	policy, wdl, plies []float32
}

// compare checks outputs against the forward pass on the same positions.
func (a *answered) compare(t *testing.T, what string, r *network.Request, f network.Form) {
	t.Helper()
	worst := 0.0
	for i := range r.N {
		for j := r.Offsets[i]; j < r.Offsets[i+1]; j++ {
			worst = max(worst, math.Abs(float64(r.Logits[j]-a.policy[i*f.PolicySize()+int(r.Index[j])])))
		}
		v := r.Values[i]
		for k, x := range []float32{v.Win, v.Draw, v.Loss} {
			worst = max(worst, math.Abs(float64(x-a.wdl[3*i+k])))
		}
		worst = max(worst, math.Abs(float64(r.Plies[i]-a.plies[i]))/network.PliesScale)
	}
	t.Logf("%s: differs by at most %.1e", what, worst)
	if !(worst < 1e-4) {
		t.Errorf("%s: differs by %v", what, worst)
	}
}

var onnxCases = []struct {
	game, spec string
	positions  int
}{{"minishogi", "2x32g2", 40}, {"torishogi", "1x16", 30}, {"shogi", "2x16g1", 30}, {"chushogi", "2x16g2", 20}}

func forward(t *testing.T, w *network.Weights, r *network.Request) {
	t.Helper()
	n, err := network.New(w)
	if err != nil {
		t.Fatal(err)
	}
	n.Forward(network.NewScratch(n), r)
}

func TestTheONNXFileAnswersAsTheNet(t *testing.T) {
	for _, c := range onnxCases {
		w, r := weights(t, c.spec, c.game), request(t, c.game, 3)
		forward(t, w, r)
		data, err := network.EncodeONNX(w)
		if err != nil {
			t.Fatal(err)
		}
		m := parseONNX(t, data)
		f := w.Form
		out := m.run(t, array{[]int{r.N, f.Height, f.Width, f.Planes}, r.Planes})
		a := answered{out["policy"].data, out["wdl"].data, out["plies_left"].data}
		a.compare(t, c.game+" "+c.spec, r, f)
		if m.opset != 17 || m.meta["spec"] != c.spec || m.meta["variant"] != c.game || m.meta["encoder"] != w.Meta.Encoder {
			t.Errorf("opset %d, metadata %v", m.opset, m.meta)
		}
		if names := strings.Join(encoder(t, c.game).PlaneNames(), "\n"); m.meta["plane_names"] != names {
			t.Errorf("plane names %q", m.meta["plane_names"])
		}
	}
}

func TestOnnxruntimeAnswersAsTheNet(t *testing.T) {
	for _, c := range onnxCases {
		w, r := weights(t, c.spec, c.game), request(t, c.game, max(c.positions, *positions))
		forward(t, w, r)
		dir := t.TempDir()
		model := filepath.Join(dir, "net.onnx")
		if err := network.WriteONNX(model, w); err != nil {
			t.Fatal(err)
		}
		f := w.Form
		out := onnxruntime(t, model, r.Planes, r.N, f.Height, f.Width, f.Planes)
		if len(out) != r.N*(f.PolicySize()+4) {
			t.Fatalf("%d numbers", len(out))
		}
		a := answered{policy: out[:r.N*f.PolicySize()], wdl: out[r.N*f.PolicySize() : r.N*(f.PolicySize()+3)], plies: out[r.N*(f.PolicySize()+3):]}
		a.compare(t, c.game+" "+c.spec, r, f)
	}
}

// onnxruntime runs a model with node and onnxruntime-node and returns all
// outputs. The test is skipped without them, unless KIRIN_REQUIRE is "all".
func onnxruntime(t *testing.T, model string, planes []float32, shape ...int) []float32 {
	t.Helper()
	if out, err := exec.Command("node", "-e", "require('onnxruntime-node')").CombinedOutput(); err != nil {
		if os.Getenv("KIRIN_REQUIRE") == "all" {
			t.Fatalf("node with the package onnxruntime-node (in NODE_PATH) is missing: %v\n%s", err, out)
		}
		t.Skip("node with the package onnxruntime-node (in NODE_PATH) is missing")
	}
	dir := t.TempDir()
	in, out := filepath.Join(dir, "planes"), filepath.Join(dir, "out")
	var raw []byte
	for _, x := range planes {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(x))
	}
	if err := os.WriteFile(in, raw, 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{filepath.Join("testdata", "run.js"), model, in}
	for _, s := range shape {
		args = append(args, strconv.Itoa(s))
	}
	if text, err := exec.Command("node", append(args, out)...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	raw, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	numbers := make([]float32, len(raw)/4)
	for i := range numbers {
		numbers[i] = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:]))
	}
	return numbers
}
