package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"kirin/rules"
)

// missingProgram skips the test, or fails it where every program has to be there.
func missingProgram(t *testing.T, name string, err error) {
	t.Helper()
	if os.Getenv("KIRIN_REQUIRE") == "all" {
		t.Fatalf("%s is needed: %v", name, err)
	}
	t.Skipf("%s is missing: %v", name, err)
}

type table struct {
	Columns []string `json:"columns"`
	Rows    [][]any  `json:"rows"`
}

// duckdb runs queries in dir with the npm package @duckdb/node-api, which must be on NODE_PATH.
func duckdb(t *testing.T, dir string, queries []string) []table {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		missingProgram(t, "node", err)
	}
	if err := exec.Command(node, "-e", `require("@duckdb/node-api")`).Run(); err != nil {
		missingProgram(t, "the npm package @duckdb/node-api (npm install --prefix DIR @duckdb/node-api; NODE_PATH=DIR/node_modules)", err)
	}
	script, err := filepath.Abs("testdata/duckdb.js")
	if err != nil {
		t.Fatal(err)
	}
	in, err := json.Marshal(queries)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, script)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(in)
	var fault bytes.Buffer
	cmd.Stderr = &fault
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, fault.String())
	}
	var tables []table
	if err := json.Unmarshal(out, &tables); err != nil {
		t.Fatal(err)
	}
	return tables
}

// number reads a number that DuckDB may give as a text.
func number(t *testing.T, x any) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(fmt.Sprint(x), 64)
	if err != nil {
		t.Fatalf("%v is no number", x)
	}
	return v
}

// manualQueries returns the SQL texts of docs/data.md.
func manualQueries(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile("(?s)```sql\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		list = append(list, m[1])
	}
	return list
}

func TestDuckDBAnswersTheQueriesOfTheManual(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "runs/minishogi/games"), func(o *Options) { o.SealGames = 12 })
	games := netsGames(t, 40, 25)
	games = append(games, randomGames(loadGame(t, "minishogi"), 100, 20, 400)...)
	w := openWriter(t, s, "w0")
	appendAll(t, w, games)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	queries := manualQueries(t)
	if len(queries) != 4 {
		t.Fatalf("%d queries in the manual", len(queries))
	}
	tables := duckdb(t, dir, queries)

	type end struct{ result, reason string }
	count, plies, steps := map[end]int{}, map[end]int{}, map[int64]int{}
	first, shares := map[string]int{}, map[string][]float64{}
	start := loadGame(t, "minishogi").Start()
	for _, g := range games {
		e := end{g.Outcome.Result.String(), g.Outcome.Reason.String()}
		count[e]++
		plies[e] += len(g.Plies)
		if !g.Truncated {
			steps[g.Step]++
		}
		move := start.FormatMove(g.Plies[0].Move)
		first[move]++
		if len(g.Plies[0].Target) > 0 {
			shares[move] = append(shares[move], shareOf(g.Plies[0].Target, g.Plies[0].Move))
		}
	}
	if len(tables[0].Rows) != len(count) || len(count) < 3 {
		t.Errorf("%d kinds of ends instead of %d", len(tables[0].Rows), len(count))
	}
	for _, r := range tables[0].Rows {
		e := end{r[0].(string), r[1].(string)}
		mean := float64(plies[e]) / float64(count[e])
		if number(t, r[2]) != float64(count[e]) || math.Abs(number(t, r[3])-mean) > 0.051 {
			t.Errorf("%v, want %d games of %.2f plies", r, count[e], mean)
		}
	}
	for _, r := range tables[1].Rows {
		if n := number(t, r[1]); n != float64(steps[int64(number(t, r[0]))]) {
			t.Errorf("step %v has %v games", r[0], n)
		}
	}
	if n := min(10, len(first)); len(tables[2].Rows) != n {
		t.Errorf("%d first moves instead of %d", len(tables[2].Rows), n)
	}
	for _, r := range tables[2].Rows {
		move := r[0].(string)
		sum := 0.0
		for _, x := range shares[move] {
			sum += x
		}
		if number(t, r[1]) != float64(first[move]) || math.Abs(number(t, r[2])-sum/float64(len(shares[move]))) > 1e-4 {
			t.Errorf("%v, want %d games and a share of %v", r, first[move], sum/float64(len(shares[move])))
		}
	}
	last := slices.MaxFunc(games, func(a, b *Game) int { return bytes.Compare(a.ID[:], b.ID[:]) })
	if want := len(last.Plies); len(tables[3].Rows) != want {
		t.Errorf("%d plies of a game instead of %d", len(tables[3].Rows), want)
	}
}

func shareOf(target []MoveWeight, m rules.Move) float64 {
	own, total := 0.0, 0.0
	for _, t := range target {
		total += float64(t.Weight)
		if t.Move == m {
			own = float64(t.Weight)
		}
	}
	return own / total
}

func TestDuckDBSeesTheColumnsThatTheManualNames(t *testing.T) {
	dir := t.TempDir()
	s := openStore(t, filepath.Join(dir, "g"), nil)
	w := openWriter(t, s, "w0")
	appendAll(t, w, randomGames(loadGame(t, "chushogi"), 0, 3, 60))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Merge(filepath.Join(dir, "all.parquet")); n != 3 || err != nil {
		t.Fatal(n, err)
	}
	tables := duckdb(t, dir, []string{
		"DESCRIBE SELECT * FROM 'all.parquet'",
		"SELECT key::VARCHAR, value::VARCHAR FROM parquet_kv_metadata('all.parquet') ORDER BY 1",
		"SELECT count(*), sum(length), sum(len(plies)) FROM 'all.parquet'",
	})
	manual, err := os.ReadFile("../docs/data.md")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range tables[0].Rows {
		name := r[0].(string)
		got = append(got, name+" "+strings.ReplaceAll(r[1].(string), `"`, ""))
		if !bytes.Contains(manual, []byte("`"+name+"`")) {
			t.Errorf("the manual does not explain %s", name)
		}
	}
	want := []string{
		"id VARCHAR", "variant VARCHAR", "rules VARCHAR", "start_sfen VARCHAR", "result VARCHAR", "reason VARCHAR", "truncated BOOLEAN",
		"length INTEGER", "positions INTEGER", "seed UBIGINT", "number BIGINT", "net VARCHAR", "step BIGINT", "config VARCHAR", "version VARCHAR",
		"kernel VARCHAR", "worker VARCHAR",
		"plies STRUCT(move VARCHAR, win FLOAT, draw FLOAT, loss FLOAT, visits UINTEGER, flags USMALLINT, target STRUCT(move VARCHAR, weight USMALLINT)[])[]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("columns\n%s", strings.Join(got, "\n"))
	}
	keys := fmt.Sprint(tables[1].Rows)
	for _, k := range []string{"kirin.format 1", "kirin.variant chushogi", "kirin.rules default", "kirin.games 3", "kirin.file_crc32c"} {
		if !strings.Contains(keys, k) {
			t.Errorf("metadata lack %q: %s", k, keys)
		}
	}
	if n := tables[2].Rows[0]; number(t, n[0]) != 3 || number(t, n[1]) != number(t, n[2]) {
		t.Errorf("counted %v", n)
	}
}
