package train

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"kirin/network/safetensors"
)

// checkpointFile is the name of the trainer's file in a checkpoint's folder.
const checkpointFile = "trainer.safetensors"

// checkpointFormat is the value of its metadata key "format".
const checkpointFormat = "kirin-trainer-1"

// state names the flat slices of a checkpoint, in its order.
func (t *Trainer) state() []safetensors.Tensor {
	n := []int{t.layout.Size}
	return []safetensors.Tensor{
		{Name: "parameters", Shape: n, Data: t.params},
		{Name: "first_moment", Shape: n, Data: t.first},
		{Name: "second_moment", Shape: n, Data: t.second},
		{Name: "average", Shape: n, Data: t.average},
	}
}

// Save writes the trainer's whole state to the folder dir, which is made if it
// is missing: one file, trainer.safetensors, that appears whole or not at all.
// Equal states give equal bytes.
func (t *Trainer) Save(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("checkpoint: %w", err)
	}
	random, err := t.source.MarshalBinary()
	if err != nil {
		return fmt.Errorf("checkpoint %s: random state: %w", dir, err)
	}
	f := &safetensors.File{Tensors: t.state(), Meta: map[string]string{
		"format":  checkpointFormat,
		"form":    t.formText(),
		"variant": t.meta.Variant,
		"rules":   t.meta.Rules,
		"parent":  t.meta.Parent,
		"step":    strconv.FormatInt(t.step, 10),
		"random":  hex.EncodeToString(random),
	}}
	if t.encoded, err = f.EncodeTo(t.encoded); err != nil {
		return fmt.Errorf("checkpoint %s: %w", dir, err)
	}
	return safetensors.Write(filepath.Join(dir, checkpointFile), t.encoded)
}

func (t *Trainer) formText() string {
	f := t.layout.Form
	return fmt.Sprintf("%s %dx%d %d %d", f.Spec, f.Width, f.Height, f.Planes, f.PolicyPlanes)
}

// Load restores what Save wrote to dir: the next steps then are those of the
// trainer that wrote it, bit for bit. The trainer must have been made for a net
// of the same form and game. After an error the trainer is as it was.
func (t *Trainer) Load(dir string) error {
	path := filepath.Join(dir, checkpointFile)
	f, err := safetensors.Read(path)
	if err != nil {
		return fmt.Errorf("checkpoint %w", err)
	}
	for key, want := range map[string]string{"format": checkpointFormat, "form": t.formText(), "variant": t.meta.Variant, "rules": t.meta.Rules} {
		if f.Meta[key] != want {
			return fmt.Errorf("checkpoint %s: %s is %q, not %q", path, key, f.Meta[key], want)
		}
	}
	step, err := strconv.ParseInt(f.Meta["step"], 10, 64)
	if err != nil || step < 0 {
		return fmt.Errorf("checkpoint %s: step is %q", path, f.Meta["step"])
	}
	random, err := hex.DecodeString(f.Meta["random"])
	if err != nil {
		return fmt.Errorf("checkpoint %s: random state: %w", path, err)
	}
	own := t.state()
	if len(f.Tensors) != len(own) {
		return fmt.Errorf("checkpoint %s: %d tensors instead of %d", path, len(f.Tensors), len(own))
	}
	for i := range own {
		if f.Tensors[i].Name != own[i].Name || len(f.Tensors[i].Data) != len(own[i].Data) {
			return fmt.Errorf("checkpoint %s: tensor %d is %s with %d numbers instead of %s with %d", path, i,
				f.Tensors[i].Name, len(f.Tensors[i].Data), own[i].Name, len(own[i].Data))
		}
	}
	if err := t.source.UnmarshalBinary(random); err != nil {
		return fmt.Errorf("checkpoint %s: random state: %w", path, err)
	}
	for i := range own {
		copy(own[i].Data, f.Tensors[i].Data)
	}
	t.step, t.meta.Parent = step, f.Meta["parent"]
	return nil
}
