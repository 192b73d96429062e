package rules_test

import (
	"errors"
	"strings"
	"testing"

	"kirin/rules"
	"kirin/rules/rulestest/corpus"
)

var fuzzVariants = func() []*rules.Variant {
	var out []*rules.Variant
	for _, s := range []string{"shogi", "minishogi", "torishogi", "torishogi end=royal_capture", "chushogi", "chushogi preset=lishogi",
		"chushogi preset=jcsa", "chushogi preset=seed000", "chushogi promotion=one_move_wait"} {
		f := strings.Fields(s)
		v, err := rules.Load(f[0], f[1:]...)
		if err != nil {
			panic(err)
		}
		out = append(out, v)
	}
	return out
}()

var fuzzSFENs = []string{
	shogiStart, miniStart, toriStart,
	"lfcsgekgscfl/a1b1txot1b1a/mvrhdqndhrvm/pppppppppppp/3i4i3/12/12/3I4I3/PPPPPPPPPPPP/MVRHDNQDHRVM/A1B1TOXT1B1A/LFCSGKEGSCFL b - 1",
	"k4r5B/12/12/12/5N5r/5G6/12/12/12/12/12/K11 w 1a 2",
	"8k/9/6NG1/9/9/9/9/9/4K4 b 2R2BP3g3s3n4l17p 12",
	"k11/12/12/4S7/3p8/12/12/12/12/12/12/11K b -!8d 1",
	"k6/7/7/3+F3/7/7/3K3 b - 1",
	"12/12/12/12/3n8/12/5N6/5P6/7b4/12/12/12 w - 1",
}

func FuzzSFEN(f *testing.F) {
	for i := range fuzzVariants {
		for _, s := range fuzzSFENs {
			f.Add(uint8(i), s)
		}
	}
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, i uint8, s string) {
		v := fuzzVariants[int(i)%len(fuzzVariants)]
		p, err := v.ParseSFEN(s)
		if err != nil {
			if !errors.Is(err, rules.ErrSFEN) || strings.ContainsRune(err.Error(), '\n') {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		q, err := v.ParseSFEN(p.SFEN())
		if err != nil || q.SFEN() != p.SFEN() || q.Key() != p.Key() {
			t.Fatalf("%q is written %q and read again as %v (%v)", s, p.SFEN(), q, err)
		}
		key := p.Key()
		moves := p.AppendMoves(nil)
		if p.CountMoves() != len(p.AppendBoardMoves(nil)) {
			t.Fatalf("%q: counted %d moves", s, p.CountMoves())
		}
		p.Outcome(len(moves))
		p.Declare()
		for _, m := range moves[:min(len(moves), 40)] {
			if got, err := p.ParseMove(p.FormatMove(m)); err != nil || got != m {
				t.Fatalf("%q: %s is read as %x (%v)", s, p.FormatMove(m), got, err)
			}
			gives := p.GivesCheck(m)
			p.Do(m)
			if gives != p.InCheck() {
				t.Fatalf("%q: GivesCheck is %t before %s", s, gives, p.SFEN())
			}
			p.Undo()
		}
		if p.Key() != key || p.SFEN() != q.SFEN() {
			t.Fatalf("%q is %q after undoing", q.SFEN(), p.SFEN())
		}
	})
}

func FuzzMove(f *testing.F) {
	for _, s := range []string{"7g7f", "8h2b+", "P*5e", "5d5c", "4d4e=", "7j7h", "7g7f7g", "12l12k", "S*7a", "6f5e6d", "1a1a", "", "+", "*", "99z"} {
		for i := range fuzzVariants {
			f.Add(uint8(i), uint8(i), s)
		}
	}
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, i, j uint8, s string) {
		v := fuzzVariants[int(i)%len(fuzzVariants)]
		p, err := v.ParseSFEN(fuzzSFENs[int(j)%len(fuzzSFENs)])
		if err != nil {
			p = v.Start()
		}
		m, err := p.ParseMove(s)
		if err != nil {
			if !errors.Is(err, rules.ErrMoveText) && !errors.Is(err, rules.ErrIllegalMove) || strings.ContainsRune(err.Error(), '\n') {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		text := p.FormatMove(m)
		if got, err := p.ParseMove(text); err != nil || got != m {
			t.Fatalf("%q is %x, written %s, read as %x (%v)", s, m, text, got, err)
		}
		p.Do(m)
		p.Undo()
	})
}

func FuzzSettings(f *testing.F) {
	for _, s := range []string{"default", "preset=lishogi", "max_plies=0,repetition=draw", "preset=jcsa,bare_king=off", "=", "max_plies=007", ",,"} {
		f.Add(uint8(0), s)
		f.Add(uint8(3), s)
	}
	names := rules.Names()
	corpus.Add(f)
	f.Fuzz(func(t *testing.T, i uint8, s string) {
		name := names[int(i)%len(names)]
		v, err := rules.Load(name, strings.Split(s, ",")...)
		if err != nil {
			return
		}
		w, err := rules.Load(name, strings.Split(v.Rules(), ",")...)
		if err != nil || w.Hash() != v.Hash() {
			t.Fatalf("%q gives %s, which gives %v", s, v.Rules(), err)
		}
	})
}
