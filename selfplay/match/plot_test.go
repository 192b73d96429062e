package match

import (
	"bytes"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestPlotsArePicturesOfEveryPlayer(t *testing.T) {
	w := &world{elo: map[string]float64{"random": 0, "a": 100, "net:run@latest": 300}, nu: 0.1, rng: rand.New(rand.NewPCG(1, 2))}
	r, err := Fit(w.tournament([]string{"random", "a", "net:run@latest"}, 20), DefaultFitOptions())
	if err != nil {
		t.Fatal(err)
	}
	var svg, again, picture bytes.Buffer
	for _, b := range []*bytes.Buffer{&svg, &again} {
		if err := r.Plot(b, "svg"); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(svg.String(), "net:run@latest") || svg.String() != again.String() {
		t.Error("the SVG lacks a player or is not repeatable")
	}
	if err := r.Plot(&picture, "png"); err != nil {
		t.Fatal(err)
	}
	if img, err := png.Decode(&picture); err != nil || img.Bounds().Dx() < 400 {
		t.Errorf("PNG: %v", err)
	}
	if err := r.Plot(&picture, "pdf"); err == nil {
		t.Error("another format is accepted")
	}
	if err := (&Ratings{}).Plot(&svg, "svg"); err != nil {
		t.Errorf("no players: %v", err)
	}
	table := r.Table()
	if !strings.Contains(table, "fixed") || strings.Count(table, "\n") != 5 {
		t.Errorf("table:\n%s", table)
	}
}
