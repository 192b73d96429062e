package dataset

import (
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
)

func TestOptionsRoundTripThroughYAML(t *testing.T) {
	type both struct {
		Data   Options       `yaml:"data"`
		Window WindowOptions `yaml:"window"`
	}
	text, err := yaml.Marshal(both{DefaultOptions(), DefaultWindowOptions()})
	if err != nil {
		t.Fatal(err)
	}
	want := `data:
  seal_games: 256
  seal_after: 1m0s
  seal_bytes: 8MB
  max_disk: 20GB
window:
  max_bytes: 512MB
  min_positions: 25000
  exponent: 0.75
  scale: 0.4
`
	if diff := cmp.Diff(want, string(text)); diff != "" {
		t.Error(diff)
	}
	got := both{}
	if err := yaml.UnmarshalWithOptions([]byte(strings.Replace(want, "8MB", "9000000", 1)), &got, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if got.Data.SealBytes != 9000000 || got.Data.SealAfter != time.Minute || got.Window.MaxBytes != 512<<20 {
		t.Errorf("%+v", got)
	}
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	if err := DefaultOptions().Validate(); err != nil {
		t.Error(err)
	}
	if err := DefaultWindowOptions().Validate(); err != nil {
		t.Error(err)
	}
	err := Options{MaxDisk: -1}.Validate()
	for _, key := range []string{"seal_games:", "seal_after:", "seal_bytes:", "max_disk:"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
	err = WindowOptions{Exponent: 2}.Validate()
	for _, key := range []string{"max_bytes:", "min_positions:", "exponent:", "scale:"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}

func TestBytesReadAmountsWithUnits(t *testing.T) {
	for text, want := range map[string]Bytes{
		"0": 0, "17": 17, "1KB": 1024, "1.5gb": 3 << 29, " 20 GB ": 20 << 30, "2TB": 2 << 40, "-1MB": -1 << 20,
	} {
		if got, err := ParseBytes(text); err != nil || got != want {
			t.Errorf("%q: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "MB", "1.5", "1PB", "9999999999TB", "x", "1e30GB"} {
		if got, err := ParseBytes(text); err == nil {
			t.Errorf("%q read as %d", text, got)
		}
	}
	for _, b := range []Bytes{0, 1, 1536, 1 << 20, 20 << 30, 3 << 40} {
		if got, err := ParseBytes(b.String()); err != nil || got != b {
			t.Errorf("%d written as %s read as %d: %v", int64(b), b, got, err)
		}
	}
}
