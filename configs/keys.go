package configs

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"

	"kirin/dataset"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
)

// tree holds the keys that exist: nil for a leaf, open for a free-form section.
type tree map[string]tree

// open marks a section whose keys another package checks (rules).
var open = tree{"*": nil}

// knownTree derives the keys from the yaml tags of Run.
func knownTree() tree { return typeTree(reflect.TypeFor[Run]()) }

func typeTree(t reflect.Type) tree {
	out := tree{}
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		switch {
		case name == "-" || !f.IsExported():
		case flags == "inline":
			for k, v := range typeTree(f.Type) {
				out[k] = v
			}
		case f.Type.Kind() == reflect.Struct:
			out[name] = typeTree(f.Type)
		case f.Type.Kind() == reflect.Map:
			out[name] = open
		default:
			out[name] = nil
		}
	}
	return out
}

// keysOf lists the full names of all leaves, sorted.
func keysOf(t tree) []string {
	var out []string
	for _, k := range sortedKeys(t) {
		if t[k] == nil {
			out = append(out, k)
			continue
		}
		for _, s := range keysOf(t[k]) {
			out = append(out, k+"."+s)
		}
	}
	return out
}

// knownKey refuses a key that does not exist and names the nearest.
func knownKey(key string) error {
	t := knownTree()
	parts := strings.Split(key, ".")
	for i, p := range parts {
		if _, free := t["*"]; free && i == len(parts)-1 {
			return nil
		}
		sub, ok := t[p]
		switch {
		case !ok:
			return fmt.Errorf("unknown key %q%s", key, nearest(key))
		case sub == nil && i < len(parts)-1:
			return fmt.Errorf("unknown key %q: %s is a value, not a section", key, strings.Join(parts[:i+1], "."))
		case sub != nil && i == len(parts)-1:
			return fmt.Errorf("%q is a section: name one of %s", key, strings.Join(sortedKeys(sub), ", "))
		}
		t = sub
	}
	return nil
}

// unknownKeys walks a document and reports every key that does not exist.
func unknownKeys(file string, body ast.Node) error {
	var errs []error
	var walk func(prefix string, t tree, n ast.Node)
	walk = func(prefix string, t tree, n ast.Node) {
		values := mappings(n)
		if values == nil {
			if _, null := n.(*ast.NullNode); null {
				return
			}
			line := 0
			if n.GetToken() != nil && n.GetToken().Position != nil {
				line = n.GetToken().Position.Line
			}
			where := "a configuration"
			if prefix != "" {
				where = strings.TrimSuffix(prefix, ".")
			}
			errs = append(errs, fmt.Errorf("%s:%d: %s is a section of keys, not a value", file, line, where))
			return
		}
		if _, free := t["*"]; free {
			return
		}
		for _, v := range values {
			key := v.Key.GetToken().Value
			line := v.Key.GetToken().Position.Line
			if prefix == "" && key == "base" {
				continue
			}
			sub, ok := t[key]
			if !ok {
				errs = append(errs, fmt.Errorf("%s:%d: unknown key %q%s", file, line, prefix+key, nearest(prefix+key)))
				continue
			}
			if sub != nil {
				walk(prefix+key+".", sub, v.Value)
			} else if mappings(v.Value) != nil {
				errs = append(errs, fmt.Errorf("%s:%d: %s is a value, not a section", file, line, prefix+key))
			}
		}
	}
	walk("", knownTree(), body)
	return errors.Join(errs...)
}

// mappings returns the key-value pairs of a node, nil when it has none.
func mappings(n ast.Node) []*ast.MappingValueNode {
	switch n := n.(type) {
	case *ast.MappingNode:
		if n.Values == nil {
			return []*ast.MappingValueNode{}
		}
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

// nearest suggests the known keys with the smallest edit distance, if they are
// near; the right name in a wrong section counts as near.
func nearest(key string) string {
	var best []string
	bestD := len(key)/2 + 2
	last := key[strings.LastIndexByte(key, '.')+1:]
	for _, k := range keysOf(knownTree()) {
		if strings.HasSuffix(k, "*") {
			continue
		}
		d := distance(key, k)
		if k[strings.LastIndexByte(k, '.')+1:] == last {
			d = min(d, 1)
		}
		switch {
		case d < bestD:
			best, bestD = []string{k}, d
		case d == bestD && len(best) > 0:
			best = append(best, k)
		}
	}
	switch len(best) {
	case 0:
		return " (kirin config show lists all keys)"
	case 1:
		return fmt.Sprintf("; did you mean %q?", best[0])
	}
	return fmt.Sprintf("; did you mean one of %s?", strings.Join(best, ", "))
}

// distance is the Levenshtein distance.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diag := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := diag
			if a[i] != b[j] {
				d = 1 + min(diag, row[j], row[j+1])
			}
			diag, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}

// oneLine makes one line of a parser's error.
func oneLine(err error) string {
	s := yaml.FormatError(err, false, false)
	return strings.Join(strings.Fields(s), " ")
}

// typeFaults reports every value whose type does not fit its key. t is a struct
// type, m holds the values of its section.
func typeFaults(prefix string, t reflect.Type, m map[string]any) []error {
	var errs []error
	for i := range t.NumField() {
		f := t.Field(i)
		name, flags, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "-" || !f.IsExported() {
			continue
		}
		if flags == "inline" {
			errs = append(errs, typeFaults(prefix, f.Type, m)...)
			continue
		}
		v, ok := m[name]
		if !ok || v == nil {
			continue
		}
		if s, isSection := v.(map[string]any); isSection && f.Type.Kind() == reflect.Struct {
			errs = append(errs, typeFaults(prefix+name+".", f.Type, s)...)
			continue
		}
		text, err := yaml.Marshal(v)
		if err == nil {
			err = yaml.Unmarshal(text, reflect.New(f.Type).Interface())
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s%s: %q does not fit, %s is wanted", prefix, name, strings.TrimSpace(string(text)), wanted(f.Type)))
		}
	}
	return errs
}

func wanted(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Duration]():
		return "a duration such as 90s or 1h"
	case reflect.TypeFor[dataset.Bytes]():
		return "an amount such as 512MB or 20GB"
	}
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "a whole number"
	case reflect.Uint, reflect.Uint64:
		return "a whole number from 0 on"
	case reflect.Float32, reflect.Float64:
		return "a number"
	case reflect.Bool:
		return "true or false"
	}
	return "a text"
}
