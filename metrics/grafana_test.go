package metrics

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// typescript finds the npm packages that know Grafana's types.
func typescript(t *testing.T) (node, modules string) {
	t.Helper()
	for _, dir := range filepath.SplitList(os.Getenv("NODE_PATH")) {
		if _, err := os.Stat(filepath.Join(dir, "@grafana", "schema")); err != nil {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, "typescript", "bin", "tsc")); err == nil {
			return tool(t, "node"), dir
		}
	}
	text := "the npm packages @grafana/schema and typescript are missing (npm install --prefix DIR @grafana/schema typescript@5; NODE_PATH=DIR/node_modules)"
	if os.Getenv("KIRIN_REQUIRE") == "all" {
		t.Fatal(text)
	}
	t.Skip(text)
	return "", ""
}

// compile has the compiler check a dashboard against Grafana's types and
// returns what it says.
func compile(t *testing.T, board map[string]any) string {
	t.Helper()
	node, modules := typescript(t)
	types, err := os.ReadFile("testdata/grafana.ts")
	if err != nil {
		t.Fatal(err)
	}
	var rows, charts []any
	panels, _ := board["panels"].([]any)
	for _, p := range panels {
		if p.(map[string]any)["type"] == "row" {
			rows = append(rows, p)
		} else {
			charts = append(charts, p)
		}
	}
	frame := map[string]any{}
	for k, v := range board {
		if k != "panels" {
			frame[k] = v
		}
	}
	var text strings.Builder
	text.Write(types)
	for _, part := range []struct {
		kind  string
		value any
	}{{"Frame", frame}, {"Row[]", rows}, {"Panels[]", charts}} {
		b, err := json.MarshalIndent(part.value, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&text, "\nexport const part%d: %s = %s;\n", text.Len(), part.kind, b)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "dashboard.ts"), []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, filepath.Join(modules, "typescript", "bin", "tsc"), "--noEmit", "--strict", "--skipLibCheck", "--target", "es2022",
		"--module", "esnext", "--moduleResolution", "bundler", "dashboard.ts")
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

func dashboard(t *testing.T) map[string]any {
	t.Helper()
	var board map[string]any
	if err := json.Unmarshal(GrafanaDashboard(), &board); err != nil {
		t.Fatal(err)
	}
	return board
}

func TestTheGrafanaDashboardFitsGrafanasSchema(t *testing.T) {
	if out := compile(t, dashboard(t)); out != "" {
		t.Errorf("Grafana's types refuse the dashboard:\n%s", out)
	}
}

func TestGrafanasSchemaRefusesAFaultyDashboard(t *testing.T) {
	board := dashboard(t)
	panels := board["panels"].([]any)[:2]
	board["panels"] = panels
	panels[0].(map[string]any)["title"] = 7
	chart := panels[1].(map[string]any)
	chart["options"].(map[string]any)["tooltip"].(map[string]any)["mode"] = "several"
	chart["gridPos"] = map[string]any{"x": 0, "y": 0, "w": 4}
	chart["targets"].([]any)[0].(map[string]any)["query"] = "up"
	board["refresh"] = 30
	out := compile(t, board)
	for _, want := range []string{`'"several"' is not assignable to type '"multi"`, "Property 'h' is missing", `'"query"' does not exist`, "Type 'number' is not assignable to type 'string'"} {
		if !strings.Contains(out, want) {
			t.Errorf("nobody minds the fault in %s:\n%s", want, out)
		}
	}
}
