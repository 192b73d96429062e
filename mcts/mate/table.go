package mate

import (
	"math/bits"

	"kirin/rules"
)

// infinite is the proof number of a refuted and the disproof number of a proven
// position; sums stop below it.
const infinite = 1 << 30

// always is the depth of a refutation that holds at every depth.
const always = 255

// entry is what is known of a position: the fields but key, effort and age make a
// verdict.
type entry struct {
	key    uint64
	pn, dn uint32     // at depth
	best   rules.Move // of the attacker, that proves
	effort uint32     // positions spent
	age    uint32     // number of the search
	depth  uint8
	length uint8 // proven: mate within length plies; 0 not proven
	// refuted: no mate within refuted-1 plies, 0 nothing known, always: never. The one
	// more tells "not within 0" from nothing.
	refuted uint8
	checked bool // the proof has been replayed without meeting a position of the game before
}

const entryBytes = 40

// bucket is the number of places for a key.
const bucket = 4

// table is a hash table of fixed size that forgets everything when its age moves
// on.
type table struct {
	entries []entry
	mask    uint64
	age     uint32
}

func newTable(bytes int64) table {
	n := int64(1) << (63 - bits.LeadingZeros64(uint64(max(bytes/entryBytes, bucket))))
	return table{entries: make([]entry, n), mask: uint64(n) - bucket}
}

func (t *table) clear() {
	t.age++
	if t.age == 0 {
		clear(t.entries)
		t.age = 1
	}
}

// find returns nil if the key is not there.
func (t *table) find(key uint64) *entry {
	i := key * 0x9e3779b97f4a7c15 >> 20 & t.mask
	b := t.entries[i : i+bucket : i+bucket]
	for j := range b {
		if b[j].key == key && b[j].age == t.age {
			return &b[j]
		}
	}
	return nil
}

// place returns the entry for the key, in which nothing is known if it is new. It
// takes the place of the entry with the least effort.
func (t *table) place(key uint64) *entry {
	i := key * 0x9e3779b97f4a7c15 >> 20 & t.mask
	b := t.entries[i : i+bucket : i+bucket]
	worst := &b[0]
	for j := range b {
		e := &b[j]
		if e.age != t.age {
			worst = e
			continue
		}
		if e.key == key {
			return e
		}
		if worst.age == t.age && e.effort < worst.effort {
			worst = e
		}
	}
	*worst = entry{key: key, age: t.age}
	return worst
}
