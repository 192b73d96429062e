package rules

var (
	lionMove     = movement{lion: around, full: true}
	queenMove    = movement{slide: around}
	verticalMove = movement{slide: dN | dS, step: dE | dW}
	sideMove     = movement{slide: dE | dW, step: dN | dS}
	elephantMove = movement{step: around &^ dS}
)

// chushogi: 12x12, no drops.
var chushogi = game{
	name: "chushogi", composed: 2, width: 12, height: 12, zoneRanks: 4, maxMoves: 1048,
	kinds: []kindDef{
		{letter: "K", kanji: "玉", kanji2: "玉将", english: "king", royal: true, move: kingMove},
		{letter: "Q", kanji: "奔", kanji2: "奔王", english: "free king", move: queenMove},
		{letter: "N", kanji: "獅", kanji2: "獅子", english: "lion", move: lionMove},
		{letter: "E", kanji: "象", kanji2: "醉象", english: "drunk elephant", move: elephantMove},
		{letter: "O", kanji: "麒", kanji2: "麒麟", english: "kirin",
			move: movement{step: diagonal, jump: []offset{{0, -2}, {2, 0}, {0, 2}, {-2, 0}}}},
		{letter: "X", kanji: "鳳", kanji2: "鳳凰", english: "phoenix",
			move: movement{step: orthogonal, jump: []offset{{2, -2}, {2, 2}, {-2, 2}, {-2, -2}}}},
		{letter: "D", kanji: "龍", kanji2: "龍王", english: "dragon king", move: dragonMove},
		{letter: "H", kanji: "馬", kanji2: "龍馬", english: "dragon horse", move: horseMove},
		{letter: "R", kanji: "飛", kanji2: "飛車", english: "rook", move: rookMove},
		{letter: "B", kanji: "角", kanji2: "角行", english: "bishop", move: bishopMove},
		{letter: "V", kanji: "竪", kanji2: "竪行", english: "vertical mover", move: verticalMove},
		{letter: "M", kanji: "橫", kanji2: "橫行", english: "side mover", move: sideMove},
		{letter: "T", kanji: "虎", kanji2: "盲虎", english: "blind tiger", move: movement{step: around &^ dN}},
		{letter: "F", kanji: "豹", kanji2: "猛豹", english: "ferocious leopard", move: movement{step: diagonal | dN | dS}},
		{letter: "G", kanji: "金", kanji2: "金将", english: "gold", move: goldMove},
		{letter: "S", kanji: "銀", kanji2: "銀将", english: "silver", move: silverMove},
		{letter: "C", kanji: "銅", kanji2: "銅将", english: "copper", move: movement{step: dN | dNE | dNW | dS}},
		{letter: "A", kanji: "反", kanji2: "反車", english: "reverse chariot", move: movement{slide: dN | dS}},
		{letter: "L", kanji: "香", kanji2: "香車", english: "lance", move: movement{slide: dN}},
		{letter: "I", kanji: "仲", kanji2: "仲人", english: "go-between", move: movement{step: dN | dS}},
		{letter: "P", kanji: "歩", kanji2: "歩兵", english: "pawn", move: movement{step: dN}},

		{letter: "+E", kanji: "太", kanji2: "太子", english: "crown prince", royal: true, move: kingMove},
		{letter: "+O", kanji: "獅", kanji2: "獅子", english: "lion", move: lionMove},
		{letter: "+X", kanji: "奔", kanji2: "奔王", english: "free king", move: queenMove},
		{letter: "+D", kanji: "鷲", kanji2: "飛鷲", english: "soaring eagle",
			move: movement{slide: orthogonal | dSE | dSW, lion: dNE | dNW}},
		{letter: "+H", kanji: "鷹", kanji2: "角鷹", english: "horned falcon", move: movement{slide: around &^ dN, lion: dN}},
		{letter: "+R", kanji: "龍", kanji2: "龍王", english: "dragon king", move: dragonMove},
		{letter: "+B", kanji: "馬", kanji2: "龍馬", english: "dragon horse", move: horseMove},
		{letter: "+V", kanji: "牛", kanji2: "飛牛", english: "flying ox", move: movement{slide: dN | dS | diagonal}},
		{letter: "+M", kanji: "猪", kanji2: "奔猪", english: "free boar", move: movement{slide: dE | dW | diagonal}},
		{letter: "+T", kanji: "鹿", kanji2: "飛鹿", english: "flying stag", move: movement{slide: dN | dS, step: dE | dW | diagonal}},
		{letter: "+F", kanji: "角", kanji2: "角行", english: "bishop", move: bishopMove},
		{letter: "+G", kanji: "飛", kanji2: "飛車", english: "rook", move: rookMove},
		{letter: "+S", kanji: "竪", kanji2: "竪行", english: "vertical mover", move: verticalMove},
		{letter: "+C", kanji: "橫", kanji2: "橫行", english: "side mover", move: sideMove},
		{letter: "+A", kanji: "鯨", kanji2: "鯨鯢", english: "whale", move: movement{slide: dN | dS | dSE | dSW}},
		{letter: "+L", kanji: "駒", kanji2: "白駒", english: "white horse", move: movement{slide: dN | dS | dNE | dNW}},
		{letter: "+I", kanji: "象", kanji2: "醉象", english: "drunk elephant", move: elephantMove},
		{letter: "+P", kanji: "と", kanji2: "と金", english: "tokin", move: goldMove},
	},
	starts: []NamedStart{{"even", "平手",
		"lfcsgekgscfl/a1b1txot1b1a/mvrhdqndhrvm/pppppppppppp/3i4i3/12/12/3I4I3/PPPPPPPPPPPP/MVRHDNQDHRVM/A1B1TOXT1B1A/LFCSGKEGSCFL b - 1"}},
	options: chuOptions,
	presets: chuPresets,
}

var yesNo = []string{"yes", "no"}

var chuOptions = []option{
	{"max_plies", nil, "1000", "plies after which the game is a draw; 0 none"},
	{"promotion", []string{"entry_or_capture", "zone_any", "entry_only", "one_move_wait"}, "entry_or_capture",
		"promotes when entering the zone or taking from within it; when starting or ending in it; when entering only; or as zone_any, but not with the move after declining"},
	{"promote_on_home_return", yesNo, "no", "a piece that entered the zone unpromoted may also promote on returning to its own camp"},
	{"last_rank", []string{"must", "may", "pawn_may"}, "must",
		"pawn and lance on the last rank promote always; are free to; or the pawn is free and the lance has no right of its own"},
	{"senjishi", []string{"strict", "footed", "none"}, "strict",
		"after a non-lion has taken a lion, no non-lion takes a lion with the next move; only lions with a foot are so protected; or no such rule"},
	{"kirin_recapture", yesNo, "yes", "a kirin that has taken a lion and become one may be taken back at once"},
	{"ban_mid_square", yesNo, "yes", "senjishi also covers a lion on the middle square of a double move"},
	{"lion_adjacent", []string{"free", "footed"}, "free", "a lion may always take an adjacent lion, or only one without a foot"},
	{"tsukegui", yesNo, "yes", "taking a piece other than pawn or go-between first allows taking a distant lion with a foot"},
	{"pawn_foot_persists", yesNo, "yes", "a pawn or go-between taken on the way still counts as the distant lion's foot"},
	{"lion_jump", []string{"free", "pawns_block"}, "free", "the lion leaps over anything, or not over pawns and go-betweens"},
	{"eagle_pass", yesNo, "yes", "the soaring eagle may pass as the falcon does"},
	{"end", []string{"royal_capture", "mate_or_capture"}, "royal_capture",
		"the game ends when the last royal is taken, or already when the side to move cannot avoid that"},
	{"stalemate", []string{"loss"}, "loss", "who has no move loses"},
	{"bare_king", []string{"jcsa", "lishogi", "instant_with_reply", "off"}, "jcsa", "what a royal alone against others means"},
	{"repetition", []string{"fourfold", "fourfold_attack", "no_repeat", "instigator"}, "fourfold",
		"4th occurrence: draw, but who checked with every move loses; the same for who attacked with every move; making a position again is illegal; instigator: for human adjudication, here as fourfold"},
}

var chuPresets = []preset{
	{name: "japanese"},
	{"jcsa", map[string]string{"last_rank": "pawn_may", "senjishi": "footed", "kirin_recapture": "no", "end": "mate_or_capture",
		"repetition": "instigator"}},
	{"western", map[string]string{"last_rank": "pawn_may", "pawn_foot_persists": "no", "bare_king": "instant_with_reply",
		"repetition": "no_repeat"}},
	{"lishogi", map[string]string{"last_rank": "may", "bare_king": "lishogi", "repetition": "fourfold_attack"}},
	{"seed000", map[string]string{"promote_on_home_return": "yes", "lion_adjacent": "footed", "tsukegui": "no",
		"lion_jump": "pawns_block", "eagle_pass": "no", "bare_king": "off"}},
	{"seed001", map[string]string{"promotion": "zone_any", "senjishi": "none", "bare_king": "off"}},
}
