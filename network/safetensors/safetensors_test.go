package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func sample() *File {
	return &File{
		Meta: map[string]string{"spec": "3x32", "note": `quotes " and 麒麟`},
		Tensors: []Tensor{
			{"b", []int{2, 3}, []float32{1, -2, 3.5, 0, math.SmallestNonzeroFloat32, math.MaxFloat32}},
			{"a", []int{}, []float32{7}},
			{"none", []int{0, 4}, []float32{}},
		},
	}
}

func encode(t testing.TB, f *File) []byte {
	t.Helper()
	data, err := f.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestAFileReadsBackAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	data := encode(t, sample())
	if err := Write(path, data); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(sample(), got); d != "" {
		t.Error(d)
	}
	if !bytes.Equal(data, encode(t, got)) {
		t.Error("the same content gave other bytes")
	}
}

func TestTheHeaderIsWhatOtherReadersExpect(t *testing.T) {
	data := encode(t, sample())
	n := binary.LittleEndian.Uint64(data)
	if n%8 != 0 {
		t.Errorf("numbers begin at %d, not at a multiple of 8", 8+n)
	}
	var head map[string]struct {
		Dtype   string `json:"dtype"`
		Shape   []int  `json:"shape"`
		Offsets []int  `json:"data_offsets"`
	}
	if err := json.Unmarshal(data[8:8+n], &head); err != nil {
		t.Fatal(err)
	}
	b := head["b"]
	if b.Dtype != "F32" || !cmp.Equal(b.Shape, []int{2, 3}) || !cmp.Equal(b.Offsets, []int{0, 24}) {
		t.Errorf("entry of b is %+v", b)
	}
	if x := math.Float32frombits(binary.LittleEndian.Uint32(data[8+n+4:])); x != -2 {
		t.Errorf("second number of b is %v", x)
	}
}

func TestEveryFlippedByteIsFound(t *testing.T) {
	data := encode(t, sample())
	for i := range data {
		for _, bit := range []byte{1, 0x20, 0x80} {
			data[i] ^= bit
			if _, err := Decode(data); err == nil {
				t.Errorf("byte %d changed by %#x was not found", i, bit)
			}
			data[i] ^= bit
		}
	}
}

func TestEveryTruncationIsFound(t *testing.T) {
	data := encode(t, sample())
	for n := range data {
		if _, err := Decode(data[:n]); !errors.Is(err, ErrDamaged) {
			t.Errorf("cut to %d bytes: %v", n, err)
		}
	}
	if _, err := Decode(append(data, 0)); !errors.Is(err, ErrDamaged) {
		t.Error("a byte more was not found")
	}
}

func TestADamagedFileIsReportedInOneSentenceThatNamesIt(t *testing.T) {
	path := filepath.Join(t.TempDir(), "w.safetensors")
	for name, text := range map[string]string{"empty": "", "picture": "\x89PNG\r\n\x1a\n0123456789", "text": strings.Repeat("hello ", 100)} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Read(path)
		if !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "absent")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an absent file: %v", err)
	}
}

func TestNumbersThatAreNotFiniteAreRefused(t *testing.T) {
	for _, x := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		f := sample()
		f.Tensors[0].Data[3] = float32(x)
		if _, err := f.Encode(); !errors.Is(err, ErrNotFinite) || !strings.Contains(err.Error(), `"b"`) {
			t.Errorf("%v: %v", x, err)
		}
	}
}

func TestWrongShapesAndRepeatedNamesAreRefused(t *testing.T) {
	for _, f := range []*File{
		{Tensors: []Tensor{{"a", []int{3}, []float32{1}}}},
		{Tensors: []Tensor{{"a", []int{-1, -1}, []float32{1}}}},
		{Tensors: []Tensor{{"a", []int{1}, []float32{1}}, {"a", []int{1}, []float32{1}}}},
		{Tensors: []Tensor{{"__metadata__", []int{1}, []float32{1}}}},
	} {
		if _, err := f.Encode(); err == nil {
			t.Errorf("%+v was written", f.Tensors)
		}
	}
}

func TestAFailedWriteLeavesTheOldFileAndNoOther(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "folder")
	if err := os.MkdirAll(filepath.Join(target, "inside"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Write(target, []byte("x")); err == nil || !strings.Contains(err.Error(), target) {
		t.Errorf("writing over a folder: %v", err)
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func FuzzDecode(f *testing.F) {
	data := encode(f, sample())
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte("\x02\x00\x00\x00\x00\x00\x00\x00{}"))
	f.Add(encode(f, &File{}))
	f.Fuzz(func(t *testing.T, data []byte) {
		// The checksum is set right, so that the fuzzer reaches what is behind it.
		data = reseal(data)
		got, err := Decode(data)
		if err != nil {
			return
		}
		if _, err := got.Encode(); err != nil {
			t.Errorf("read but cannot be written: %v", err)
		}
	})
}

// reseal returns data with the checksum of its content, where it has a place
// for one.
func reseal(data []byte) []byte {
	data = bytes.Clone(data)
	if len(data) < 8 {
		return data
	}
	n := binary.LittleEndian.Uint64(data)
	if n > uint64(len(data)-8) {
		return data
	}
	if at, err := findChecksum(data[8 : 8+n]); err == nil {
		seal(data, 8+at)
	}
	return data
}
