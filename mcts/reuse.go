package mcts

import "kirin/rules"

// Advance makes the position after the root move m the new root and keeps what
// is known below it, so that Resume can go on from there. It reports whether
// there was anything to keep; if not, the tree is empty and Reset or Resume
// starts from nothing. A position that Prove has settled is not kept: it is known
// to be won, but not by which move. No leaf may be pending.
//
// The kept values are sound: they were reached by the same moves. Self-play does
// without, since the visits of the old search would bias the new one's policy
// target.
func (t *Tree) Advance(m rules.Move) bool {
	panicIf(t.nodes[root].pending > 0, "mcts: Advance with leaves pending")
	nd := &t.nodes[root]
	keep := int32(0)
	for i := range int32(nd.count) {
		if t.moves[nd.first+i] == m {
			keep = t.edges[nd.first+i].child
		}
	}
	if keep == 0 || t.unfounded(keep) {
		t.nodes = append(t.nodes[:0], node{}, node{})
		t.edges = t.edges[:0]
		t.moves = t.moves[:0]
		t.plies = t.plies[:0]
		t.clearSearch()
		return false
	}
	t.compact(keep)
	t.clearSearch()
	return true
}

// unfounded tells whether a node is proven by what somebody outside said, so that
// its moves do not show it.
func (t *Tree) unfounded(n int32) bool {
	nd := &t.nodes[n]
	if nd.proof == unproven || nd.count == 0 {
		return false
	}
	for _, e := range t.edges[nd.first : nd.first+int32(nd.count)] {
		// Where nobody has been, the child is the nil node, which proves nothing.
		switch c := &t.nodes[e.child]; {
		case nd.proof == proofWin && c.proof == proofLoss:
			return false
		case nd.proof != proofWin && c.proof == unproven:
			return true
		}
	}
	return nd.proof == proofWin
}

// clearSearch forgets the last search's findings at the old root.
func (t *Tree) clearSearch() {
	t.side = t.side.Other()
	t.outcome = rules.Outcome{}
	t.noised = t.noised[:0]
	t.noise = t.noise[:0]
	t.candidates = t.candidates[:0]
	t.started, t.budget = 0, 0
	t.spent, t.full = false, false
}

// compact moves the subtree of top to the front of the arrays. Children come
// after their parents, and edges lie in the order of their nodes, so one sweep
// moves everything towards the front without overwriting what is still needed.
func (t *Tree) compact(top int32) {
	for len(t.remap) < len(t.nodes) {
		t.remap = append(t.remap, 0)
	}
	timed := len(t.plies) > 0
	for timed && len(t.plies) < len(t.nodes) { // nodes that needed no answer
		t.plies = append(t.plies, 0)
	}
	clear(t.remap[:top])
	next, edge := root, int32(0)
	for n := top; int(n) < len(t.nodes); n++ {
		nd := t.nodes[n]
		up := int32(0)
		if n != top {
			if up = t.remap[nd.parent]; up == 0 {
				t.remap[n] = 0
				continue
			}
			t.edges[t.nodes[up].first+int32(nd.slot)].child = next
		}
		t.remap[n] = next
		from, count := nd.first, int32(nd.count)
		nd.parent = up
		nd.first = edge
		copy(t.edges[edge:edge+count], t.edges[from:from+count])
		copy(t.moves[edge:edge+count], t.moves[from:from+count])
		edge += count
		t.nodes[next] = nd
		if timed {
			t.plies[next] = t.plies[n]
		}
		next++
	}
	t.nodes[root].slot = 0
	t.nodes = t.nodes[:next]
	t.edges = t.edges[:edge]
	t.moves = t.moves[:edge]
	if timed {
		t.plies = t.plies[:next]
	} else {
		t.plies = t.plies[:0]
	}
}

// Follow makes p's position the root of d's tree, if p goes on with the game of old,
// at whose position the root is, and both began at the same position. It reports
// whether anything was kept.
func Follow(d *Driver[*rules.Position], old, p *rules.Position) bool {
	from := old.Ply()
	if p.Ply() < from {
		return false
	}
	for i := range from {
		if old.MoveAt(i) != p.MoveAt(i) {
			return false
		}
	}
	for i := from; i < p.Ply(); i++ {
		if !d.Advance(p.MoveAt(i)) {
			return false
		}
	}
	moves := 0
	d.Read(func(t *Tree) { moves = len(t.RootMoves()) })
	return moves > 0 // a child that ProveMove has settled has none in the tree
}
