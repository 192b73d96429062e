package rules

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// option is one rule that can be chosen.
type option struct {
	name    string
	allowed []string // nil: a number from 0 to maxNumber
	def     string
	help    string
}

const maxNumber = 100000

// OptionInfo describes one option of a variant and its value in it.
type OptionInfo struct {
	Name    string
	Value   string
	Default string
	Allowed []string // nil: a whole number
	Help    string
}

// preset is a named bundle of option values.
type preset struct {
	name   string
	values map[string]string
}

// Options returns every option in a fixed order with its value.
func (v *Variant) Options() []OptionInfo {
	out := make([]OptionInfo, len(v.values))
	for i, o := range v.game.options {
		out[i] = OptionInfo{o.name, v.values[i], o.def, slices.Clone(o.allowed), o.help}
	}
	return out
}

// Presets returns the names of the game's presets; the first is the default.
func (v *Variant) Presets() []string {
	names := make([]string, len(v.game.presets))
	for i, p := range v.game.presets {
		names[i] = p.name
	}
	return names
}

// resolve turns settings into a value for each option.
func (g *game) resolve(settings []string) ([]string, error) {
	values := make([]string, len(g.options))
	set := make([]bool, len(g.options))
	for i, o := range g.options {
		values[i] = o.def
	}
	presetSeen := false
	for _, s := range settings {
		key, val, ok := strings.Cut(s, "=")
		if !ok || key != "preset" {
			continue
		}
		if presetSeen {
			return nil, fmt.Errorf("preset is given twice")
		}
		presetSeen = true
		i := slices.IndexFunc(g.presets, func(p preset) bool { return p.name == val })
		if i < 0 {
			names := make([]string, len(g.presets))
			for j, p := range g.presets {
				names[j] = p.name
			}
			return nil, fmt.Errorf("preset=%s: unknown preset (allowed: %s)", val, strings.Join(names, ", "))
		}
		for k := range values {
			if x, ok := g.presets[i].values[g.options[k].name]; ok {
				values[k] = x
			}
		}
	}
	for _, s := range settings {
		if s == "default" {
			continue
		}
		key, val, ok := strings.Cut(s, "=")
		if !ok {
			return nil, fmt.Errorf("setting %q is not of the form key=value", s)
		}
		if key == "preset" {
			continue
		}
		i := slices.IndexFunc(g.options, func(o option) bool { return o.name == key })
		if i < 0 {
			names := []string{"preset"}
			for _, o := range g.options {
				names = append(names, o.name)
			}
			return nil, fmt.Errorf("unknown option %q (allowed: %s)", key, strings.Join(names, ", "))
		}
		o := &g.options[i]
		if o.allowed == nil {
			n, err := strconv.ParseUint(val, 10, 32)
			if err != nil || n > maxNumber || strconv.FormatUint(n, 10) != val {
				return nil, fmt.Errorf("%s=%s: not a whole number from 0 to %d", key, val, maxNumber)
			}
		} else if !slices.Contains(o.allowed, val) {
			return nil, fmt.Errorf("%s=%s: unknown value (allowed: %s)", key, val, strings.Join(o.allowed, ", "))
		}
		if set[i] && values[i] != val {
			return nil, fmt.Errorf("%s is given twice, as %s and as %s", key, values[i], val)
		}
		values[i], set[i] = val, true
	}
	if g.get(values, "promotion") == "one_move_wait" && g.get(values, "promote_on_home_return") == "yes" {
		return nil, fmt.Errorf("promotion=one_move_wait and promote_on_home_return=yes exclude each other: a piece has one mark")
	}
	return values, nil
}

// get returns the value of an option, "" if the game has no such option.
func (g *game) get(values []string, name string) string {
	for i, o := range g.options {
		if o.name == name {
			return values[i]
		}
	}
	return ""
}

// rule is the options in the form in which the hot paths read them.
type rule struct {
	maxPlies     int
	mateEnds     bool // royals may not be left attacked; mate ends the game
	repetition   repetitionRule
	nyugyoku     int // 24, 27 or 0
	nyugyokuAuto string

	promotion     promotionRule
	homeReturn    bool
	pawnLast      lastRank
	lanceLast     lastRank
	senjishi      senjishiRule
	kirinRecap    bool
	banMid        bool
	lionFooted    bool // a protected lion is immune even when adjacent
	tsukegui      bool
	footPersists  bool
	pawnsBlock    bool
	eaglePass     bool
	mateOrCapture bool
	bareKing      string
}

type repetitionRule uint8

const (
	repDraw             repetitionRule = iota // 4th occurrence: draw, a perpetual checker loses
	repFirstPlayerLoses                       // 4th: the first player loses, a perpetual checker before that
	repThirdIllegal                           // making the 3rd occurrence is illegal except when evading check
	repMoverLoses                             // 4th: the side that completes it loses
	repPlainDraw                              // 4th: draw, checks or not
	repAttackDraw                             // 4th: draw, except that one side attacked with every move: it loses
	repNone                                   // making a 2nd occurrence is illegal
)

var repetitionRules = map[string]repetitionRule{
	"draw": repDraw, "first_player_loses": repFirstPlayerLoses, "third_illegal": repThirdIllegal,
	"fourfold_mover_loses": repMoverLoses, "draw4": repPlainDraw, "fourfold": repDraw, "instigator": repDraw,
	"fourfold_attack": repAttackDraw, "no_repeat": repNone,
}

// limit returns the occurrence that is illegal to make, 0 if none is.
func (r repetitionRule) limit() int {
	switch r {
	case repThirdIllegal:
		return 3
	case repNone:
		return 2
	}
	return 0
}

type senjishiRule uint8

const (
	senjishiNone   senjishiRule = iota
	senjishiStrict              // after a loss to a non-lion no non-lion takes a lion for one move
	senjishiFooted              // only lions with a foot are protected
)

var senjishiRules = map[string]senjishiRule{"none": senjishiNone, "strict": senjishiStrict, "footed": senjishiFooted}

type promotionRule uint8

const (
	promoteZoneAny promotionRule = iota // the move starts or ends in the zone
	promoteAlways                       // the same, and compulsory
	promoteCapture                      // it enters the zone, or captures and starts in it
	promoteEntry                        // it enters the zone
	promoteOneMove                      // zone_any, but not with the move after declining
)

type lastRank uint8

const (
	lastMust lastRank = iota // promotes on the last rank
	lastMay                  // may promote there
	lastNone                 // no special right
)

// compile turns option values into a rule.
func (g *game) compile(values []string) rule {
	get := func(name string) string { return g.get(values, name) }
	r := rule{
		mateEnds: get("end") == "" || get("end") == "mate", repetition: repetitionRules[get("repetition")],
		nyugyokuAuto: get("nyugyoku_auto"), homeReturn: get("promote_on_home_return") == "yes",
		senjishi: senjishiRules[get("senjishi")], kirinRecap: get("kirin_recapture") == "yes", banMid: get("ban_mid_square") == "yes",
		lionFooted: get("lion_adjacent") == "footed", tsukegui: get("tsukegui") == "yes",
		footPersists: get("pawn_foot_persists") == "yes", pawnsBlock: get("lion_jump") == "pawns_block",
		eaglePass: get("eagle_pass") == "yes", mateOrCapture: get("end") == "mate_or_capture", bareKing: get("bare_king"),
	}
	r.maxPlies, _ = strconv.Atoi(get("max_plies"))
	r.nyugyoku, _ = strconv.Atoi(get("nyugyoku"))
	switch get("promotion") {
	case "":
		if g.promoteAlways {
			r.promotion = promoteAlways
		}
	case "entry_or_capture":
		r.promotion = promoteCapture
	case "entry_only":
		r.promotion = promoteEntry
	case "one_move_wait":
		r.promotion = promoteOneMove
	}
	switch get("last_rank") {
	case "may":
		r.pawnLast, r.lanceLast = lastMay, lastMay
	case "pawn_may":
		r.pawnLast, r.lanceLast = lastMay, lastNone
	}
	return r
}
