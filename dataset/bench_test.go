package dataset

import (
	"path/filepath"
	"testing"

	"kirin/rules"
)

func BenchmarkAppend(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			games := randomGames(loadGame(b, name), 0, 16, 100)
			j, _, err := OpenJournal(nil, filepath.Join(b.TempDir(), "j"), NewCodec())
			if err != nil {
				b.Fatal(err)
			}
			defer j.Close()
			i := 0
			for b.Loop() {
				clear(j.ids)
				if err := j.Append(games[i%len(games)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
			b.ReportMetric(float64(j.Size())/float64(i), "B/game")
		})
	}
}

// BenchmarkSeal and BenchmarkReadShard report games a second.
func BenchmarkSeal(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			s := openStore(b, b.TempDir(), nil)
			games := randomGames(loadGame(b, name), 0, 64, 100)
			n := 0
			for b.Loop() {
				if err := s.writeUnit(unit{name, "w0", 1}, games); err != nil {
					b.Fatal(err)
				}
				n += len(games)
			}
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "games/s")
		})
	}
}

func BenchmarkReadShard(b *testing.B) {
	for _, name := range rules.Names() {
		b.Run(name, func(b *testing.B) {
			s := openStore(b, b.TempDir(), nil)
			if err := s.writeUnit(unit{name, "w0", 1}, randomGames(loadGame(b, name), 0, 64, 100)); err != nil {
				b.Fatal(err)
			}
			shards, err := s.sizedShards()
			if err != nil {
				b.Fatal(err)
			}
			n := 0
			for b.Loop() {
				sh, err := openShard(s.fsys, s.path(shards[0]))
				if err != nil {
					b.Fatal(err)
				}
				if err := sh.games(s.codec, func(*Game) error { n++; return nil }); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(shards[0].size)/64, "B/game")
			b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "games/s")
		})
	}
}
