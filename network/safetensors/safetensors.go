// Package safetensors reads and writes files in the safetensors format, the
// plain container that Python, JavaScript and Rust programs read without any
// code of ours:
//
//	+----------------+------------------------+---------------------------+
//	| 8 bytes        | N bytes                | the rest                  |
//	| N, little      | JSON: names, types,    | the numbers, little       |
//	| endian         | shapes, data_offsets   | endian, no gaps           |
//	+----------------+------------------------+---------------------------+
//
// The header's "__metadata__" object holds free text keys. This package writes
// only float32 tensors ("F32") and adds one key of its own, "checksum": the
// SHA-256 of the whole file with the 64 digits of that value written as zeros.
// Reading demands it, so that a flipped bit anywhere in the file, header or
// numbers, is found. The encoding is a function of the content: equal files
// give equal bytes, and sha256sum of the file names its content.
//
// Numbers that are not finite are refused in both directions.
//
// The format is described at https://github.com/huggingface/safetensors.
package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sort"

	"kirin/dataset/whole"
)

// ErrDamaged marks every error that says a file's bytes are not what was
// written: cut short, changed, or another format altogether.
var ErrDamaged = errors.New("file is damaged or not written by kirin")

// ErrNotFinite marks a NaN or an infinity among the numbers.
var ErrNotFinite = errors.New("number is not finite")

const (
	maxHeader   = 1 << 20 // bytes of JSON
	maxFile     = 1 << 31 // bytes in all
	checksumKey = "checksum"
	metaKey     = "__metadata__"
	dataType    = "F32"
)

// Tensor is one named array of float32 in row-major order.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// File is the content of a safetensors file. Tensors keep their order.
type File struct {
	Meta    map[string]string
	Tensors []Tensor
}

type entry struct {
	Type    string    `json:"dtype"`
	Shape   []int     `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

// Encode returns the file's bytes. It fails when a shape does not fit its
// data, a name is used twice, or a number is not finite.
func (f *File) Encode() ([]byte, error) { return f.EncodeTo(nil) }

// EncodeTo is Encode into the memory of buf, as far as it goes.
func (f *File) EncodeTo(buf []byte) ([]byte, error) {
	meta := make(map[string]string, len(f.Meta)+1)
	for k, v := range f.Meta {
		meta[k] = v
	}
	zeros := string(bytes.Repeat([]byte{'0'}, 2*sha256.Size))
	meta[checksumKey] = zeros
	var head bytes.Buffer
	head.WriteString(`{"` + metaKey + `":`)
	text, err := json.Marshal(meta)
	if err != nil {
		return nil, fmt.Errorf("encode metadata: %w", err)
	}
	head.Write(text)
	var end uint64
	seen := map[string]bool{metaKey: true}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		if n, ok := product(t.Shape); !ok || n != len(t.Data) || seen[t.Name] {
			return nil, fmt.Errorf("tensor %q: shape %v does not fit %d numbers, or the name is used twice", t.Name, t.Shape, len(t.Data))
		}
		seen[t.Name] = true
		e := entry{dataType, t.Shape, [2]uint64{end, end + 4*uint64(len(t.Data))}}
		end = e.Offsets[1]
		name, err := json.Marshal(t.Name)
		if err != nil {
			return nil, fmt.Errorf("encode name %q: %w", t.Name, err)
		}
		if text, err = json.Marshal(e); err != nil {
			return nil, fmt.Errorf("encode tensor %q: %w", t.Name, err)
		}
		head.WriteByte(',')
		head.Write(name)
		head.WriteByte(':')
		head.Write(text)
	}
	head.WriteByte('}')
	for head.Len()%8 != 0 {
		head.WriteByte(' ')
	}
	if head.Len() > maxHeader || end > maxFile {
		return nil, fmt.Errorf("header of %d bytes or data of %d bytes is too large", head.Len(), end)
	}
	out := slices.Grow(buf[:0], 8+head.Len()+int(end))
	out = binary.LittleEndian.AppendUint64(out, uint64(head.Len()))
	out = append(out, head.Bytes()...)
	for i := range f.Tensors {
		t := &f.Tensors[i]
		for j, x := range t.Data {
			if !finite(x) {
				return nil, fmt.Errorf("tensor %q, number %d is %v: %w", t.Name, j, x, ErrNotFinite)
			}
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(x))
		}
	}
	at, err := findChecksum(out[8 : 8+head.Len()])
	if err != nil {
		return nil, err
	}
	seal(out, 8+at)
	return out, nil
}

// Decode parses the bytes of a file and checks them. The result shares no
// memory with data.
func Decode(data []byte) (*File, error) {
	if len(data) < 8 {
		return nil, fmt.Errorf("%d bytes are too few for a header: %w", len(data), ErrDamaged)
	}
	n := binary.LittleEndian.Uint64(data)
	if n > maxHeader || n > uint64(len(data)-8) {
		return nil, fmt.Errorf("header length %d does not fit a file of %d bytes: %w", n, len(data), ErrDamaged)
	}
	head, body := data[8:8+n], data[8+n:]
	at, err := findChecksum(head)
	if err != nil {
		return nil, err
	}
	if err := verify(data, 8+at); err != nil {
		return nil, err
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal(head, &raw); err != nil {
		return nil, fmt.Errorf("header is not JSON (%v): %w", err, ErrDamaged)
	}
	f := &File{Meta: map[string]string{}}
	if err := json.Unmarshal(raw[metaKey], &f.Meta); err != nil {
		return nil, fmt.Errorf("metadata are not text (%v): %w", err, ErrDamaged)
	}
	delete(f.Meta, checksumKey)
	delete(raw, metaKey)
	entries := make(map[string]entry, len(raw))
	names := make([]string, 0, len(raw))
	for name, text := range raw {
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return nil, fmt.Errorf("entry %q is malformed (%v): %w", name, err, ErrDamaged)
		}
		entries[name] = e
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, b := entries[names[i]].Offsets, entries[names[j]].Offsets
		return a[0] < b[0] || a[0] == b[0] && (a[1] < b[1] || a[1] == b[1] && names[i] < names[j])
	})
	var end uint64
	for _, name := range names {
		e := entries[name]
		count, ok := product(e.Shape)
		if e.Type != dataType || !ok || e.Offsets[0] != end || e.Offsets[1] != end+4*uint64(count) || e.Offsets[1] > uint64(len(body)) {
			return nil, fmt.Errorf("tensor %q of type %s, shape %v, offsets %v has no place in %d bytes: %w", name, e.Type, e.Shape, e.Offsets, len(body), ErrDamaged)
		}
		t := Tensor{Name: name, Shape: slices.Clone(e.Shape), Data: make([]float32, count)}
		for i := range t.Data {
			x := math.Float32frombits(binary.LittleEndian.Uint32(body[end+4*uint64(i):]))
			if !finite(x) {
				return nil, fmt.Errorf("tensor %q, number %d is %v: %w", name, i, x, ErrNotFinite)
			}
			t.Data[i] = x
		}
		f.Tensors = append(f.Tensors, t)
		end = e.Offsets[1]
	}
	if end != uint64(len(body)) {
		return nil, fmt.Errorf("%d bytes follow the last tensor: %w", uint64(len(body))-end, ErrDamaged)
	}
	return f, nil
}

// Read reads and checks the file at path. Every error names the file.
func Read(path string) (*File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s: %d bytes are too many: %w", path, info.Size(), ErrDamaged)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Write puts data at path; the file appears whole or not at all.
func Write(path string, data []byte) error { return whole.WriteFile(path, data) }

// findChecksum returns the place of the 64 digits in the header.
func findChecksum(head []byte) (int, error) {
	mark := []byte(`"` + checksumKey + `":"`)
	i := bytes.Index(head, mark)
	if i < 0 || i+len(mark)+2*sha256.Size > len(head) {
		return 0, fmt.Errorf("the header holds no checksum: %w", ErrDamaged)
	}
	return i + len(mark), nil
}

// seal writes at data[at:] the digits of the SHA-256 of data in which they are
// zeros.
func seal(data []byte, at int) {
	copy(data[at:], bytes.Repeat([]byte{'0'}, 2*sha256.Size))
	sum := sha256.Sum256(data)
	hex.Encode(data[at:], sum[:])
}

// verify compares the digits at data[at:] with the SHA-256 of data in which
// they are zeros.
func verify(data []byte, at int) error {
	h := sha256.New()
	h.Write(data[:at])
	h.Write(bytes.Repeat([]byte{'0'}, 2*sha256.Size))
	h.Write(data[at+2*sha256.Size:])
	if hex.EncodeToString(h.Sum(nil)) != string(data[at:at+2*sha256.Size]) {
		return fmt.Errorf("the checksum does not match the content: %w", ErrDamaged)
	}
	return nil
}

// product returns the number of elements of a shape; ok is false for a
// negative length or a size beyond what a file may hold.
func product(shape []int) (n int, ok bool) {
	n = 1
	for _, s := range shape {
		if s < 0 || s > maxFile || n > maxFile/4/max(s, 1) {
			return 0, false
		}
		n *= s
	}
	return n, true
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }
