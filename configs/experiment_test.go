package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestEveryExperimentIsSound(t *testing.T) {
	files, err := filepath.Glob("experiments/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		e, err := ReadExperiment(file)
		if err != nil {
			t.Error(err)
			continue
		}
		if e.About == "" {
			t.Errorf("%s does not say what it asks", file)
		}
		if e.Name == "minishogi" && len(e.Variants) < 9 {
			t.Errorf("%s has %d configurations", file, len(e.Variants))
		}
	}
}

func TestEveryConfigurationOfAnExperimentDiffersFromTheFirst(t *testing.T) {
	e, err := ReadExperiment("experiments/minishogi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	first, err := Load(e.Base, e.Settings(e.Variants[0], 1)...)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range e.Variants[1:] {
		r, err := Load(e.Base, e.Settings(v, 1)...)
		if err != nil {
			t.Fatal(err)
		}
		if d := Diff(first, r); len(d) != len(v.Set) {
			t.Errorf("%s: %d settings, %d differences %+v", v.Name, len(v.Set), len(d), d)
		}
	}
}

func FuzzParseExperiment(f *testing.F) {
	for _, name := range []string{"experiments/minishogi.yaml", "experiments/minishogi-more.yaml", "experiments/small.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("variants: [{name: a, set: [x=1]}]\nseeds: [1, 2]\ncpu: 1h\n"))
	f.Add([]byte("cpu: [1]\nvariants: {a: b}"))
	f.Add([]byte("variants: [{name: A,0008: [A]}]\nseeds: !0000000000000 "))
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := parseExperiment(text)
		if err != nil {
			if strings.TrimSpace(err.Error()) == "" {
				t.Error("an empty error")
			}
			return
		}
		if len(e.Variants) < 3 {
			e.Base = basePreset // no file that happens to be there
			_ = e.Validate()
		}
	})
}
