package network

import (
	"errors"
	"testing"

	"kirin/network/encode"
	"kirin/rules"
)

func TestShippedNetsPlayTheirGames(t *testing.T) {
	for _, name := range append(rules.Names(), "chess") {
		w, err := Shipped(name)
		if errors.Is(err, ErrNotShipped) {
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		v, err := rules.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		enc, err := encode.New(v)
		if err != nil {
			t.Fatal(err)
		}
		if w.Meta.Variant != name || w.Meta.Encoder != enc.Name() {
			t.Errorf("%s: a net of %s with the encoder %s, this program has %s", name, w.Meta.Variant, w.Meta.Encoder, enc.Name())
		}
	}
}
