package rules_test

import (
	"strings"
	"testing"

	"kirin/rules"
)

// everyGame calls f with each game in its default options, and chu shogi in its presets.
func everyGame(t *testing.T, f func(t *testing.T, v *rules.Variant)) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) { f(t, load(t, name)) })
	}
	for _, preset := range load(t, "chushogi").Presets() {
		t.Run("chushogi "+preset, func(t *testing.T) { f(t, load(t, "chushogi", "preset="+preset)) })
	}
}

func TestPlayingDoesNotAllocate(t *testing.T) {
	everyGame(t, func(t *testing.T, v *rules.Variant) {
		p := v.Start()
		buf := make([]rules.Move, 0, v.MaxMoves())
		other := v.Start()
		n := testing.AllocsPerRun(20, func() {
			for i := range 60 {
				buf = p.AppendMoves(buf[:0])
				if p.Outcome(len(buf)).Result != rules.Ongoing {
					break
				}
				p.CountMoves()
				m := buf[i*7%len(buf)]
				p.GivesCheck(m)
				p.CacheKey()
				p.Do(m)
			}
			buf = p.AppendChecks(buf[:0])
			other.CopyFrom(p)
			for p.Ply() > 0 {
				p.Undo()
			}
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func TestACopyIsIndependent(t *testing.T) {
	everyGame(t, func(t *testing.T, v *rules.Variant) {
		p := v.Start()
		p.Do(p.AppendMoves(nil)[0])
		c := p.Clone()
		want := p.SFEN()
		c.Do(c.AppendMoves(nil)[0])
		c.Undo()
		c.Undo()
		if p.SFEN() != want || c.SFEN() != v.Start().SFEN() {
			t.Errorf("after playing on the copy: %s, copy %s", p.SFEN(), c.SFEN())
		}
	})
}

func TestLoadGivesBackItsRules(t *testing.T) {
	for _, c := range []struct {
		name, settings, rules string
	}{
		{"shogi", "default", "default"},
		{"shogi", "max_plies=400", "default"},
		{"minishogi", "repetition=draw,max_plies=0", "max_plies=0,repetition=draw"},
		{"chushogi", "preset=japanese", "default"},
		{"chushogi", "preset=lishogi", "last_rank=may,bare_king=lishogi,repetition=fourfold_attack"},
		{"chushogi", "max_plies=0,preset=western,bare_king=off", "max_plies=0,last_rank=pawn_may,pawn_foot_persists=no,bare_king=off,repetition=no_repeat"},
	} {
		v := load(t, c.name, strings.Split(c.settings, ",")...)
		if v.Rules() != c.rules {
			t.Errorf("%s %s: rules %s, want %s", c.name, c.settings, v.Rules(), c.rules)
		}
		w := load(t, c.name, strings.Split(v.Rules(), ",")...)
		if w.Rules() != v.Rules() || w.Hash() != v.Hash() {
			t.Errorf("%s %s: loaded again it is %s", c.name, v.Rules(), w.Rules())
		}
	}
}

func TestEveryOptionChangesTheHash(t *testing.T) {
	seen := map[string]string{}
	for _, name := range rules.Names() {
		v := load(t, name)
		seen[v.Hash()] = name
		for _, o := range v.Options() {
			values := o.Allowed
			if values == nil {
				values = []string{"1", "2"}
			}
			for _, val := range values {
				if val == o.Value {
					continue
				}
				w := load(t, name, o.Name+"="+val)
				if other, ok := seen[w.Hash()]; ok {
					t.Errorf("%s %s=%s has the hash of %s", name, o.Name, val, other)
				}
				seen[w.Hash()] = name + " " + o.Name + "=" + val
			}
		}
	}
}

func TestAWrongSettingIsNamed(t *testing.T) {
	for _, c := range []struct{ name, settings, want string }{
		{"go", "default", `unknown game "go" (shogi, minishogi, torishogi, chushogi)`},
		{"shogi", "maxplies=3", `shogi: unknown option "maxplies" (allowed: preset, max_plies, repetition, nyugyoku, nyugyoku_auto)`},
		{"shogi", "max_plies=-1", "shogi: max_plies=-1: not a whole number from 0 to 100000"},
		{"shogi", "max_plies", `shogi: setting "max_plies" is not of the form key=value`},
		{"minishogi", "repetition=win", "minishogi: repetition=win: unknown value (allowed: first_player_loses, draw)"},
		{"minishogi", "repetition=draw repetition=first_player_loses", "minishogi: repetition is given twice, as draw and as first_player_loses"},
		{"chushogi", "preset=go", "chushogi: preset=go: unknown preset (allowed: japanese, jcsa, western, lishogi, seed000, seed001)"},
	} {
		_, err := rules.Load(c.name, strings.Fields(c.settings)...)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %s: %v, want %s", c.name, c.settings, err, c.want)
		}
	}
}
