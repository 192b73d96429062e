package rules

// torishogi: 7x7. The two quails mirror each other.
var torishogi = game{
	name: "torishogi", composed: 1, diagrams: true, width: 7, height: 7, zoneRanks: 2, promoteAlways: true, pawnLimit: 2, maxMoves: 296, hand: "FCPLRS",
	mirror: map[string]string{"L": "R", "R": "L"},
	kinds: []kindDef{
		{letter: "K", kanji: "鵬", kanji2: "鵬", english: "phoenix", royal: true, move: kingMove},
		{letter: "F", kanji: "鷹", kanji2: "鷹", english: "falcon", move: movement{step: diagonal | dN | dE | dW}},
		{letter: "C", kanji: "鶴", kanji2: "鶴", english: "crane", move: movement{step: diagonal | dN | dS}},
		{letter: "P", kanji: "雉", kanji2: "雉", english: "pheasant", move: movement{jump: []offset{{0, -2}}, step: dSE | dSW}},
		{letter: "L", kanji: "鶉", kanji2: "左鶉", english: "left quail", move: movement{slide: dN | dSE, step: dSW}},
		{letter: "R", kanji: "鶉", kanji2: "右鶉", english: "right quail", move: movement{slide: dN | dSW, step: dSE}},
		{letter: "S", kanji: "燕", kanji2: "燕", english: "swallow", limited: true, move: movement{step: dN}},
		{letter: "+F", kanji: "鵰", kanji2: "鵰", english: "eagle",
			move: movement{slide: dNE | dNW | dS, two: dSE | dSW, step: dN | dE | dW}},
		{letter: "+S", kanji: "鴈", kanji2: "鴈", english: "goose", move: movement{jump: []offset{{-2, -2}, {2, -2}, {0, 2}}}},
	},
	starts: []NamedStart{
		{"even", "平手", "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1"},
		{"left_quail", "左鶉落ち", "rpckcp1/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR w - 1"},
		{"falcon", "鷹落ち", "rpckcpl/7/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR w - 1"},
		{"two_pieces", "二枚落ち", "rpckcp1/7/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR w - 1"},
		{"three_pieces", "三枚落ち", "1pckcp1/7/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR w - 1"},
	},
	options: []option{
		{"max_plies", nil, "400", "plies after which the game is a draw; 0 none"},
		{"repetition", []string{"third_illegal", "fourfold_mover_loses", "draw4"}, "third_illegal",
			"making a position for the 3rd time is illegal except when answering a check; or who completes the 4th occurrence loses; or the 4th is a draw"},
		{"end", []string{"mate", "royal_capture"}, "mate",
			"the phoenix may not be left attacked and mate wins, or the game goes on until it is taken"},
	},
	presets: []preset{{name: "default"}},
}
