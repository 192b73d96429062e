package rulestest

import (
	"strings"
	"testing"
)

// settings are the option sets under which every law must hold.
var settings = map[string][]string{
	"shogi":     {"default", "nyugyoku=27,nyugyoku_auto=win_or_draw,max_plies=0"},
	"minishogi": {"default", "repetition=draw"},
	"torishogi": {"default", "repetition=fourfold_mover_loses", "repetition=draw4,max_plies=0", "end=royal_capture"},
	"chushogi": {"default", "preset=jcsa", "preset=western", "preset=lishogi", "preset=seed000", "preset=seed001",
		"promotion=entry_only", "promotion=one_move_wait", "preset=seed001,promote_on_home_return=yes,senjishi=footed,ban_mid_square=no"},
}

func TestRandomGamesObeyEveryLaw(t *testing.T) {
	for name, sets := range settings {
		for _, set := range sets {
			t.Run(name+" "+set, func(t *testing.T) {
				t.Parallel()
				o := Options{Games: 3, Plies: 150, Seed: 7, TwinEvery: 5}
				if name == "chushogi" {
					o = Options{Games: 1, Plies: 220, Seed: 7, TwinEvery: 20}
				}
				if err := Conform(load(t, name, strings.Split(set, ",")...), o); err != nil {
					t.Error(err)
				}
			})
		}
	}
}
