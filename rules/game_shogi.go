package rules

// game is the description of a game from which its tables are computed.
type game struct {
	name          string
	width, height int
	zoneRanks     int // the promotion zone is the last zoneRanks ranks
	promoteAlways bool
	kinds         []kindDef // unpromoted kinds first
	hand          string    // letters in the order of SFEN hands; "" without drops
	pawnLimit     int       // own unpromoted pawns (of the kind marked dropLimited) allowed on a file
	starts        []NamedStart
	options       []option
	presets       []preset
	maxMoves      int
	composed      int               // an SFEN may hold this many times the pieces of the start
	diagrams      bool              // an SFEN may let the side to move attack the king
	mirror        map[string]string // letters exchanged by left-right mirroring
}

// kindDef describes a kind; moves are as Sente sees them.
type kindDef struct {
	letter, kanji, kanji2, english string
	royal                          bool
	limited                        bool // drops: a limited number a file, no mate by drop
	move                           movement
	points                         int // for the declaration in shogi
}

// dirs is a set of the eight directions, bit d for direction d, clockwise from forward.
type dirs uint8

const (
	dN dirs = 1 << iota
	dNE
	dE
	dSE
	dS
	dSW
	dW
	dNW

	orthogonal = dN | dE | dS | dW
	diagonal   = dNE | dSE | dSW | dNW
	around     = orthogonal | diagonal
	goldSteps  = orthogonal | dNE | dNW
)

// offset is a displacement; dx > 0 is to Sente's right, dy < 0 forward.
type offset struct{ dx, dy int }

// movement is how a kind moves.
type movement struct {
	step  dirs     // one square
	slide dirs     // any number of empty squares
	two   dirs     // one or two squares, the first of which must be empty to go on
	jump  []offset // over anything
	lion  dirs     // lion power in these directions: first and second square, double moves
	full  bool     // a lion: lion power in all directions, the second step in any
}

var games = []*game{&shogi, &minishogi, &torishogi, &chushogi}

var (
	kingMove   = movement{step: around}
	goldMove   = movement{step: goldSteps}
	rookMove   = movement{slide: orthogonal}
	bishopMove = movement{slide: diagonal}
	dragonMove = movement{slide: orthogonal, step: diagonal}
	horseMove  = movement{slide: diagonal, step: orthogonal}
	silverMove = movement{step: diagonal | dN}
)

func shogiKinds(letters string) []kindDef {
	all := []kindDef{
		{letter: "K", kanji: "玉", kanji2: "玉将", english: "king", royal: true, move: kingMove},
		{letter: "R", kanji: "飛", kanji2: "飛車", english: "rook", move: rookMove, points: 5},
		{letter: "B", kanji: "角", kanji2: "角行", english: "bishop", move: bishopMove, points: 5},
		{letter: "G", kanji: "金", kanji2: "金将", english: "gold", move: goldMove, points: 1},
		{letter: "S", kanji: "銀", kanji2: "銀将", english: "silver", move: silverMove, points: 1},
		{letter: "N", kanji: "桂", kanji2: "桂馬", english: "knight", move: movement{jump: []offset{{-1, -2}, {1, -2}}}, points: 1},
		{letter: "L", kanji: "香", kanji2: "香車", english: "lance", move: movement{slide: dN}, points: 1},
		{letter: "P", kanji: "歩", kanji2: "歩兵", english: "pawn", limited: true, move: movement{step: dN}, points: 1},
		{letter: "+R", kanji: "龍", kanji2: "龍王", english: "dragon", move: dragonMove, points: 5},
		{letter: "+B", kanji: "馬", kanji2: "龍馬", english: "horse", move: horseMove, points: 5},
		{letter: "+S", kanji: "全", kanji2: "成銀", english: "promoted silver", move: goldMove, points: 1},
		{letter: "+N", kanji: "圭", kanji2: "成桂", english: "promoted knight", move: goldMove, points: 1},
		{letter: "+L", kanji: "杏", kanji2: "成香", english: "promoted lance", move: goldMove, points: 1},
		{letter: "+P", kanji: "と", kanji2: "と金", english: "tokin", move: goldMove, points: 1},
	}
	var kinds []kindDef
	for _, k := range all {
		base := k.letter[len(k.letter)-1:]
		for i := range letters {
			if letters[i:i+1] == base {
				kinds = append(kinds, k)
			}
		}
	}
	return kinds
}

// shogi: 9x9. Sources: docs/rules.md.
var shogi = game{
	name: "shogi", composed: 1, width: 9, height: 9, zoneRanks: 3, pawnLimit: 1, maxMoves: 593, hand: "RBGSNLP",
	kinds: shogiKinds("KRBGSNLP"),
	starts: []NamedStart{
		{"even", "平手", "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"},
		{"lance", "香落ち", "lnsgkgsn1/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"right_lance", "右香落ち", "1nsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"bishop", "角落ち", "lnsgkgsnl/1r7/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"rook", "飛車落ち", "lnsgkgsnl/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"rook_lance", "飛香落ち", "lnsgkgsn1/7b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"two_pieces", "二枚落ち", "lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"three_pieces", "三枚落ち", "lnsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"four_pieces", "四枚落ち", "1nsgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"five_pieces", "五枚落ち", "2sgkgsn1/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"left_five_pieces", "左五枚落ち", "1nsgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"six_pieces", "六枚落ち", "2sgkgs2/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"eight_pieces", "八枚落ち", "3gkg3/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
		{"ten_pieces", "十枚落ち", "4k4/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1"},
	},
	options: []option{
		{"max_plies", nil, "400", "plies after which the game is decided: a draw, or by points when both kings stand in their zones; 0 none"},
		{"repetition", []string{"draw"}, "draw", "4th occurrence of a position is a draw; who checked with every move since the first loses"},
		{"nyugyoku", []string{"24", "27", "off"}, "24", "declaration with both kings entered: 24 points of all on board and in hand, or the 27 point rule"},
		{"nyugyoku_auto", []string{"win", "win_or_draw", "off"}, "win", "the declaration is made by itself when it wins, also when it draws, or never"},
	},
	presets: []preset{{name: "default"}},
}

// minishogi: 5x5.
var minishogi = game{
	name: "minishogi", composed: 2, width: 5, height: 5, zoneRanks: 1, pawnLimit: 1, maxMoves: 150, hand: "RBGSP",
	kinds:  shogiKinds("KRBGSP"),
	starts: []NamedStart{{"even", "平手", "rbsgk/4p/5/P4/KGSBR b - 1"}},
	options: []option{
		{"max_plies", nil, "300", "plies after which the game is a draw; 0 none"},
		{"repetition", []string{"first_player_loses", "draw"}, "first_player_loses", "4th occurrence of a position: the side that moved first in the game loses, or a draw; before that who checked with every move since the first occurrence loses"},
	},
	presets: []preset{{name: "default"}},
}
