package encode

import "kirin/rules"

// Symmetric tells whether the left-right mirror image of every position is
// again a position of the game, so that EncodeMirror and IndexMirror may be
// used. In tori shogi the mirror swaps left and right quails.
func (e *Encoder) Symmetric() bool { return e.symmetric }

// buildMirror reads the mirrored kinds from the rules and checks that the move
// tables, promotions and hands agree with them.
func (e *Encoder) buildMirror() {
	e.mirrorKind = make([]rules.Kind, e.kinds+1)
	e.symmetric = true
	for k := rules.Kind(1); int(k) <= e.kinds; k++ {
		m := e.v.MirrorKind(k)
		e.mirrorKind[k] = m
		a, b := e.v.Info(k), e.v.Info(m)
		if e.v.MirrorKind(m) != k || a.Royal != b.Royal || a.Droppable != b.Droppable || e.v.HandMax(k) != e.v.HandMax(m) ||
			a.Promotes != rules.NoKind && b.Promotes != e.v.MirrorKind(a.Promotes) || !mirrored(e.v.Vectors(k), e.v.Vectors(m)) {
			e.symmetric = false
		}
	}
}

// mirrored tells whether b is a with left and right exchanged, in any order.
func mirrored(a, b []rules.Vector) bool {
	if len(a) != len(b) {
		return false
	}
	set := make(map[rules.Vector]bool, len(b))
	for _, v := range b {
		set[v] = true
	}
	for _, v := range a {
		v.DX = -v.DX
		if !set[v] {
			return false
		}
	}
	return true
}
