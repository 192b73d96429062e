package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"kirin/rules"
)

// answers runs kirin analyze over lines of input.
func answers(t *testing.T, net, input string, args ...string) []reply {
	t.Helper()
	var out, errs bytes.Buffer
	if status := run(t.Context(), append([]string{"analyze", "--net", net}, args...), strings.NewReader(input), &out, &errs); status != 0 {
		t.Fatalf("exit status %d: %s", status, errs.String())
	}
	var all []reply
	for line := range strings.Lines(out.String()) {
		var r reply
		d := json.NewDecoder(strings.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, r)
	}
	return all
}

func TestAnalyzeAnswersPositionsAndGames(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	got := answers(t, net, `{"id":"a","moves":["3e3d","S-3b","▲１四角"],"max_visits":50,"lines":3,"include_policy":true}
{"id":2,"sfen":"4k/2G2/4P/5/K4 b G 1"}

{"id":3,"game":"position startpos moves 3e3d 3a3b","analyze_turns":"all","max_visits":5}
{"id":4,"sfen":"4k/4G/4G/5/K4 w - 1"}
{"id":5,"moves":["3e3d","3a3b"],"analyze_turns":[2,0,2],"max_time":0.02}
{"id":6,"action":"query_version"}`, "--at-once", "3")
	byID := map[string][]reply{}
	for _, r := range got {
		if r.Error != "" {
			t.Errorf("%+v", r)
		}
		byID[string(r.ID)] = append(byID[string(r.ID)], r)
	}
	for id, n := range map[string]int{`"a"`: 1, "2": 1, "3": 3, "4": 1, "5": 2, "6": 1} {
		if len(byID[id]) != n {
			t.Fatalf("%d answers to %s, want %d", len(byID[id]), id, n)
		}
	}
	a := byID[`"a"`][0]
	if *a.Turn != 3 || a.Side != "gote" || a.Visits < 40 || len(a.Moves) != 3 || a.Moves[0].PV[0] != a.Moves[0].Move || a.Value == nil {
		t.Errorf("%+v", a)
	}
	sum := float32(0)
	for _, p := range a.Policy {
		sum += p
	}
	if sum < 0.999 || sum > 1.001 {
		t.Errorf("the policy sums to %v", sum)
	}
	if m := byID["2"][0]; m.Mate == nil || m.Mate.Plies != 1 || m.Value.Win != 1 || !m.Moves[0].Proven {
		t.Errorf("a mate in one: %+v", m)
	}
	if over := byID["4"][0]; over.Over != "sente by checkmate" || over.Moves != nil {
		t.Errorf("a finished game: %+v", over)
	}
	if v := byID["6"][0]; v.Info["version"] != version {
		t.Errorf("%+v", v)
	}
}

func TestAnalyzeExplainsEveryBadLineAndGoesOn(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	bad := map[string]string{
		`garbage`:                           "not a JSON object",
		`{"id":1`:                           "not a JSON object",
		`[1,2]`:                             "wrong kind",
		`{"id":{}}`:                         "id: ",
		`{"id":1,"moves":["9z9z"]}`:         "move 1: ",
		`{"id":1,"moves":["5e5a"]}`:         "illegal move",
		`{"id":1,"moves":"3e3d"}`:           "moves: a string is of the wrong kind",
		`{"id":1,"sfen":"9/9 b - 1"}`:       "sfen: ",
		`{"id":1,"game":"x"}`:               "game: ",
		`{"id":1,"game":"x","sfen":"y"}`:    "either",
		`{"id":1,"max_visits":-1}`:          "max_visits",
		`{"id":1,"max_time":1e300}`:         "max_time",
		`{"id":1,"max_time":-1}`:            "max_time",
		`{"id":1,"lines":-3}`:               "lines",
		`{"id":1,"analyze_turns":[1]}`:      "0..0",
		`{"id":1,"analyze_turns":"some"}`:   "analyze_turns",
		`{"id":1,"colour":"red"}`:           `unknown field "colour"`,
		`{"id":1,"action":"make_coffee"}`:   "unknown",
		strings.Repeat("x", maxQueryLine+9): "too long",
	}
	for line, want := range bad {
		got := answers(t, net, line+"\n"+`{"id":"good","max_visits":1}`)
		if len(got) != 2 || got[0].Line != 1 || !strings.Contains(got[0].Error, want) || string(got[1].ID) != `"good"` || got[1].Value == nil {
			t.Errorf("%.50q: %+v, want %q", line, got, want)
		}
	}
}

func TestAnalyzeAnswersAreAFunctionOfTheQuestion(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	const question = `{"id":1,"moves":["3e3d","3a3b"],"max_visits":60}`
	first := answers(t, net, question)
	other := answers(t, net, `{"id":0,"max_visits":90}`+"\n"+question)
	if a, b := fmt.Sprintf("%+v", first[0].Moves), fmt.Sprintf("%+v", other[1].Moves); a != b {
		t.Errorf("%s\n%s", a, b)
	}
}

func TestATinyMaxTimeIsALimit(t *testing.T) {
	got := answers(t, untrained(t, "minishogi", "1x16"), `{"id":1,"max_time":1e-12}`)
	if len(got) != 1 || got[0].Error != "" || got[0].Value == nil {
		t.Errorf("%+v", got)
	}
}

func TestAnalyzeQuestionsCanBeEnded(t *testing.T) {
	net := untrained(t, "minishogi", "1x16")
	got := answers(t, net, `{"id":1,"max_time":3600}
{"id":1,"max_time":3600}
{"id":2,"max_visits":3}
{"id":3,"action":"terminate","terminate_id":1}`)
	if len(got) != 4 {
		t.Errorf("%+v", got)
	}
}

func FuzzQueries(f *testing.F) {
	v, err := rules.Load("minishogi")
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{
		`{"id":"a","moves":["3e3d","S-3b"],"max_visits":50,"lines":3}`, `{"id":2,"sfen":"4k/2G2/4P/5/K4 b G 1","analyze_turns":[0]}`,
		`{"id":3,"game":"position startpos moves 3e3d 3a3b","analyze_turns":"all"}`, `{"action":"terminate","terminate_id":1}`, `[`, `{"id":1e999}`,
	} {
		f.Add([]byte(s))
	}
	rng := rand.New(rand.NewPCG(1, 1))
	garbage := make([]byte, 100)
	for i := range garbage {
		garbage[i] = byte(rng.UintN(256))
	}
	f.Add(garbage)
	f.Fuzz(func(t *testing.T, line []byte) {
		q, err := parseQuery(line)
		if err != nil {
			return
		}
		jobs, err := q.jobs(v, defaults{visits: 10, lines: 3})
		if err != nil {
			return
		}
		for _, j := range jobs {
			if _, err := j.game.Position(j.turn); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
		if len(jobs) > 0 {
			if err := writeReply(&bytes.Buffer{}, reply{ID: q.ID, Turn: &jobs[0].turn}); err != nil {
				t.Errorf("%q: %v", line, err)
			}
		}
	})
}
