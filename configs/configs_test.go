package configs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/dataset"
	"kirin/mcts"
	"kirin/network/train"
	"kirin/selfplay"
)

func TestEveryPresetIsSound(t *testing.T) {
	for _, name := range Presets() {
		r, err := Load(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := r.Validate(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if about, err := About(name); err != nil || about == "" {
			t.Errorf("%s: its first line says nothing (%v)", name, err)
		}
	}
}

func TestTheBasePresetNamesEveryKeyWithItsDefault(t *testing.T) {
	text, err := PresetText(basePreset)
	if err != nil {
		t.Fatal(err)
	}
	m, _, err := parseLayer(basePreset, text)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range keysOf(knownTree()) {
		if !strings.HasPrefix(k, "rules.") && !has(m, k) {
			t.Errorf("the base preset does not name %s", k)
		}
	}
	r, err := Load(basePreset)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Search, mcts.DefaultOptions(); got.CVisit != want.CVisit || got.CScale != want.CScale || got.Considered != want.Considered {
		t.Errorf("search: %+v, its package has %+v", got, want)
	}
	if got, want := r.Selfplay.Options, selfplay.DefaultOptions(); got != want {
		t.Errorf("selfplay: %+v, its package has %+v", got, want)
	}
	if got, want := r.Window, dataset.DefaultWindowOptions(); got.MaxBytes != want.MaxBytes || got.Exponent != want.Exponent {
		t.Errorf("window: %+v, its package has %+v", got, want)
	}
	if got, want := r.Train, train.DefaultOptions(); got.Beta1 != want.Beta1 || got.Beta2 != want.Beta2 || got.Epsilon != want.Epsilon {
		t.Errorf("train: %+v, its package has %+v", got, want)
	}
}

func has(m map[string]any, key string) bool {
	head, rest, more := strings.Cut(key, ".")
	v, ok := m[head]
	if !more || !ok {
		return ok
	}
	s, isMap := v.(map[string]any)
	return isMap && has(s, rest)
}

func TestAnUnknownKeyNamesFileLineAndNearestKey(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	for _, c := range []struct{ text, want string }{
		{"train:\n  lerning_rate: 0.1\n", `mine.yaml:2: unknown key "train.lerning_rate"; did you mean "train.learning_rate"?`},
		{"variante: shogi\n", `mine.yaml:1: unknown key "variante"; did you mean "variant"?`},
		{"simulations: 3\n", `mine.yaml:1: unknown key "simulations"; did you mean one of rating.simulations, search.simulations?`},
		{"train: 3\n", `mine.yaml:1: train is a section of keys, not a value`},
		{"seed:\n  x: 1\n", `mine.yaml:1: seed is a value, not a section`},
		{"- a\n- b\n", `mine.yaml:1: a configuration is a section of keys, not a value`},
		{"base: nowhere\n", `nowhere: no such file`},
		{"base: [1]\n", `mine.yaml: base: [1] is not the name of a preset or file`},
		{"loop:\n  publish_steps: many\n", `loop.publish_steps: "many" does not fit, a whole number is wanted`},
		{"data:\n  seal_after: soon\n  max_disk: lots\n", `data.max_disk: "lots" does not fit, an amount such as 512MB or 20GB is wanted`},
		{"a: b: c\n", `mine.yaml`},
		{"seed: \x00\n", `mine.yaml: not a text file`},
	} {
		if err := os.WriteFile(file, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := Load(file)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: got %v, want %s", c.text, err, c.want)
		}
	}
}

func TestSettingsChangeOneKey(t *testing.T) {
	r, err := Load("minishogi", "train.batch_size=32", "net.spec=2x16", "rules.max_plies=50", "web.address=", "data.max_disk=1GB", "data.seal_after=5s")
	if err != nil {
		t.Fatal(err)
	}
	if r.Train.BatchSize != 32 || r.Net.Spec != "2x16" || r.Rules["max_plies"] != "50" || r.Web.Address != "" || r.Data.MaxDisk != 1<<30 || r.Data.SealAfter.Seconds() != 5 {
		t.Errorf("got %+v", r)
	}
	for _, c := range []struct{ set, want string }{
		{"train.bach_size=3", `did you mean "train.batch_size"?`},
		{"train=3", "is a section"},
		{"seed.x=3", "is a value, not a section"},
		{"seed", "write key=value"},
		{"train.batch_size=much", "train.batch_size"},
	} {
		if _, err := Load("minishogi", c.set); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %s", c.set, err, c.want)
		}
	}
}

func TestValidateReportsEveryFaultAtOnce(t *testing.T) {
	r, err := Load("minishogi", "net.spec=huge", "schedule=never", "train.batch_size=0", "search.simulations=0", "loop.bad_steps=0", "rating.games=3", "rules.nonsense=1")
	if err != nil {
		t.Fatal(err)
	}
	err = r.Validate()
	if err == nil {
		t.Fatal("no fault was found")
	}
	for _, key := range []string{"variant, rules", "net.spec", "schedule", "train.batch_size", "search.simulations", "loop.bad_steps", "rating.games"} {
		if !strings.Contains(err.Error(), key+":") {
			t.Errorf("%s is missing from:\n%v", key, err)
		}
	}
}

func TestStoredReadsBackAndNoticesEveryFlippedByte(t *testing.T) {
	r, err := Load("minishogi", "rules.max_plies=77")
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.Stored()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(b []byte) {
		if err := os.WriteFile(file, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(text)
	got, err := Read(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := Diff(r, got); len(d) != 0 || got.Hash() != r.Hash() {
		t.Errorf("read back with differences %v", d)
	}
	if !strings.Contains(string(text), "# Fixes every random choice.") {
		t.Error("the stored configuration has lost its comments")
	}
	for i := 0; i < len(text)-1; i += 13 {
		bad := []byte(string(text))
		bad[i] ^= 1
		write(bad)
		if _, err := Read(file); err == nil {
			t.Fatalf("a flipped byte at %d was not noticed", i)
		}
	}
}

func TestDiffTellsWhatMayChange(t *testing.T) {
	a, err := Load("minishogi")
	if err != nil {
		t.Fatal(err)
	}
	b, err := a.With("web.address=127.0.0.1:1", "train.batch_size=8")
	if err != nil {
		t.Fatal(err)
	}
	d := Diff(a, b)
	if len(d) != 2 || d[0].Key != "train.batch_size" || d[0].Changeable || d[0].Old != "256" || d[0].New != "8" || d[1].Key != "web.address" || !d[1].Changeable {
		t.Errorf("got %+v", d)
	}
	if c, _ := a.With("web.address=x:1"); c.Hash() != a.Hash() || b.Hash() == a.Hash() {
		t.Error("the hash must follow exactly the keys that may not change")
	}
}

func TestBasesFormNoCircle(t *testing.T) {
	dir := t.TempDir()
	x, y := filepath.Join(dir, "x.yaml"), filepath.Join(dir, "y.yaml")
	for file, base := range map[string]string{x: y, y: x} {
		if err := os.WriteFile(file, []byte("base: "+base+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(x); err == nil || !strings.Contains(err.Error(), "circle") {
		t.Errorf("got %v", err)
	}
}

func FuzzParseLayer(f *testing.F) {
	for _, name := range Presets() {
		text, err := PresetText(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: {b: [1, 2]}\n---\nc: d"))
	f.Add([]byte("train:\n - x\n"))
	f.Add([]byte("rules: {x: {y: 1}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, _, err := parseLayer("fuzz", text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") && !strings.Contains(err.Error(), "fuzz:") {
				t.Errorf("an error without a place: %v", err)
			}
			return
		}
		merged := map[string]any{}
		merge(merged, m)
		if r, err := decode("fuzz", merged); err == nil {
			r.Validate()
		}
	})
}

func FuzzSetting(f *testing.F) {
	for _, s := range []string{"seed=1", "train.batch_size=3", "rules.x=y", "a.b.c=d", "=", "seed=[1", "data.max_disk=1GB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if m, err := setting(s); err == nil {
			if _, err := decode("fuzz", m); err != nil && strings.TrimSpace(err.Error()) == "" {
				t.Error("an empty error")
			}
		}
	})
}
