package rules

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"testing"
)

// The tables come from the piece descriptions; whoever changes one on purpose changes its checksum here.
func TestTablesHaveTheirChecksums(t *testing.T) {
	want := map[string]string{
		"shogi":     "258a000d5e6c92bb",
		"minishogi": "e64a2491bfe3f740",
		"torishogi": "bcc9df632107e289",
		"chushogi":  "673b62a40a64ad18",
	}
	for _, name := range Names() {
		v, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		fmt.Fprint(h, v.n, v.kinds, v.vectors, v.handKinds, v.total, v.base, v.taken, v.zone, v.pieceText, v.squareText)
		for pc := range 2 * len(v.kinds) {
			fmt.Fprint(h, v.step[pc][:v.n], v.slides[pc], v.twos[pc], v.near[pc], v.lions[pc], v.class[pc], v.promote[pc], v.points[pc],
				v.dead[pc], v.must[pc], v.last[pc], v.zobrist[pc][:v.n])
		}
		if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want[name] {
			t.Errorf("%s: %s, want %s", name, got, want[name])
		}
	}
}
