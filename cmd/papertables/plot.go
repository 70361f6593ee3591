package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"hindsight/tracefmt/outfile"
)

// drawing says what of a table is drawn: each row has a position on the horizontal axis,
// named by the first columns, and a mark for each of the columns in columns.
type drawing struct {
	names   int // columns that name a row
	columns []string
	unit    string
	only    func(row []string) bool // nil: all rows
}

// drawings are the tables that are drawn, by their names.
var drawings = map[string]drawing{
	"ppopp2003-3": {names: 2, columns: []string{"%", "paper %"}, unit: "% of the raw trace"},
	"ppopp2003-4": {names: 2, columns: []string{"%", "paper %"}, unit: "% of the raw trace"},
	"ppopp2003-5": {
		names: 2, columns: []string{"%", "paper %", "gzip %", "zstd -19 %", "xz -9 %"}, unit: "% of the raw trace",
		only: func(row []string) bool { return row[2] == "shared" },
	},
	"ppopp2003-f4": {names: 2, columns: []string{"SEQ symbols", "DRS symbols"}, unit: "symbols"},
	"ppopp2003-f5": {names: 2, columns: []string{"SEQ s", "Diff∘RLE∘SEQ s"}, unit: "seconds"},
	"sigmetrics2004": {
		names: 1, unit: "see the title",
		columns: []string{"gzip -9", "bzip2 -9", "sequitur", "zstd -19", "xz -9", "vpc3 paper, bzip2", "vpc3 paper, zstd", "vpc3 mixed"},
	},
	"sigmetrics1999": {names: 2, columns: []string{"ratio"}, unit: "ratio"},
	"fse2005-1":      {names: 1, columns: []string{"paths/bits", "edges per path"}, unit: "ratio; edges"},
	"fse2005-2":      {names: 1, columns: []string{"APP best", "APP l=g=7", "APP improved", "WPP"}, unit: "ratio over the bit trace"},
	"fse2005-3":      {names: 1, columns: []string{"APP l=g=7", "APP improved", "WPP"}, unit: "seconds"},
}

// plot draws a table to a file in the directory of --plots.
func (c *comparison) plot(ctx context.Context, t *table) error {
	d, ok := drawings[t.id]
	if c.plots == "" || !ok {
		return nil
	}
	if err := os.MkdirAll(c.plots, 0o777); err != nil {
		return err
	}
	if c.drawn == nil {
		c.drawn = map[string]int{}
	}
	name := t.id
	if c.drawn[t.id]++; c.drawn[t.id] > 1 {
		name = fmt.Sprintf("%s-%d", t.id, c.drawn[t.id])
	}
	p, width, err := d.draw(t)
	if err != nil {
		return fmt.Errorf("drawing table %s: %w", t.id, err)
	}
	if p == nil {
		return nil
	}
	svg, err := p.WriterTo(width, 12*vg.Centimeter, "svg")
	if err != nil {
		return err
	}
	return outfile.Write(ctx, filepath.Join(c.plots, name+".svg"), outfile.Options{}, func(w io.Writer) error {
		_, err := svg.WriteTo(w)
		return err
	})
}

// draw returns the drawing and its width. The drawing is nil if the table has nothing to
// draw.
func (d *drawing) draw(t *table) (*plot.Plot, vg.Length, error) {
	series := make([]plotter.XYs, len(d.columns))
	var names []string
	for _, row := range t.rows {
		if d.only != nil && !d.only(row) {
			continue
		}
		some := false
		for i, column := range d.columns {
			k := slices.Index(t.head, column)
			if k < 0 || k >= len(row) {
				continue
			}
			v, err := strconv.ParseFloat(strings.ReplaceAll(row[k], ",", ""), 64)
			if err != nil || v <= 0 || math.IsNaN(v) {
				continue // the cell has no number, or none with a logarithm
			}
			series[i] = append(series[i], plotter.XY{X: float64(len(names)), Y: v})
			some = true
		}
		if some {
			names = append(names, strings.Join(row[:d.names], " "))
		}
	}
	if len(names) == 0 {
		return nil, 0, nil
	}
	p := plot.New()
	p.Title.Text, _, _ = strings.Cut(t.title, ": addresses of each")
	p.Y.Label.Text = d.unit
	p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	p.NominalX(names...)
	p.X.Tick.Label.Rotation = math.Pi / 4
	p.X.Tick.Label.XAlign, p.X.Tick.Label.YAlign = text.XRight, text.YCenter
	p.X.Min, p.X.Max = -0.5, float64(len(names))-0.5
	p.Add(plotter.NewGrid())
	p.Legend.Top = true
	for i, points := range series {
		if len(points) == 0 {
			continue
		}
		s, err := plotter.NewScatter(points)
		if err != nil {
			return nil, 0, err
		}
		s.GlyphStyle = draw.GlyphStyle{Color: plotutil.Color(i), Shape: plotutil.Shape(i), Radius: vg.Points(3)}
		p.Add(s)
		p.Legend.Add(d.columns[i], s)
	}
	// Room for the legend beside the points.
	p.X.Max += max(2, float64(len(names))/4)
	return p, vg.Length(len(names)+len(names)/4+12) * vg.Centimeter * 0.8, nil
}
