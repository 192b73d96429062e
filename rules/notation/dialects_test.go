package notation

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"

	"kirin/rules"
)

// readAs reads a file and compares it with a USI line.
func readAs(t *testing.T, text string, v *rules.Variant, usi string) *Game {
	t.Helper()
	g, err := Read([]byte(text), v)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if got, err := g.USI(); err != nil || got != usi {
		t.Errorf("read as %s, %v; want %s\n%s", got, err, usi, text)
	}
	return g
}

func TestKIFWithTimesCommentsBookmarksAndVariationsIsRead(t *testing.T) {
	text := strings.Join([]string{
		"# ---- Kifu for Windows ----",
		"開始日時：2026/11/30 10:00",
		"棋戦：名人戦",
		"戦型：横歩取り",
		"手合割：平手　　",
		"先手：山田",
		"後手:佐藤",
		"*まえがき",
		"手数----指手---------消費時間--",
		"   1 ７六歩(77)   ( 0:16/00:00:16)",
		"   2 ３四歩(33)   ( 0:00/00:00:16)+",
		"*いい手",
		"&しおり",
		"   3 ２二角成(88) ( 0:10/00:00:26)",
		"   4 同　銀(31)   ( 0:05/00:00:21)",
		"   5 ５五角打     ( 0:01/00:00:27)",
		"   6 切れ負け     ( 1:00/00:01:21)",
		"まで5手で時間切れにより先手の勝ち",
		"",
		"変化：2手",
		"   2 ８四歩(83)   ( 0:00/00:00:00)",
	}, "\r\n")
	const usi = "position startpos moves 7g7f 3c3d 8h2b+ 3a2b B*5e"
	sjis, err := japanese.ShiftJIS.NewEncoder().String(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{text, sjis, string(utf8Mark) + text} {
		g := readAs(t, text, nil, usi)
		if g.Names != [2]string{"山田", "佐藤"} || g.Date != "2026/11/30 10:00" || g.Event != "名人戦" {
			t.Errorf("header %q %q %q", g.Names, g.Date, g.Event)
		}
		if len(g.Tags) != 1 || g.Tags[0] != (Tag{"戦型", "横歩取り"}) {
			t.Errorf("tags %v", g.Tags)
		}
		if len(g.Comments) != 3 || g.Comments[0] != "まえがき" || g.Comments[2] != "いい手" {
			t.Errorf("comments %q", g.Comments)
		}
		if g.Outcome != (rules.Outcome{Result: rules.SenteWins, Reason: rules.Time}) {
			t.Errorf("outcome %s", g.Outcome)
		}
	}
}

func TestOtherDialectsOfKIFAreRead(t *testing.T) {
	for _, c := range []struct{ text, usi string }{
		{"▲７六歩△３四歩▲２二角成△同　銀\n▲５五角\nまで5手で先手の勝ち\n", "position startpos moves 7g7f 3c3d 8h2b+ 3a2b B*5e"},
		{"手合割：二枚落ち\n下手：a\n上手：b\n   1 ６二銀(71)\n   2 ７六歩(77)\n",
			"position sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1 moves 7a6b 7g7f"},
		{"後手の持駒：飛　角二　金四　銀四　桂四　香四　歩十七　\n" + // a board that no game has: sente has no king
			"  ９ ８ ７ ６ ５ ４ ３ ２ １\n+---------------------------+\n" +
			"| ・ ・ ・ ・v玉 ・ ・ ・ ・|一\n| ・ ・ ・ ・ ・ ・ ・ ・ ・|二\n| ・ ・ ・ ・ 歩 ・ ・ ・ ・|三\n" +
			strings.Repeat("| ・ ・ ・ ・ ・ ・ ・ ・ ・|四\n", 6) + "+---------------------------+\n" +
			"先手の持駒：飛\n手数----指手--\n   1 ５二飛打\n   2 反則負け\n", ""},
		{"手合割：5五将棋\n後手の持駒：なし\n  ５ ４ ３ ２ １\n+---------------+\n| ・ ・ ・ ・v玉|一\n| ・ ・ ・ ・v歩|二\n" +
			"| ・ ・ ・ ・ ・|三\n| 歩 ・ ・ ・ ・|四\n| 玉 金 ・ ・ ・|五\n+---------------+\n先手の持駒：飛　角\n後手番\n   1 ２二玉(11)\n",
			"position sfen 4k/4p/5/P4/KG3 w RB 1 moves 1a2b"},
		{"手合割：平手\n   1   7六歩兵 （←7七）   (00:01/00:00:01)\n   2   7四歩兵 （←7五）\n", ""},
		{"手合割：平手\n   1   7八歩兵 （←7九）   (00:01/00:00:01)\n   2   7五歩兵 （←7四）   (00:01/00:00:01)\n   3 中断\n",
			"position startpos moves 7i7h 7d7e"},
		{"手合割：禽将棋\n   1 ３三燕(34)\n   2 ５五燕(54)\n   3 同　鷹(46)\n   4 同　燕打\n", ""},
		{"手合割：禽将棋\n   1 ３三燕(34)\n   2 ５五燕(54)\n   3 同　鷹(46)\n   4 ３三鷹(42)\n", "position startpos moves 3d3c 5d5e 4f5e 4b3c"},
	} {
		if c.usi == "" {
			if _, err := Read([]byte(c.text), nil); err == nil {
				t.Errorf("read without error:\n%s", c.text)
			}
			continue
		}
		readAs(t, c.text, nil, c.usi)
	}
}

func TestDoubleMovesOfChuAreTwoLinesOfKIF(t *testing.T) {
	v := loadGame(t, "chushogi")
	const start = "k11/12/12/12/5p6/5p6/5N6/12/12/12/12/11K b - 1"
	for _, c := range []struct{ usi, lines string }{
		{"7g7f7e", "   1 一歩目 7六獅子 （←7七）\n   1 二歩目 7五獅子 （←7六）\n"},
		{"7g7f7g", "   1 一歩目 7六獅子 （←7七）\n   1 二歩目 7七獅子（居食い） （←7六）\n"},
		{"7g6g7g", "   1 一歩目 6六獅子 （←7七）\n   1 二歩目 7七獅子 （←6六）\n"},
		{"7g7e", "   1 7五獅子 （←7七）\n"},
	} {
		g, err := ReadUSI("sfen "+start+" moves "+c.usi, v)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := g.WriteKIF(&b, UTF8); err != nil || !strings.Contains(b.String(), "\n"+c.lines) {
			t.Errorf("%s: %v\n%s", c.usi, err, b.String())
		}
	}
	for _, lines := range []string{
		"   1 一歩目 7六獅子 （←7七）\n",
		"   1 二歩目 7五獅子 （←7六）\n",
		"   1 一歩目 7六獅子 （←7七）\n   1 二歩目 7五獅子 （←7五）\n",
		"   1 一歩目 7六獅子\n   1 二歩目 7五獅子 （←7六）\n",
		"   1 一歩目 7六歩兵 （←7七）\n   1 二歩目 7五歩兵 （←7六）\n",
	} {
		g := &Game{Variant: v, Start: start}
		var b bytes.Buffer
		if err := g.WriteKIF(&b, UTF8); err != nil {
			t.Fatal(err)
		}
		head, _, _ := strings.Cut(b.String(), "   1 ")
		if _, err := ReadKIF([]byte(head+lines), nil); err == nil {
			t.Errorf("read without error: %s", lines)
		}
	}
}

func TestCSAOfOtherProgramsIsRead(t *testing.T) {
	for _, c := range []struct{ text, usi string }{
		{"'comment\nV2.2\nN+NAKAHARA\nN-YONENAGA\n$EVENT:13th\n$SITE:KANSHIRO\n$START_TIME:2003/05/03 10:30:00\nPI\n+\n+2726FU\nT12\n-3334FU,T6\n%CHUDAN\n",
			"position startpos moves 2g2f 3c3d"},
		{"V2\nPI82HI22KA\n-\n-5142OU\n", "position sfen lnsgkgsnl/9/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL w - 1 moves 5a4b"},
		{"P-11OU\nP+59OU23UM\nP+00KI\nP-00AL\n+\n+0022KI\n%TSUMI\n/\nPI\n+\n",
			"position sfen 8k/9/7+B1/9/9/9/9/9/4K4 b G2rb3g4s4n4l18p 1 moves G*2b"},
		{"P1 *  *  *  *  *  *  *  * -OU\nP2 *  *  *  *  *  *  *  *  * \nP3 *  *  *  *  * +OU *  * +FU\n" +
			"P4 *  *  *  *  *  *  *  *  * \nP5 *  *  *  *  *  *  *  *  * \nP6 *  *  *  *  *  *  *  *  * \n" +
			"P7 * * * * * * * * *\nP8 *  *  *  *  *  *  *  *  * \nP9 *  *  *  *  *  *  *  *  * \nP+00KI00KI\n+\n+0012KI\n",
			"position sfen 8k/9/5K2P/9/9/9/9/9/9 b 2G 1 moves G*1b"},
		{"+7776FU\n-3334FU\n+8822UM\n", "position startpos moves 7g7f 3c3d 8h2b+"},
	} {
		readAs(t, c.text, nil, c.usi)
	}
	for word, want := range map[string]rules.Outcome{
		"%TORYO": {Result: rules.GoteWins, Reason: rules.Resignation}, "%KACHI": {Result: rules.SenteWins, Reason: rules.Declaration},
		"%TIME_UP": {Result: rules.GoteWins, Reason: rules.Time}, "%SENNICHITE": {Result: rules.Draw, Reason: rules.Repetition},
		"%+ILLEGAL_ACTION": {Result: rules.GoteWins, Reason: rules.IllegalMove}, "%-ILLEGAL_ACTION": {Result: rules.SenteWins, Reason: rules.IllegalMove},
		"%CHUDAN": {}, "%MAX_MOVES": {Result: rules.Draw, Reason: rules.PlyLimit},
	} {
		g, err := ReadCSA([]byte("PI\n+\n+7776FU\n-3334FU\n"+word+"\n"), nil)
		if err != nil || g.Outcome != want {
			t.Errorf("%s: %v, %v, want %v", word, g, err, want)
		}
	}
}

func TestCharactersThatShiftJISLacksAreReplaced(t *testing.T) {
	g := &Game{Variant: loadGame(t, "shogi"), Names: [2]string{"한국 name", "鵰"}}
	var b bytes.Buffer
	if err := g.WriteKIF(&b, ShiftJIS); err != nil {
		t.Fatal(err)
	}
	back, err := ReadKIF(b.Bytes(), nil)
	if err != nil || back.Names != [2]string{"?? name", "鷲"} {
		t.Errorf("%q, %v", back.Names, err)
	}
	v := loadGame(t, "torishogi")
	p := position(t, v, "3k3/7/7/3+F3/7/7/3K3 b - 1")
	g = &Game{Variant: v, Start: p.SFEN(), Moves: p.AppendMoves(nil)[:1]}
	b.Reset()
	if err := g.WriteKIF(&b, ShiftJIS); err != nil {
		t.Fatal(err)
	}
	if back, err := ReadKIF(b.Bytes(), nil); err != nil || back.Start != g.Start {
		t.Errorf("an eagle in Shift-JIS: %v", err)
	}
}

func TestCentipawnsAndScoresAreInverse(t *testing.T) {
	for _, cp := range []int{-9999, -600, -1, 0, 1, 250, 9999} {
		if got := Centipawns(Score(cp)); got != cp {
			t.Errorf("%d becomes %d", cp, got)
		}
	}
	if Centipawns(1) != 9999 || Centipawns(0) != -9999 {
		t.Error("certain results are not at the ends of the scale")
	}
}
