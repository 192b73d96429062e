package main

import (
	"bufio"
	"bytes"
	"os/exec"
	"strings"
	"testing"
)

// layers is the house: an import may only point to a lower layer, or, within
// layer 1 and above, to a package listed in beside.
var layers = map[string]int{
	"rules": 0, "rules/rulestest/corpus": 0, "network/kernel": 0, "dataset/whole": 0, "metrics": 0,
	"network/safetensors": 1, "rules/notation": 1, "rules/rulestest": 1, "mcts": 1, "dataset": 1, "network/encode": 1,
	"mcts/mate": 2, "network": 2, "selfplay/protocol": 2,
	"mcts/endgame": 3, "selfplay": 3, "network/eval": 3, "network/stock": 3, "network/train": 3,
	"selfplay/match": 4, "selfplay/engine": 4, "selfplay/fleet": 4,
	"configs":   5,
	"cmd/kirin": 6,
}

func TestImportsPointDown(t *testing.T) {
	out, err := exec.Command("go", "list", "-f", `{{.ImportPath}}{{range .Imports}} {{.}}{{end}}`, "kirin/...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	seen := 0
	lines := bufio.NewScanner(bytes.NewReader(out))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		pkg := strings.TrimPrefix(words[0], "kirin/")
		layer, ok := layers[pkg]
		if !ok {
			t.Errorf("package %s has no layer: give it one in this test and in docs/architecture.md", pkg)
			continue
		}
		seen++
		for _, imp := range words[1:] {
			name, ours := strings.CutPrefix(imp, "kirin/")
			if !ours {
				continue
			}
			if layers[name] >= layer {
				t.Errorf("%s (layer %d) imports %s (layer %d)", pkg, layer, name, layers[name])
			}
			if name == "configs" && pkg != "cmd/kirin" {
				t.Errorf("%s imports configs: only cmd/kirin may", pkg)
			}
			if pkg == "selfplay" && strings.HasPrefix(name, "network") {
				t.Errorf("selfplay imports %s: they meet in cmd/kirin", name)
			}
		}
	}
	if seen < 10 {
		t.Errorf("go list named %d packages of ours", seen)
	}
}
