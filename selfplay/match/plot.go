package match

import (
	"fmt"
	"image/color"
	"io"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Plot draws the ratings with their intervals, the strongest on top. format is "png" or "svg".
func (r *Ratings) Plot(w io.Writer, format string) error {
	if format != "png" && format != "svg" {
		return fmt.Errorf("plot: format %q is not png or svg", format)
	}
	p := plot.New()
	p.Title.Text = fmt.Sprintf("Ratings from %d games, 95 %% intervals", r.Games)
	p.X.Label.Text = "Elo"
	p.Add(plotter.NewGrid())

	var points, anchors plotter.XYs
	var bars plotter.XErrors
	var barPoints plotter.XYs
	names := make([]string, len(r.Players))
	for i, player := range r.Players {
		row := float64(len(r.Players) - 1 - i)
		names[len(r.Players)-1-i] = player.Name
		at := plotter.XY{X: player.Elo, Y: row}
		if player.Anchor {
			anchors = append(anchors, at)
			continue
		}
		points = append(points, at)
		barPoints = append(barPoints, at)
		bars = append(bars, struct{ Low, High float64 }{player.Elo - player.Low, player.High - player.Elo})
	}
	ink := color.RGBA{R: 0x1f, G: 0x4e, B: 0x79, A: 0xff}
	for _, set := range []struct {
		xys   plotter.XYs
		shape draw.GlyphDrawer
	}{{points, draw.CircleGlyph{}}, {anchors, draw.BoxGlyph{}}} {
		if len(set.xys) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(set.xys)
		if err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		scatter.GlyphStyle = draw.GlyphStyle{Color: ink, Radius: vg.Points(3), Shape: set.shape}
		p.Add(scatter)
	}
	if len(bars) > 0 {
		errorBars, err := plotter.NewXErrorBars(struct {
			plotter.XYs
			plotter.XErrors
		}{barPoints, bars})
		if err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		errorBars.Color = ink
		p.Add(errorBars)
	}
	if len(names) > 0 {
		p.NominalY(names...)
	}
	height := vg.Points(90 + 16*float64(len(names)))
	to, err := p.WriterTo(18*vg.Centimeter, height, format)
	if err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	if _, err := to.WriteTo(w); err != nil {
		return fmt.Errorf("plot: %w", err)
	}
	return nil
}
