package network

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"kirin/network/safetensors"
)

// format is the value of the metadata key "format" of weights files.
const format = "kirin-net-1"

// Meta says what a net is for and where it comes from.
type Meta struct {
	Encoder string            // name of the input planes, such as "planes-1"
	Variant string            // game
	Rules   string            // rule options, "default" or "key=value,..."
	Step    int64             // training steps taken
	Parent  string            // SHA-256 of the weights from which training started, "" for none
	Version string            // program version that wrote it
	Free    map[string]string // further keys, none of them one of the file's own
}

// Weights are a net's parameters with their description. Params follows
// NewLayout(Form).
type Weights struct {
	Form   Form
	Meta   Meta
	Params []float32
}

// reserved are the metadata keys that the file itself uses.
var reserved = []string{"format", "spec", "height", "width", "planes", "policy_planes", "encoder", "variant", "rules", "step", "parent", "version", "checksum"}

// Clone returns a copy that shares no memory with w.
func (w *Weights) Clone() *Weights {
	c := *w
	c.Params = slices.Clone(w.Params)
	c.Meta.Free = maps.Clone(w.Meta.Free)
	return &c
}

// Encode returns the bytes of the weights file, a safetensors file with one
// tensor for each slot of the layout. Equal weights give equal bytes.
func (w *Weights) Encode() ([]byte, error) {
	if err := w.Form.Validate(); err != nil {
		return nil, err
	}
	l := NewLayout(w.Form)
	if len(w.Params) != l.Size {
		return nil, fmt.Errorf("a net %s has %d parameters, not %d", w.Form.Spec, l.Size, len(w.Params))
	}
	for k := range w.Meta.Free {
		if slices.Contains(reserved, k) {
			return nil, fmt.Errorf("metadata key %q is the file's own", k)
		}
	}
	f := &safetensors.File{Meta: w.metadata()}
	for i := range l.Slots {
		s := &l.Slots[i]
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: s.Name, Shape: s.Shape, Data: s.Of(w.Params)})
	}
	return f.Encode()
}

// metadata returns the file's keys with their values.
func (w *Weights) metadata() map[string]string {
	m := map[string]string{
		"format":        format,
		"spec":          w.Form.Spec.String(),
		"height":        strconv.Itoa(w.Form.Height),
		"width":         strconv.Itoa(w.Form.Width),
		"planes":        strconv.Itoa(w.Form.Planes),
		"policy_planes": strconv.Itoa(w.Form.PolicyPlanes),
		"encoder":       w.Meta.Encoder,
		"variant":       w.Meta.Variant,
		"rules":         w.Meta.Rules,
		"step":          strconv.FormatInt(w.Meta.Step, 10),
		"parent":        w.Meta.Parent,
		"version":       w.Meta.Version,
	}
	maps.Copy(m, w.Meta.Free)
	return m
}

// Sum returns the SHA-256 of the weights file in hex, as sha256sum prints it.
func (w *Weights) Sum() (string, error) {
	data, err := w.Encode()
	if err != nil {
		return "", err
	}
	return sum(data), nil
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// WriteWeights writes the file at path, whole or not at all, and returns its
// SHA-256 in hex. Numbers that are not finite are refused.
func WriteWeights(path string, w *Weights) (string, error) {
	data, err := w.Encode()
	if err != nil {
		return "", fmt.Errorf("weights %s: %w", path, err)
	}
	return sum(data), safetensors.Write(path, data)
}

// ReadWeights reads the file at path and checks it: checksum, format, shapes,
// finite numbers. Errors name the file and say in one sentence what is wrong.
func ReadWeights(path string) (*Weights, error) {
	f, err := safetensors.Read(path)
	if err != nil {
		return nil, fmt.Errorf("weights %w", err)
	}
	w, err := fromFile(f)
	if err != nil {
		return nil, fmt.Errorf("weights %s: %w", path, err)
	}
	return w, nil
}

// DecodeWeights parses the bytes of a weights file.
func DecodeWeights(data []byte) (*Weights, error) {
	f, err := safetensors.Decode(data)
	if err != nil {
		return nil, err
	}
	return fromFile(f)
}

func fromFile(f *safetensors.File) (*Weights, error) {
	if f.Meta["format"] != format {
		return nil, fmt.Errorf("format is %q, not %q: it holds no net", f.Meta["format"], format)
	}
	w := &Weights{Meta: Meta{
		Encoder: f.Meta["encoder"],
		Variant: f.Meta["variant"],
		Rules:   f.Meta["rules"],
		Parent:  f.Meta["parent"],
		Version: f.Meta["version"],
		Free:    map[string]string{},
	}}
	spec, err := ParseSpec(f.Meta["spec"])
	w.Form.Spec = spec
	number := func(key string) int {
		n, e := strconv.Atoi(f.Meta[key])
		if e != nil && err == nil {
			err = fmt.Errorf("metadata key %s is %q, not a number", key, f.Meta[key])
		}
		return n
	}
	w.Form.Height, w.Form.Width = number("height"), number("width")
	w.Form.Planes, w.Form.PolicyPlanes = number("planes"), number("policy_planes")
	w.Meta.Step = int64(number("step"))
	if err == nil {
		err = w.Form.Validate()
	}
	if err != nil {
		return nil, err
	}
	for k, v := range f.Meta {
		if !slices.Contains(reserved, k) {
			w.Meta.Free[k] = v
		}
	}
	l := NewLayout(w.Form)
	if len(f.Tensors) != len(l.Slots) {
		return nil, fmt.Errorf("%d tensors, but a net %s has %d", len(f.Tensors), spec, len(l.Slots))
	}
	w.Params = make([]float32, 0, min(l.Size, 1<<24))
	for i := range l.Slots {
		s, t := &l.Slots[i], &f.Tensors[i]
		if t.Name != s.Name || !slices.Equal(t.Shape, s.Shape) {
			return nil, fmt.Errorf("tensor %d is %s %v, but a net %s has %s %v there", i, t.Name, t.Shape, spec, s.Name, s.Shape)
		}
		w.Params = append(w.Params, t.Data...)
	}
	return w, nil
}
