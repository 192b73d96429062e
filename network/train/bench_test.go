package train

import "testing"

func benchmark(b *testing.B, game, spec string) {
	w, _ := weights(b, spec, game)
	tr, err := New(w, DefaultOptions())
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := tr.Close(); err != nil {
			b.Error(err)
		}
	}()
	list := samples(b, window(b, game, 6), tr.options.BatchSize)
	fill := func() {
		if err := tr.Fill(list); err != nil {
			b.Fatal(err)
		}
	}
	fill()
	b.Run("Fill", func(b *testing.B) {
		for b.Loop() {
			fill()
		}
		b.ReportMetric(float64(b.N*len(list))/b.Elapsed().Seconds(), "samples/s")
	})
	b.Run("Step", func(b *testing.B) {
		for b.Loop() {
			if _, err := tr.Step(); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(b.N*len(list))/b.Elapsed().Seconds(), "samples/s")
	})
}

func BenchmarkTrainMinishogi3x32(b *testing.B) { benchmark(b, "minishogi", "3x32") }
func BenchmarkTrainMinishogi4x64(b *testing.B) { benchmark(b, "minishogi", "4x64") }
func BenchmarkTrainShogi4x64(b *testing.B)     { benchmark(b, "shogi", "4x64") }
func BenchmarkTrainChushogi4x64(b *testing.B)  { benchmark(b, "chushogi", "4x64") }
