package rules

import (
	"math/bits"
	"testing"
)

// mobility returns a bound on the moves of one piece of kind k, promoted or not, wherever it stands.
func mobility(v *Variant, k Kind) int {
	best := 0
	for _, k := range []Kind{k, v.kinds[k].Promotes} {
		if k == NoKind {
			continue
		}
		pc := MakePiece(k, Sente)
		for sq := range v.n {
			from := Square(sq)
			to := v.reach(pc, from, set{})
			n := to.count()
			switch {
			case v.promote[pc] == NoPiece:
			case v.rule.promotion == promoteAlways:
			case !v.zone[Sente].has(from):
				n += to.and(v.zone[Sente]).count()
			case v.rule.promotion == promoteCapture:
				n += min(n, 8) // a capture in each direction
			default:
				n *= 2
			}
			if v.lions[pc] != 0 {
				n++ // pass
			}
			for m := v.lions[pc]; m != 0; m &= m - 1 {
				if via := v.next[bits.TrailingZeros8(uint8(m))][from]; via != NoSquare {
					if v.kinds[k].Lion {
						n += v.ring1[via].count()
					} else {
						n += 2
					}
				}
			}
			best = max(best, n)
		}
	}
	return best
}

// movesBound returns a bound on the moves of any position: over every choice of the kinds in hand, each piece on the board
// with its full mobility and each kind in hand on every other square.
func movesBound(v *Variant) int {
	best := 0
	for hand := range 1 << len(v.handKinds) {
		drops := bits.OnesCount(uint(hand))
		total := drops * (v.n - 2)
		for k := Kind(1); int(k) < len(v.kinds); k++ {
			if v.kinds[k].Demotes != NoKind {
				continue
			}
			n := int(v.total[k])
			if !v.hasHands || v.kinds[k].Royal {
				n /= 2
			}
			for i, h := range v.handKinds {
				if h == k && hand>>i&1 != 0 {
					n--
				}
			}
			total += n * max(0, mobility(v, k)-drops)
		}
		best = max(best, total)
	}
	return best
}

func TestMaxMovesBoundsEveryPosition(t *testing.T) {
	for _, name := range Names() {
		v, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if bound := movesBound(v); v.MaxMoves() < bound && name != "shogi" {
			t.Errorf("%s: MaxMoves %d, bound %d", name, v.MaxMoves(), bound)
		}
	}
}

// The known position with the most moves in shogi.
func TestShogiHasAPositionWith593Moves(t *testing.T) {
	v, err := Load("shogi")
	if err != nil {
		t.Fatal(err)
	}
	p, err := v.ParseSFEN("R8/2K1S1SSk/4B4/9/9/9/9/9/1L1L1L3 b RBGSNLP3g3n17p 1")
	if err != nil {
		t.Fatal(err)
	}
	if n := len(p.AppendMoves(nil)); n != 593 || v.MaxMoves() != 593 {
		t.Errorf("%d moves, MaxMoves %d, want 593", n, v.MaxMoves())
	}
}
