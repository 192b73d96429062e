package configs

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

//go:embed presets/*.yaml
var presets embed.FS

// basePreset names every key; every other configuration builds on it.
const basePreset = "minishogi"

// maxFile bounds what is read as a configuration.
const maxFile = 1 << 20

// Presets lists the embedded presets, the base first.
func Presets() []string {
	entries, err := fs.ReadDir(presets, "presets")
	if err != nil {
		panic(err) // the folder is embedded
	}
	names := []string{basePreset}
	for _, e := range entries {
		if n := strings.TrimSuffix(e.Name(), ".yaml"); n != basePreset {
			names = append(names, n)
		}
	}
	return names
}

// PresetText returns a preset's file with its comments.
func PresetText(name string) ([]byte, error) {
	b, err := presets.ReadFile(path.Join("presets", name+".yaml"))
	if err != nil {
		return nil, fmt.Errorf("no preset %q: there are %s", name, strings.Join(Presets(), ", "))
	}
	return b, nil
}

// Load builds the configuration from a preset's name or a file's path and from
// key=value settings. It is checked for keys that do not exist and for types;
// Validate checks the values.
func Load(config string, sets ...string) (*Run, error) {
	if config == "" {
		config = basePreset
	}
	layers, err := chain(config, nil)
	if err != nil {
		return nil, err
	}
	merged := map[string]any{}
	for _, l := range layers {
		merge(merged, l)
	}
	for _, s := range sets {
		m, err := setting(s)
		if err != nil {
			return nil, err
		}
		merge(merged, m)
	}
	return decode(config, merged)
}

// checksumMark starts the last line of a stored configuration.
const checksumMark = "# checksum: "

// Stored is Text with a last line that lets Read notice damage.
func (r *Run) Stored() ([]byte, error) {
	text, err := r.Text()
	if err != nil {
		return nil, err
	}
	text = append(text, "\n# This file belongs to the run and is not edited: change what may change with --set.\n"...)
	return fmt.Appendf(text, "%s%s\n", checksumMark, checksum(text)), nil
}

// Read reads a configuration that Stored wrote. A key that a newer program has
// and the file lacks gets its default.
func Read(file string) (*Run, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	at := bytes.LastIndex(text, []byte(checksumMark))
	if at < 0 || strings.TrimSpace(string(text[at+len(checksumMark):])) != checksum(text[:at]) {
		return nil, fmt.Errorf("%s: damaged or edited: its checksum does not match; put the original back (kirin config show --config PRESET prints a preset), or start another run with --dir", file)
	}
	return Load(file)
}

func checksum(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}

// With returns a copy changed by key=value settings.
func (r *Run) With(sets ...string) (*Run, error) {
	text, err := yaml.Marshal(r)
	if err != nil {
		return nil, err
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(text, &m); err != nil {
		return nil, err
	}
	for _, s := range sets {
		l, err := setting(s)
		if err != nil {
			return nil, err
		}
		merge(m, l)
	}
	return decode("--set", m)
}

// chain returns the layers from the base preset to config.
func chain(config string, seen []string) ([]map[string]any, error) {
	if slices.Contains(seen, config) {
		return nil, fmt.Errorf("%s: base goes round in a circle: %s", seen[0], strings.Join(append(seen, config), " -> "))
	}
	m, base, err := readLayer(config)
	if err != nil {
		return nil, err
	}
	if config == basePreset {
		return []map[string]any{m}, nil
	}
	if base == "" {
		base = basePreset
	}
	below, err := chain(base, append(seen, config))
	if err != nil {
		return nil, err
	}
	return append(below, m), nil
}

// readLayer reads a preset by name or a file by path.
func readLayer(config string) (m map[string]any, base string, err error) {
	var text []byte
	if slices.Contains(Presets(), config) {
		if text, err = PresetText(config); err != nil {
			return nil, "", err
		}
	} else {
		info, err := os.Stat(config)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, "", fmt.Errorf("%s: no such file, and no preset of that name (there are %s)", config, strings.Join(Presets(), ", "))
		case err != nil:
			return nil, "", err
		case info.Size() > maxFile:
			return nil, "", fmt.Errorf("%s: %d bytes is too large for a configuration", config, info.Size())
		}
		if text, err = os.ReadFile(config); err != nil {
			return nil, "", err
		}
	}
	return parseLayer(config, text)
}

// parseLayer parses one file and refuses keys that do not exist.
func parseLayer(name string, text []byte) (m map[string]any, base string, err error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, "", fmt.Errorf("%s: not a text file", name)
	}
	f, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %s", name, oneLine(err))
	}
	if len(f.Docs) > 1 {
		return nil, "", fmt.Errorf("%s: holds %d documents, a configuration is one", name, len(f.Docs))
	}
	if len(f.Docs) == 0 || f.Docs[0].Body == nil {
		return map[string]any{}, "", nil
	}
	if _, ok := f.Docs[0].Body.(*ast.CommentGroupNode); ok {
		return map[string]any{}, "", nil
	}
	if err := unknownKeys(name, f.Docs[0].Body); err != nil {
		return nil, "", err
	}
	m = map[string]any{}
	if err := yaml.NodeToValue(f.Docs[0].Body, &m); err != nil {
		return nil, "", fmt.Errorf("%s: %s", name, oneLine(err))
	}
	if b, ok := m["base"]; ok {
		s, isText := b.(string)
		if !isText {
			return nil, "", fmt.Errorf("%s: base: %v is not the name of a preset or file", name, b)
		}
		base = s
		delete(m, "base")
	}
	return m, base, nil
}

// setting turns "a.b=value" into a layer.
func setting(s string) (map[string]any, error) {
	key, value, ok := strings.Cut(s, "=")
	key = strings.TrimSpace(key)
	if !ok || key == "" {
		return nil, fmt.Errorf("--set %s: write key=value, for example --set train.batch_size=128", s)
	}
	if err := knownKey(key); err != nil {
		return nil, fmt.Errorf("--set %s: %w", s, err)
	}
	var v any
	if err := yaml.Unmarshal([]byte(value), &v); err != nil {
		return nil, fmt.Errorf("--set %s: %s", s, oneLine(err))
	}
	if strings.HasPrefix(key, "rules.") {
		v = value
	}
	parts := strings.Split(key, ".")
	m := map[string]any{parts[len(parts)-1]: v}
	for i := len(parts) - 2; i >= 0; i-- {
		m = map[string]any{parts[i]: m}
	}
	return m, nil
}

// merge lays src over dst; sections merge, everything else replaces.
func merge(dst, src map[string]any) {
	for k, v := range src {
		if s, ok := v.(map[string]any); ok {
			d, ok := dst[k].(map[string]any)
			if !ok {
				d = map[string]any{}
			}
			merge(d, s)
			dst[k] = d
			continue
		}
		if v == nil {
			if _, ok := dst[k].(map[string]any); ok {
				continue // "section:" with nothing in it
			}
		}
		dst[k] = v
	}
}

// decode turns the merged layers into a Run.
func decode(name string, m map[string]any) (*Run, error) {
	if errs := typeFaults("", reflect.TypeFor[Run](), m); len(errs) > 0 {
		return nil, fmt.Errorf("%s: %w", name, errors.Join(errs...))
	}
	text, err := yaml.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%s: %s", name, oneLine(err))
	}
	r := &Run{}
	if err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict()).Decode(r); err != nil {
		return nil, fmt.Errorf("%s: %s", name, oneLine(err))
	}
	if r.Rules == nil {
		r.Rules = map[string]string{}
	}
	return r, nil
}

// Text is the complete configuration as YAML, each key with the comment of the
// base preset; Load gives it back.
func (r *Run) Text() ([]byte, error) {
	doc, err := PresetText(basePreset)
	if err != nil {
		return nil, err
	}
	_, doc, _ = bytes.Cut(doc, []byte("\n\n")) // the words about the preset itself
	comments := yaml.CommentMap{}
	var sink any
	if err := yaml.UnmarshalWithOptions(doc, &sink, yaml.CommentToMap(comments)); err != nil {
		return nil, err
	}
	text, err := yaml.MarshalWithOptions(r, yaml.WithComment(comments))
	return append([]byte(textHead), text...), err
}

// textHead begins a complete configuration.
const textHead = `# A complete configuration of kirin. Keys marked (changeable) may be given other
# values when a run is continued; the others belong to the run for good.

`

// Hash identifies what the run learns: the keys that may not change.
func (r *Run) Hash() string {
	flat := r.flat()
	h := sha256.New()
	for _, k := range sortedKeys(flat) {
		if !Changeable(k) {
			fmt.Fprintf(h, "%s=%s\n", k, flat[k])
		}
	}
	return hex.EncodeToString(h.Sum(nil))[:16]
}

// Difference is one key with two values.
type Difference struct {
	Key, Old, New string
	Changeable    bool
}

// Diff lists the keys in which b differs from a, sorted.
func Diff(a, b *Run) []Difference {
	fa, fb := a.flat(), b.flat()
	keys := map[string]bool{}
	for k := range fa {
		keys[k] = true
	}
	for k := range fb {
		keys[k] = true
	}
	var out []Difference
	for _, k := range sortedKeys(keys) {
		if fa[k] != fb[k] {
			out = append(out, Difference{k, fa[k], fb[k], Changeable(k)})
		}
	}
	return out
}

// flat lists every key with its value as text.
func (r *Run) flat() map[string]string {
	text, err := yaml.Marshal(r)
	if err != nil {
		panic(err) // Run holds nothing that cannot be written
	}
	m := map[string]any{}
	if err := yaml.Unmarshal(text, &m); err != nil {
		panic(err)
	}
	out := map[string]string{}
	flatten("", m, out)
	return out
}

func flatten(prefix string, m map[string]any, out map[string]string) {
	for k, v := range m {
		if s, ok := v.(map[string]any); ok {
			flatten(prefix+k+".", s, out)
			continue
		}
		out[prefix+k] = fmt.Sprint(v)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// About returns the first comment line of a preset.
func About(name string) (string, error) {
	text, err := PresetText(name)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(strings.TrimPrefix(line, "#")), nil
}
