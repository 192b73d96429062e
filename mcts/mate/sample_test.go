package mate

import (
	"strings"
	"testing"

	"kirin/rules"
)

func sampler(t *testing.T, game string, change func(*SampleOptions)) *Sampler {
	t.Helper()
	o := DefaultSampleOptions()
	o.Most, o.Plain = 5, 100_000
	if change != nil {
		change(&o)
	}
	if err := o.Validate(); err != nil {
		t.Fatal(err)
	}
	x := NewSampler(load(t, game, map[string][]string{"chushogi": {"bare_king=off"}}[game]...), o)
	return x
}

func TestSampledMatesAreFoundAndNoOthers(t *testing.T) {
	for _, game := range games {
		t.Run(game, func(t *testing.T) {
			t.Parallel()
			x := sampler(t, game, nil)
			x.Tell = func(text string) { t.Error(text) }
			for n := range uint64(60) {
				if err := x.Sample(7, n); err != nil {
					t.Fatal(err)
				}
			}
			r := x.Report
			sum := r.None + r.Open
			for _, c := range r.Tallies {
				sum += c.Mates
			}
			if r.Positions != 60 || sum != 60 || r.Wrong != 0 || r.Tallies[0].Mates == 0 || r.None == 0 {
				t.Errorf("%+v", r)
			}
		})
	}
}

// A search that may look at one position finds nothing longer than a mate in one,
// and the report says so.
func TestMatesThatAreNotFoundAreCounted(t *testing.T) {
	x := sampler(t, "minishogi", func(o *SampleOptions) { o.Few, o.Many = 1, 1 })
	told := 0
	x.Tell = func(text string) {
		if told++; !strings.Contains(text, "is not found") {
			t.Error(text)
		}
	}
	for n := range uint64(100) {
		if err := x.Sample(7, n); err != nil {
			t.Fatal(err)
		}
	}
	missed := 0
	for _, c := range x.Report.Tallies {
		missed += c.Mates - c.Found
	}
	if missed == 0 || missed != told || x.Report.Wrong != 0 {
		t.Errorf("%d not found, told of %d: %+v", missed, told, x.Report)
	}
}

func TestPlainSearchKnowsHowFarItCame(t *testing.T) {
	v := load(t, "minishogi")
	p := v.Start()
	var x plainSearch
	if length, known := x.mate(p, 5, 1e6); length != 0 || !known {
		t.Error(length, known)
	}
	if length, known := x.mate(p, 5, 3); length != 1 || known {
		t.Error(length, known)
	}
	if p.SFEN() != v.Start().SFEN() || p.Outcome(len(p.AppendMoves(nil))).Result != rules.Ongoing {
		t.Error(p.SFEN())
	}
}
