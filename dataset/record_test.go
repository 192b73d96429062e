package dataset

import (
	"errors"
	"hash/crc32"
	"testing"

	"encoding/binary"

	"github.com/google/go-cmp/cmp"

	"kirin/rules"
)

func TestRecordsRoundTripInEveryVariant(t *testing.T) {
	codec := NewCodec()
	eachVariant(t, func(t *testing.T, v *rules.Variant) {
		plies, bytes := 0, 0
		for n := range int64(10) {
			g := randomGame(v, n, 200)
			b, err := codec.Encode(nil, g)
			if err != nil {
				t.Fatal(err)
			}
			got, err := codec.Decode(b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(g, got); diff != "" {
				t.Fatal(diff)
			}
			plies += len(g.Plies)
			bytes += len(b)
		}
		t.Logf("%d plies, %.0f bytes each", plies, float64(bytes)/float64(plies))
	})
}

func TestEveryFlippedByteOfARecordIsRefused(t *testing.T) {
	codec := NewCodec()
	b, err := codec.Encode(nil, randomGame(loadGame(t, rules.Names()[0]), 1, 30))
	if err != nil {
		t.Fatal(err)
	}
	for i := range b {
		b[i] ^= 0x10
		if n, err := frameLength(b); err == nil && n == len(b) && payloadIntact(b) {
			t.Fatalf("byte %d flipped: accepted", i)
		}
		b[i] ^= 0x10
	}
}

// reframe gives a body a valid header and checksum.
func reframe(c *Codec, body []byte) []byte {
	b := c.enc.EncodeAll(body, make([]byte, frameHeader))
	copy(b, frameMagic)
	binary.LittleEndian.PutUint32(b[4:], uint32(len(b)-frameHeader))
	binary.LittleEndian.PutUint32(b[8:], crc32.Checksum(b[frameHeader:], castagnoli))
	binary.LittleEndian.PutUint32(b[12:], crc32.Checksum(b[:12], castagnoli))
	return b
}

func TestForgedRecordsAreRefusedWithTheCause(t *testing.T) {
	codec := NewCodec()
	v := loadGame(t, rules.Names()[0])
	good := func() *Game { return randomGame(v, 1, 30) }
	body, err := codec.encodeBody(good())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := codec.Decode(reframe(codec, body)); err != nil {
		t.Fatalf("reframed: %v", err)
	}
	newer := append([]byte{bodyVersion + 1}, body[1:]...)
	if _, err := codec.Decode(reframe(codec, newer)); !errors.Is(err, ErrNewer) {
		t.Errorf("newer version: %v", err)
	}
	other := append([]byte{}, body...)
	other[1] ^= 1 // the id
	if _, err := codec.Decode(reframe(codec, other)); !errors.Is(err, ErrDamaged) {
		t.Errorf("other id: %v", err)
	}
	if _, err := codec.Decode(reframe(codec, append(body, 0))); !errors.Is(err, ErrDamaged) {
		t.Errorf("a byte too many: %v", err)
	}
	for cut := range body {
		if _, err := codec.Decode(reframe(codec, body[:cut])); !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrNewer) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
	bad := func(name string, change func(g *Game)) {
		g := good()
		change(g)
		if _, err := codec.Encode(nil, g); err == nil {
			t.Errorf("%s: encoded", name)
		}
	}
	bad("illegal move", func(g *Game) { g.Plies[3].Move = g.Plies[2].Move })
	bad("illegal target", func(g *Game) { g.Plies[3].Target = []MoveWeight{{g.Plies[2].Move, 1}} })
	bad("double target", func(g *Game) {
		g.Plies[3].Target = []MoveWeight{{g.Plies[3].Move, 1}, {g.Plies[3].Move, 1}}
	})
	bad("zero weight", func(g *Game) { g.Plies[3].Target = []MoveWeight{{g.Plies[3].Move, 0}} })
	bad("negative value", func(g *Game) { g.Plies[3].Value.Win = -1 })
	bad("infinite value", func(g *Game) { g.Plies[3].Value.Loss = float32(1 / zero) })
	bad("not a number", func(g *Game) { g.Plies[3].Value.Loss = float32(zero / zero) })
	bad("foreign id", func(g *Game) { g.Number++ })
	bad("unknown game", func(g *Game) { g.Variant = "go"; g.SetID() })
	bad("bad start", func(g *Game) { g.Start = "9/9 b - 1"; g.SetID() })
	bad("unknown flags", func(g *Game) { g.Plies[0].Flags = 1 << 15 })
}

var zero float64

func TestIDDependsOnWhatDecidesTheGameOnly(t *testing.T) {
	g := randomGame(loadGame(t, rules.Names()[0]), 5, 10)
	id := g.ID
	same := func(change func(g *Game)) bool {
		h := *g
		change(&h)
		h.SetID()
		return h.ID == id
	}
	for i, f := range []func(g *Game){
		func(g *Game) { g.Worker = "w9" }, func(g *Game) { g.Kernel = "avx2" }, func(g *Game) { g.Version = "9" },
		func(g *Game) { g.Plies = nil },
	} {
		if !same(f) {
			t.Errorf("change %d changes the id", i)
		}
	}
	for i, f := range []func(g *Game){
		func(g *Game) { g.Seed++ }, func(g *Game) { g.Number++ }, func(g *Game) { g.Net = "" },
		func(g *Game) { g.Config = "x" }, func(g *Game) { g.Start += " " }, func(g *Game) { g.Rules = "draw" },
	} {
		if same(f) {
			t.Errorf("change %d does not change the id", i)
		}
	}
	back, err := ParseID(id.String())
	if err != nil || back != id {
		t.Errorf("%v read as %v: %v", id, back, err)
	}
}

func TestPackPolicyDropsSmallSharesAndKeepsTheLargest(t *testing.T) {
	moves := []rules.Move{1, 2, 3, 4, 5}
	nan := float32(zero / zero)
	got := PackPolicy(nil, moves, []float32{0.5, 0.0002, nan, 0.49979, -1})
	want := []MoveWeight{{1, 32768}, {4, 32754}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got := PackPolicy(nil, moves[:2], []float32{1e-9, 1e-10}); len(got) != 1 || got[0].Weight != 1 {
		t.Errorf("tiny policy packed as %v", got)
	}
}

func FuzzDecodeRecord(f *testing.F) {
	codec := NewCodec()
	for _, name := range rules.Names() {
		v := loadGame(f, name)
		body, err := codec.encodeBody(randomGame(v, 1, 12))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(body)
	}
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, body []byte) {
		g, err := codec.Decode(reframe(codec, body))
		if err != nil {
			return
		}
		again, err := codec.Encode(nil, g)
		if err != nil {
			t.Fatalf("decoded but not encoded: %v", err)
		}
		h, err := codec.Decode(again)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(g, h); diff != "" {
			t.Fatal(diff)
		}
	})
}
