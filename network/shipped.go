package network

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
)

//go:embed shipped
var shipped embed.FS

// ErrNotShipped says that no net for a game is built into the program.
var ErrNotShipped = errors.New("no net is built into this program")

// Shipped returns the weights that are built into the program for a game (see shipped/README.md), or an error that wraps
// ErrNotShipped.
func Shipped(variant string) (*Weights, error) {
	data, err := fs.ReadFile(shipped, "shipped/"+variant+".safetensors")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", variant, ErrNotShipped)
	}
	if err != nil {
		return nil, fmt.Errorf("shipped net of %s: %w", variant, err)
	}
	w, err := DecodeWeights(data)
	if err != nil {
		return nil, fmt.Errorf("shipped net of %s: %w", variant, err)
	}
	return w, nil
}
