package network_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"kirin/network"
	"kirin/network/safetensors"
)

func described(t testing.TB) *network.Weights {
	w := weights(t, "1x16g1", "minishogi")
	w.Meta.Step, w.Meta.Parent, w.Meta.Version = 123, strings.Repeat("ab", 32), "v1.2.3"
	w.Meta.Free["run"] = "mini 麒麟"
	return w
}

func TestWeightsReadBackAsTheyWereWritten(t *testing.T) {
	w := described(t)
	path := filepath.Join(t.TempDir(), "123.safetensors")
	written, err := network.WriteWeights(path, w)
	if err != nil {
		t.Fatal(err)
	}
	got, err := network.ReadWeights(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(w, got); d != "" {
		t.Error(d)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	file := sha256.Sum256(data)
	sum, err := w.Sum()
	if err != nil || sum != written || sum != hex.EncodeToString(file[:]) {
		t.Errorf("sum %s, returned %s, file %x, %v", sum, written, file, err)
	}
}

func TestTheLayoutHasNoGapsAndUniqueNames(t *testing.T) {
	l := network.NewLayout(weights(t, "4x16g2", "chushogi").Form)
	end, names := 0, map[string]bool{}
	for _, s := range l.Slots {
		if s.Offset != end || names[s.Name] {
			t.Errorf("%s begins at %d, not at %d, or is there twice", s.Name, s.Offset, end)
		}
		size := 1
		for _, n := range s.Shape {
			size *= n
		}
		if size != s.Size {
			t.Errorf("%s: shape %v, size %d", s.Name, s.Shape, s.Size)
		}
		end, names[s.Name] = end+s.Size, true
		if l.Slot(s.Name).Offset != s.Offset {
			t.Errorf("%s is not found", s.Name)
		}
	}
	if end != l.Size || l.Slot("absent") != nil {
		t.Errorf("size %d, not %d", l.Size, end)
	}
}

func TestInitDependsOnTheSourceAlone(t *testing.T) {
	a, b := weights(t, "2x16", "minishogi"), weights(t, "2x16", "minishogi")
	if !slices.Equal(a.Params, b.Params) {
		t.Error("two initialisations from one seed differ")
	}
	c, err := network.Init(a.Form.Spec, encoder(t, "minishogi"), rand.New(rand.NewPCG(9, 9)))
	if err != nil || slices.Equal(a.Params, c.Params) {
		t.Errorf("another seed gave the same weights, or %v", err)
	}
}

func TestADamagedWeightsFileIsReportedInOneSentenceThatNamesIt(t *testing.T) {
	w := described(t)
	data, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "w.safetensors")
	read := func(data []byte) error {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := network.ReadWeights(path)
		return err
	}
	if err := read(data); err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 40 {
		i, bit := rng.IntN(len(data)), byte(1)<<rng.IntN(8)
		data[i] ^= bit
		if err := read(data); err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("bit %#x of byte %d: %v", bit, i, err)
		}
		data[i] ^= bit
	}
	for _, n := range []int{0, 7, 100, len(data) / 2, len(data) - 1} {
		if err := read(data[:n]); !errors.Is(err, safetensors.ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
}

// file returns the weights as a safetensors file to be tampered with.
func file(t testing.TB, w *network.Weights) *safetensors.File {
	data, err := w.Encode()
	if err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAForeignFileIsRefusedWithItsFault(t *testing.T) {
	for fault, change := range map[string]func(f *safetensors.File){
		"holds no net":                func(f *safetensors.File) { f.Meta["format"] = "pt" },
		"BLOCKSxCHANNELS":             func(f *safetensors.File) { f.Meta["spec"] = "big" },
		"not a number":                func(f *safetensors.File) { f.Meta["step"] = "many" },
		"at most 16 by 16":            func(f *safetensors.File) { f.Meta["width"] = "500" },
		"tensors, but":                func(f *safetensors.File) { f.Tensors = f.Tensors[1:] },
		"there":                       func(f *safetensors.File) { f.Tensors[3].Name = "other" },
		"but a net 1x16g1 has stem.w": func(f *safetensors.File) { f.Meta["planes"] = "47" },
	} {
		f := file(t, described(t))
		change(f)
		data, err := f.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := network.DecodeWeights(data); err == nil || !strings.Contains(err.Error(), fault) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", fault, err)
		}
	}
}

func TestWeightsThatAreNotFiniteAreNotWritten(t *testing.T) {
	w := described(t)
	w.Params[5] = float32(math.Inf(1))
	path := filepath.Join(t.TempDir(), "w.safetensors")
	if _, err := network.WriteWeights(path, w); !errors.Is(err, safetensors.ErrNotFinite) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file was written: %v", err)
	}
}

func TestAFreeKeyMayNotTakeTheFilesOwn(t *testing.T) {
	w := described(t)
	w.Meta.Free["spec"] = "x"
	if _, err := w.Encode(); err == nil || !strings.Contains(err.Error(), `"spec"`) {
		t.Errorf("error %v", err)
	}
}

func FuzzDecodeWeights(f *testing.F) {
	data, err := described(f).Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		w, err := network.DecodeWeights(data)
		if err != nil {
			return
		}
		if _, err := network.New(w); err != nil {
			t.Errorf("read, but no net: %v", err)
		}
	})
}
