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

// PlotRow is one line of a plot of ratings.
type PlotRow struct {
	Name      string
	Elo       float64
	Low, High float64   // the interval; equal ones draw no bar
	Fixed     bool      // an anchor: a square instead of a dot
	Parts     []float64 // small dots beside it, such as the single runs behind a mean
}

// Plot draws the ratings with their intervals, the strongest on top. format is "png" or "svg".
func (r *Ratings) Plot(w io.Writer, format string) error {
	rows := make([]PlotRow, len(r.Players))
	for i, p := range r.Players {
		rows[i] = PlotRow{Name: p.Name, Elo: p.Elo, Low: p.Low, High: p.High, Fixed: p.Anchor}
	}
	return PlotRows(w, format, fmt.Sprintf("Ratings from %d games, 95 %% intervals", r.Games), rows)
}

// PlotRows draws ratings with their intervals, the first row on top. format is "png" or "svg".
func PlotRows(w io.Writer, format, title string, rows []PlotRow) error {
	if format != "png" && format != "svg" {
		return fmt.Errorf("plot: format %q is not png or svg", format)
	}
	p := plot.New()
	p.Title.Text = title
	p.X.Label.Text = "Elo"
	p.Add(plotter.NewGrid())

	var points, anchors, parts, barPoints plotter.XYs
	var bars plotter.XErrors
	names := make([]string, len(rows))
	for i, row := range rows {
		y := float64(len(rows) - 1 - i)
		names[len(rows)-1-i] = row.Name
		at := plotter.XY{X: row.Elo, Y: y}
		for _, elo := range row.Parts {
			parts = append(parts, plotter.XY{X: elo, Y: y - 0.2})
		}
		if row.Fixed {
			anchors = append(anchors, at)
			continue
		}
		points = append(points, at)
		if row.Low < row.High {
			barPoints = append(barPoints, at)
			bars = append(bars, struct{ Low, High float64 }{row.Elo - row.Low, row.High - row.Elo})
		}
	}
	ink, pale := color.RGBA{R: 0x1f, G: 0x4e, B: 0x79, A: 0xff}, color.RGBA{R: 0x8f, G: 0xa9, B: 0xc4, A: 0xff}
	for _, set := range []struct {
		xys   plotter.XYs
		style draw.GlyphStyle
	}{
		{parts, draw.GlyphStyle{Color: pale, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}},
		{points, draw.GlyphStyle{Color: ink, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}},
		{anchors, draw.GlyphStyle{Color: ink, Radius: vg.Points(3), Shape: draw.BoxGlyph{}}},
	} {
		if len(set.xys) == 0 {
			continue
		}
		scatter, err := plotter.NewScatter(set.xys)
		if err != nil {
			return fmt.Errorf("plot: %w", err)
		}
		scatter.GlyphStyle = set.style
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
