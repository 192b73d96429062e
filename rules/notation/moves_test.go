package notation

import (
	"errors"
	"math/rand/v2"
	"testing"

	"kirin/rules"
)

func TestEveryMoveOfRandomGamesReadsBackInBothNotations(t *testing.T) {
	for _, name := range rules.Names() {
		t.Run(name, func(t *testing.T) {
			v := loadGame(t, name)
			rng := rand.New(rand.NewPCG(1, 2))
			var all, buf []rules.Move
			for range 3 {
				p := v.Start()
				for range 200 {
					all = p.AppendMoves(all[:0])
					if p.Outcome(len(all)).Result != rules.Ongoing {
						break
					}
					for i := range min(len(all), 12) {
						m := all[(i*len(all))/min(len(all), 12)]
						checkTexts(t, p, m)
					}
					m := all[rng.IntN(len(all))]
					buf = buf[:0]
					for _, c := range all {
						if c.Promotes() || c.IsDouble() {
							buf = append(buf, c)
						}
					}
					if len(buf) > 0 && rng.IntN(2) == 0 {
						m = buf[rng.IntN(len(buf))]
					}
					p.Do(m)
				}
			}
		})
	}
}

func checkTexts(t *testing.T, p *rules.Position, m rules.Move) {
	t.Helper()
	w, j := Western(p, m), Japanese(p, m)
	if got, err := ParseWestern(p, w); err != nil || got != m && !(m.IsPass() && got.IsPass()) {
		t.Fatalf("%s: %s is written %s and read as %s, %v", p.SFEN(), p.FormatMove(m), w, p.FormatMove(got), err)
	}
	if got, err := ParseJapanese(p, j); err != nil || got != m {
		t.Fatalf("%s: %s is written %s and read as %s, %v", p.SFEN(), p.FormatMove(m), j, p.FormatMove(got), err)
	}
}

// Crowded boards on which many pieces of one name can go to one square.
func TestMovesReadBackWhereManyPiecesCouldGo(t *testing.T) {
	for _, c := range []struct{ game, sfen string }{
		{"shogi", "4k4/9/9/3+P+P+P3/3+P1+P3/3+P+P+P3/9/9/4K4 b - 1"},
		{"shogi", "4k4/9/9/3G1G3/3S1S3/3S1S3/3N1N3/9/4K4 b 2G 1"},
		{"shogi", "4k4/9/+R8/9/9/8+R/9/9/+B3K3+B b - 1"},
		{"torishogi", "3k3/7/2CCC2/2C4/2L1R2/2R1L2/3K3 b 2F4P8S 1"},
		{"torishogi", "3k3/2+S1+S2/7/2+F1+F2/7/2+S1+S2/3K3 w 4s 1"},
		{"chushogi", "k11/12/12/12/5n6/5p6/4+ON6/5N6/5+H6/5+H6/12/11K b - 1"},
		{"chushogi", "k11/12/12/2+R3+R5/12/12/2D6D2/12/12/6+R5/3Q2Q5/11K b - 1"},
		{"chushogi", "k11/12/12/3+D1+D6/4p7/3+D1+D6/12/12/12/12/12/11K b - 1"},
	} {
		v := loadGame(t, c.game)
		p, err := v.ParseSFEN(c.sfen)
		if err != nil {
			t.Errorf("%s: %v", c.sfen, err)
			continue
		}
		seen := map[string]rules.Move{}
		for _, m := range p.AppendMoves(nil) {
			checkTexts(t, p, m)
			for _, s := range []string{Western(p, m), Japanese(p, m)} {
				if o, ok := seen[s]; ok {
					t.Errorf("%s: %s stands for %s and %s", c.sfen, s, p.FormatMove(o), p.FormatMove(m))
				}
				seen[s] = m
			}
		}
	}
}

func TestMovesAreWrittenAsTheTablesSay(t *testing.T) {
	const (
		shogiStart = "lnsgkgsnl/1r5b1/ppppppppp/9/9/9/PPPPPPPPP/1B5R1/LNSGKGSNL b - 1"
		chuStart   = "lfcsgekgscfl/a1b1txot1b1a/mvrhdqndhrvm/pppppppppppp/3i4i3/12/12/3I4I3/PPPPPPPPPPPP/MVRHDNQDHRVM/A1B1TOXT1B1A/LFCSGKEGSCFL b - 1"
	)
	for _, c := range []struct{ game, sfen, before, usi, western, japanese string }{
		{"shogi", shogiStart, "", "7g7f", "P-7f", "▲７六歩"},
		{"shogi", shogiStart, "", "6i5h", "G6i-5h", "▲５八金左"},
		{"shogi", shogiStart, "", "4i5h", "G4i-5h", "▲５八金右"},
		{"shogi", shogiStart, "7g7f 3c3d 8h2b+", "3a2b", "Sx2b", "△同銀"},
		{"shogi", shogiStart, "7g7f 3c3d", "8h2b+", "Bx2b+", "▲２二角成"},
		{"shogi", shogiStart, "7g7f 3c3d", "8h2b", "Bx2b=", "▲２二角不成"},
		{"shogi", shogiStart, "7g7f 3c3d 8h2b+ 3a2b", "B*5e", "B*5e", "▲５五角"},
		{"shogi", "4k4/9/9/9/4G4/9/4G4/9/4K4 b G 1", "", "G*5f", "G*5f", "▲５六金打"},
		{"shogi", "4k4/9/9/9/4G4/9/4G4/9/4K4 b G 1", "", "5g5f", "G5g-5f", "▲５六金上"},
		{"shogi", "4k4/9/9/9/4G4/9/4G4/9/4K4 b G 1", "", "5e5f", "G5e-5f", "▲５六金引"},
		{"shogi", "4k4/9/9/9/9/9/3GGG3/9/4K4 b - 1", "", "5g5f", "G5g-5f", "▲５六金直"},
		{"shogi", "4k4/9/9/9/9/9/3GGG3/9/4K4 b - 1", "", "6g5f", "G6g-5f", "▲５六金左"},
		{"shogi", "4k4/9/9/9/9/3G5/3GGG3/9/4K4 b - 1", "", "6g5f", "G6g-5f", "▲５六金左上"},
		{"shogi", "4k4/9/4+S4/9/9/9/9/9/4K4 b - 1", "", "5c5b", "+S-5b", "▲５二全"},
		{"minishogi", "rbsgk/4p/5/P4/KGSBR b - 1", "", "2e3d", "B-3d", "▲３四角"},
		{"torishogi", "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1", "3d3c 5d5e", "4f5e", "Fax5e", "▲同鷹"},
		{"torishogi", "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1", "3d3c 5d5e 4f5e 4b3c", "5g5f", "Cr-5f", "▲５六鶴"},
		{"torishogi", "3k3/7/S6/7/7/7/3K3 b - 1", "", "7c7b+", "Sw-7b+", "▲７二燕成"},
		{"torishogi", "3k3/7/7/7/7/7/3K3 b LRS 1", "", "L*5e", "LQ*5e", "▲５五左鶉"},
		{"torishogi", "3k3/7/7/7/7/7/3K3 b LRS 1", "", "S*5e", "Sw*5e", "▲５五燕"},
		{"chushogi", chuStart, "", "7j7h", "Ln-7h", "▲７八獅"},
		{"chushogi", chuStart, "", "7i7h", "P-7h", "▲７八歩"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "", "7g7f7e", "Lnx7f-7e", "▲７六・７五獅"},
		{"chushogi", "k11/12/12/12/5p6/5p6/5N6/12/12/12/12/11K b - 1", "", "7g7f7e", "Lnx7fx7e", "▲７六・７五獅"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "", "7g7f7g", "Lnx!7f", "▲７六居喰い"},
		{"chushogi", "k11/12/12/12/12/12/5N6/12/12/12/12/11K b - 1", "", "7g7f7g", "--", "▲じっと"},
		{"chushogi", "k11/12/12/12/4S7/12/12/12/12/12/12/11K b - 1", "", "8e8d+", "S-8d+", "▲８四銀成"},
		{"chushogi", "k11/12/12/12/4S7/12/12/12/12/12/12/11K b - 1", "", "8e8d", "S-8d=", "▲８四銀不成"},
		{"chushogi", "k11/12/12/12/12/12/12/12/12/12/12/K10+D b - 1", "", "1l1k", "+DK-1k", "▲１十一鷲"},
	} {
		v := loadGame(t, c.game)
		g, err := ReadUSI("sfen "+c.sfen+" moves "+c.before, v)
		if err != nil {
			t.Fatal(err)
		}
		p := mustPosition(t, g, len(g.Moves))
		m, err := p.ParseMove(c.usi)
		if err != nil {
			t.Errorf("%s: %v", c.sfen, err)
			continue
		}
		if w, j := Western(p, m), Japanese(p, m); w != c.western || j != c.japanese {
			t.Errorf("%s %s: %s %s, want %s %s", c.sfen, c.usi, w, j, c.western, c.japanese)
		}
		checkTexts(t, p, m)
	}
}

func TestOtherWaysOfWritingAreRead(t *testing.T) {
	for _, c := range []struct{ game, sfen, text, usi string }{
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "p-5f", "5g5f"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "P-56", "5g5f"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "P5g-5f", "5g5f"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "56歩", "5g5f"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "☗５六歩兵(57)", "5g5f"},
		{"shogi", "4k4/9/9/9/9/9/4P4/9/4K4 b G 1", "５五金打", "G*5e"},
		{"shogi", "4k4/9/9/9/9/9/3GGG3/9/4K4 b - 1", "５六金右上", "4g5f"},
		{"shogi", "1k7/9/9/9/9/4+B4/9/9/4K3+B b - 1", "▲５五竜馬左", "5f5e"},
		{"shogi", "k8/4P4/9/9/9/9/9/9/4K4 b - 1", "P-5a", "5b5a+"},
		{"shogi", "k8/9/9/4S4/9/9/9/9/4K4 b - 1", "５三銀生", "5d5c"},
		{"torishogi", "rpckcpl/3f3/sssssss/2s1S2/SSSSSSS/3F3/LPCKCPR b - 1", "SWx3c", "3d3c"},
		{"torishogi", "3k3/7/S6/7/7/7/3K3 b - 1", "sw-7b", "7c7b+"},
		{"torishogi", "k6/7/7/3L3/7/7/3K3 b - 1", "LQ-1g", "4d1g"},
		{"torishogi", "k6/7/7/3L3/7/7/3K3 b - 1", "Q-1g", "4d1g"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "lnX!7F", "7g7f7g"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "Ln-6f-7e", "7g7e"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "７六居食い", "7g7f7g"},
		{"chushogi", "k11/12/12/12/12/5p6/5N6/12/12/12/12/11K b - 1", "獅じっと", "7g6g7g"},
	} {
		p := position(t, loadGame(t, c.game), c.sfen)
		m, err := ParseJapanese(p, c.text)
		if errors.Is(err, rules.ErrMoveText) {
			m, err = ParseWestern(p, c.text)
		}
		want, err2 := p.ParseMove(c.usi)
		if err2 != nil {
			t.Fatal(err2)
		}
		if err != nil || m != want {
			t.Errorf("%s: %s, %v, want %s", c.text, p.FormatMove(m), err, c.usi)
		}
	}
}

func TestTextsThatAreNoLegalMoveSayWhy(t *testing.T) {
	v := loadGame(t, "shogi")
	p := position(t, v, "4k4/9/9/9/4r4/9/4P4/9/4K4 b P 1")
	for _, c := range []struct {
		text string
		kind error
	}{
		{"hello", rules.ErrMoveText},
		{"P-5z", rules.ErrMoveText},
		{"P-5e", rules.ErrIllegalMove},
		{"P*5f", rules.ErrIllegalMove},
		{"K-5h-5g", rules.ErrIllegalMove},
		{"△５六歩", rules.ErrIllegalMove},
		{"▲５六", rules.ErrMoveText},
		{"▲５六歩引", rules.ErrIllegalMove},
		{"▲同歩", rules.ErrMoveText},
		{"▲５六歩打", rules.ErrIllegalMove},
		{"", rules.ErrMoveText},
	} {
		_, err := ParseWestern(p, c.text)
		if errors.Is(err, rules.ErrMoveText) {
			_, err = ParseJapanese(p, c.text)
		}
		if !errors.Is(err, c.kind) {
			t.Errorf("%q: %v, want %v", c.text, err, c.kind)
		}
	}
}
