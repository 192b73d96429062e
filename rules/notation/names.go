package notation

import (
	"slices"
	"strings"

	"kirin/rules"
)

// name is what one kind of piece is called.
type name struct {
	letter  string // in SFEN
	western string
	kanji   string // in Japanese move texts and on pictures
	kif     string // in move lines and hands of KIF files
	board   string // on the board of KIF files, distinct for each kind
	csa     string
	mark    string   // tells apart kinds that share kanji on a picture
	also    []string // other Japanese names, read but not written
}

// lexicon holds the names of a game. Kinds may share a name; the unpromoted kind comes first then.
type lexicon struct {
	names    []name
	byLetter map[string]*name
	words    []word // Japanese, longest first
	western  []word // upper case without the plus sign, longest first
	title    string // of the game, in the KIF header 手合割
	titles   []string
}

// word is a text with the kinds it may mean.
type word struct {
	text    string
	letters []string
}

func (w *word) has(letter string) bool { return slices.Contains(w.letters, letter) }

var shogiNames = []name{
	{letter: "K", western: "K", kanji: "玉", kif: "玉", board: "玉", csa: "OU", also: []string{"王", "玉将", "王将"}},
	{letter: "R", western: "R", kanji: "飛", kif: "飛", board: "飛", csa: "HI", also: []string{"飛車"}},
	{letter: "B", western: "B", kanji: "角", kif: "角", board: "角", csa: "KA", also: []string{"角行"}},
	{letter: "G", western: "G", kanji: "金", kif: "金", board: "金", csa: "KI", also: []string{"金将"}},
	{letter: "S", western: "S", kanji: "銀", kif: "銀", board: "銀", csa: "GI", also: []string{"銀将"}},
	{letter: "N", western: "N", kanji: "桂", kif: "桂", board: "桂", csa: "KE", also: []string{"桂馬"}},
	{letter: "L", western: "L", kanji: "香", kif: "香", board: "香", csa: "KY", also: []string{"香車"}},
	{letter: "P", western: "P", kanji: "歩", kif: "歩", board: "歩", csa: "FU", also: []string{"歩兵", "兵"}},
	{letter: "+R", western: "+R", kanji: "龍", kif: "龍", board: "龍", csa: "RY", also: []string{"竜", "龍王", "竜王", "成飛"}},
	{letter: "+B", western: "+B", kanji: "馬", kif: "馬", board: "馬", csa: "UM", also: []string{"龍馬", "竜馬", "成角"}},
	{letter: "+S", western: "+S", kanji: "全", kif: "成銀", board: "全", csa: "NG"},
	{letter: "+N", western: "+N", kanji: "圭", kif: "成桂", board: "圭", csa: "NK", also: []string{"今"}},
	{letter: "+L", western: "+L", kanji: "杏", kif: "成香", board: "杏", csa: "NY", also: []string{"仝"}},
	{letter: "+P", western: "+P", kanji: "と", kif: "と", board: "と", csa: "TO", also: []string{"と金", "个", "成歩"}},
}

var toriNames = []name{
	{letter: "K", western: "Ph", kanji: "鵬", kif: "鵬", board: "鵬"},
	{letter: "F", western: "Fa", kanji: "鷹", kif: "鷹", board: "鷹"},
	{letter: "C", western: "Cr", kanji: "鶴", kif: "鶴", board: "鶴"},
	{letter: "P", western: "Pt", kanji: "雉", kif: "雉", board: "雉"},
	{letter: "L", western: "Q", kanji: "鶉", kif: "左鶉", board: "左鶉", mark: "左"},
	{letter: "R", western: "Q", kanji: "鶉", kif: "右鶉", board: "右鶉", mark: "右"},
	{letter: "S", western: "Sw", kanji: "燕", kif: "燕", board: "燕"},
	{letter: "+F", western: "+Fa", kanji: "鵰", kif: "鵰", board: "鵰", also: []string{"鷲", "成鷹"}},
	{letter: "+S", western: "+Sw", kanji: "鴈", kif: "鴈", board: "鴈", also: []string{"雁", "成燕"}},
}

var chuNames = []name{
	{letter: "K", western: "K", kanji: "玉", kif: "玉将", board: "玉", also: []string{"王", "王将"}},
	{letter: "Q", western: "FK", kanji: "奔", kif: "奔王", board: "奔"},
	{letter: "N", western: "Ln", kanji: "獅", kif: "獅子", board: "獅", also: []string{"師"}},
	{letter: "E", western: "DE", kanji: "象", kif: "醉象", board: "象", also: []string{"酔象"}},
	{letter: "O", western: "Kr", kanji: "麒", kif: "麒麟", board: "麒"},
	{letter: "X", western: "Ph", kanji: "鳳", kif: "鳳凰", board: "鳳"},
	{letter: "D", western: "DK", kanji: "龍", kif: "龍王", board: "龍", also: []string{"竜", "竜王"}},
	{letter: "H", western: "DH", kanji: "馬", kif: "龍馬", board: "馬", also: []string{"竜馬"}},
	{letter: "R", western: "R", kanji: "飛", kif: "飛車", board: "飛"},
	{letter: "B", western: "B", kanji: "角", kif: "角行", board: "角"},
	{letter: "V", western: "VM", kanji: "竪", kif: "竪行", board: "竪"},
	{letter: "M", western: "SM", kanji: "横", kif: "横行", board: "横", also: []string{"橫", "橫行"}},
	{letter: "T", western: "BT", kanji: "虎", kif: "盲虎", board: "虎"},
	{letter: "F", western: "FL", kanji: "豹", kif: "猛豹", board: "豹"},
	{letter: "G", western: "G", kanji: "金", kif: "金将", board: "金"},
	{letter: "S", western: "S", kanji: "銀", kif: "銀将", board: "銀"},
	{letter: "C", western: "C", kanji: "銅", kif: "銅将", board: "銅"},
	{letter: "A", western: "RC", kanji: "反", kif: "反車", board: "反"},
	{letter: "L", western: "L", kanji: "香", kif: "香車", board: "香"},
	{letter: "I", western: "GB", kanji: "仲", kif: "仲人", board: "仲"},
	{letter: "P", western: "P", kanji: "歩", kif: "歩兵", board: "歩", also: []string{"兵", "步", "步兵"}},
	{letter: "+E", western: "+DE", kanji: "太", kif: "太子", board: "太"},
	{letter: "+O", western: "+Kr", kanji: "獅", kif: "獅子", board: "成獅", also: []string{"師", "成師", "成麒"}},
	{letter: "+X", western: "+Ph", kanji: "奔", kif: "奔王", board: "成奔", also: []string{"成鳳"}},
	{letter: "+D", western: "+DK", kanji: "鷲", kif: "飛鷲", board: "鷲"},
	{letter: "+H", western: "+DH", kanji: "鷹", kif: "角鷹", board: "鷹"},
	{letter: "+R", western: "+R", kanji: "龍", kif: "龍王", board: "成龍", also: []string{"竜", "竜王", "成竜"}},
	{letter: "+B", western: "+B", kanji: "馬", kif: "龍馬", board: "成馬", also: []string{"竜馬"}},
	{letter: "+V", western: "+VM", kanji: "牛", kif: "飛牛", board: "牛"},
	{letter: "+M", western: "+SM", kanji: "猪", kif: "奔猪", board: "猪"},
	{letter: "+T", western: "+BT", kanji: "鹿", kif: "飛鹿", board: "鹿"},
	{letter: "+F", western: "+FL", kanji: "角", kif: "角行", board: "成角", also: []string{"小角"}},
	{letter: "+G", western: "+G", kanji: "飛", kif: "飛車", board: "成飛", also: []string{"金飛車", "金飛"}},
	{letter: "+S", western: "+S", kanji: "竪", kif: "竪行", board: "成竪"},
	{letter: "+C", western: "+C", kanji: "横", kif: "横行", board: "成横", also: []string{"橫", "橫行"}},
	{letter: "+A", western: "+RC", kanji: "鯨", kif: "鯨鯢", board: "鯨"},
	{letter: "+L", western: "+L", kanji: "駒", kif: "白駒", board: "駒"},
	{letter: "+I", western: "+GB", kanji: "象", kif: "醉象", board: "成象", also: []string{"酔象"}},
	{letter: "+P", western: "+P", kanji: "と", kif: "と金", board: "成歩", also: []string{"金", "金将", "个", "杏", "仝", "成兵"}},
}

// lexicons by game. The titles are those that lishogi reads; the first is written.
var lexicons = map[string]*lexicon{
	"shogi":     newLexicon(shogiNames, "平手", "将棋", "本将棋"),
	"minishogi": newLexicon(without(shogiNames, "N", "L"), "5五将棋", "五々将棋", "５五将棋", "5五", "五々", "５五", "minishogi"),
	"torishogi": newLexicon(toriNames, "禽将棋", "鳥将棋", "torishogi"),
	"chushogi":  newLexicon(chuNames, "中将棋", "chushogi", "chuushogi"),
}

func without(names []name, letters ...string) []name {
	return slices.DeleteFunc(slices.Clone(names), func(n name) bool {
		return slices.Contains(letters, strings.TrimPrefix(n.letter, "+"))
	})
}

func newLexicon(names []name, titles ...string) *lexicon {
	l := &lexicon{names: names, byLetter: map[string]*name{}, title: titles[0], titles: titles}
	add := func(words []word, text, letter string) []word {
		for i := range words {
			if words[i].text == text {
				if !words[i].has(letter) {
					words[i].letters = append(words[i].letters, letter)
				}
				return words
			}
		}
		return append(words, word{text, []string{letter}})
	}
	for i := range names {
		n := &names[i]
		l.byLetter[n.letter] = n
		for _, text := range append([]string{n.kanji, n.kif, n.board}, n.also...) {
			l.words = add(l.words, text, n.letter)
		}
		if promoted := n.letter[0] == '+'; !promoted {
			l.western = add(l.western, strings.ToUpper(n.western), n.letter)
			l.western = add(l.western, n.letter, n.letter)
			if n.western == "Q" && n.mark != "" {
				l.western = add(l.western, n.letter+"Q", n.letter)
			}
		}
	}
	longest := func(a, b word) int {
		if d := len(b.text) - len(a.text); d != 0 {
			return d
		}
		return strings.Compare(a.text, b.text)
	}
	slices.SortFunc(l.words, longest)
	slices.SortFunc(l.western, longest)
	return l
}

// of returns the names of kind k.
func of(v *rules.Variant, k rules.Kind) *name {
	return lexicons[v.Name()].byLetter[v.Info(k).Letter]
}
