package engine

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"kirin/rules"
	"kirin/selfplay/protocol"
)

// TestGamesPlayedInXBoardEndAlike replays games that XBoard 4.9.1 ran between this engine and HaChu or Sjaak II
// (testdata/xboard: a game a line, moves as they went over the wire, then XBoard's result): every move must be legal,
// the game must go on until the last, and end there as XBoard says. In chu shogi XBoard ends a game at mate and our rules
// when the king is taken: there the loser must have no move after which his king is not.
func TestGamesPlayedInXBoardEndAlike(t *testing.T) {
	for _, game := range cecpVariants {
		t.Run(game.name, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "xboard", game.name+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			v, err := rules.Load(game.ours)
			if err != nil {
				t.Fatal(err)
			}
			c := serveCECPClient(t, testConfig("minishogi", 0))
			c.send("xboard\nprotover 2")
			c.until("feature done=1")
			games := strings.Split(strings.TrimSpace(string(data)), "\n")
			if len(games) < 5 {
				t.Fatalf("only %d games", len(games))
			}
			for number, line := range games {
				moves, end, _ := strings.Cut(line, " | ")
				result, _, _ := strings.Cut(end, " ")
				p := v.Start()
				c.send("new\nvariant %s\nforce", game.name)
				c.sync()
				texts := strings.Fields(moves)
				for i, text := range texts {
					m, err := protocol.ParseAlgebraic(p, text)
					if err != nil {
						t.Fatalf("game %d, move %d: %v", number+1, i+1, err)
					}
					p.Do(m)
					c.send("usermove %s", text)
					over := p.Outcome(p.CountMoves()).Result != rules.Ongoing
					if over != (i == len(texts)-1 && game.name != "chu") {
						t.Fatalf("game %d: over %v after move %d of %d", number+1, over, i+1, len(texts))
					}
				}
				got := c.sync()
				if game.name == "chu" {
					if len(got) != 0 || !mated(p) {
						t.Errorf("game %d: XBoard says %s, the engine %q", number+1, end, got)
					}
					continue
				}
				if len(got) != 1 || !strings.HasPrefix(got[0], result+" {") {
					t.Errorf("game %d: XBoard says %s, the engine %q", number+1, end, got)
				}
			}
		})
	}
}

// mated tells whether every move of the side to move loses at once.
func mated(p *rules.Position) bool {
	t := &thinker{v: p.Variant(), game: p}
	for _, m := range p.AppendMoves(nil) {
		p.Do(m)
		saved := !t.winsAtOnce()
		p.Undo()
		if saved {
			return false
		}
	}
	return true
}
