package main

import (
	"context"
	"fmt"
	"math"
	"os"

	"hindsight/cmd/internal/codecs"
	"hindsight/mpsim/raw"
	"hindsight/tracefmt/ldr"
)

// predictorRivals take part in Table 2 of VPC3, ours last.
func predictorRivals() []rival {
	return []rival{
		gzipRival("-9"), bzip2Rival(),
		packRival("sequitur", "sequitur", codecs.Options{Columns: []int{4, 8}}),
		zstdRival("-19"), xzRival(),
		packRival("vpc3 paper, bzip2", "vpc3", codecs.Options{Profile: "paper", Post: "bzip2"}),
		packRival("vpc3 paper, zstd", "vpc3", codecs.Options{Profile: "paper", Post: "zstd"}),
		packRival("vpc3 mixed", "vpc3", codecs.Options{Profile: "mixed", Post: "zstd"}),
	}
}

// predictors measures Table 2 of VPC3 and its speeds.
func (c *comparison) predictors(ctx context.Context) ([]*table, error) {
	rivals := predictorRivals()
	var notes []string
	for i := range rivals {
		if n := rivals[i].find(); n != "" {
			notes = append(notes, n)
		}
	}
	tables := []*table{
		{id: "sigmetrics2004", title: "SIGMETRICS 2004 (VPC3), Table 2: compression ratio", notes: append(notes,
			fmt.Sprintf("Traces of `hindsight traces`, %d threads, 12 bytes per record, compared with the paper's SPECcpu2000 traces (geometric means of its Table 2).", c.threads[0]),
			"leads: which of our profiles has a better ratio than zstd -19 and xz -9.")},
		{id: "sigmetrics2004", title: "SIGMETRICS 2004 (VPC3): compression, MB of the raw trace per second of processor time"},
		{id: "sigmetrics2004", title: "SIGMETRICS 2004 (VPC3): decompression, MB of the raw trace per second of processor time"},
	}
	for _, t := range tables {
		t.head = []string{"trace", "raw bytes"}
		for _, r := range rivals {
			t.head = append(t.head, r.name)
		}
	}
	tables[0].head = append(tables[0].head, "leads")
	for _, kind := range []string{"store-addr", "cache-miss", "load-value"} {
		if err := c.predictorsOf(ctx, kind, rivals, tables); err != nil {
			return nil, err
		}
	}
	return tables, nil
}

// predictorsOf adds the rows of one kind of trace.
func (c *comparison) predictorsOf(ctx context.Context, kind string, rivals []rival, tables []*table) error {
	columns := make([][3][]float64, len(rivals))
	for _, kernel := range c.kernels {
		raw := c.file("raw")
		size, err := c.rawFile(ctx, kernel, kind, raw)
		if err != nil {
			return fmt.Errorf("%s of %s: %w", kind, kernel, err)
		}
		rows := [3][]any{}
		for i := range rows {
			rows[i] = []any{kernel + " " + kind, size}
		}
		ratios := make([]float64, len(rivals))
		for i := range rivals {
			m := measured{math.NaN(), math.NaN(), math.NaN()}
			if rivals[i].there() {
				c.progress(fmt.Sprintf("sigmetrics2004: %s of %s, %s", kind, kernel, rivals[i].name))
				if m, err = rivals[i].measure(ctx, raw, c.file("packed")); err != nil {
					return fmt.Errorf("%s of %s: %w", kind, kernel, err)
				}
			}
			ratios[i] = m.ratio
			for j, v := range []float64{m.ratio, m.packMB, m.unpackMB} {
				columns[i][j] = append(columns[i][j], v)
				rows[j] = append(rows[j], v)
			}
		}
		rows[0] = append(rows[0], leads(ratios))
		for i, t := range tables {
			t.add(rows[i]...)
		}
	}
	paper := publishedVPC3[kind]
	for j, t := range tables {
		mean := []any{"geometric mean", ""}
		ratios := make([]float64, len(rivals))
		for i := range rivals {
			ratios[i] = geoMean(columns[i][j])
			mean = append(mean, ratios[i])
		}
		if j == 0 {
			mean = append(mean, leads(ratios))
		}
		t.add(mean...)
		switch j {
		case 0:
			t.add("paper's "+kind, "", paper.gzip, paper.bzip2, paper.sequitur, "", "", paper.vpc3, "", "", "")
		case 1:
			t.add("paper's "+kind, "", "", "", "", "", "", paper.compress, "", "")
		case 2:
			t.add("paper's "+kind, "", "", "", "", "", "", paper.decompress, "", "")
		}
	}
	return nil
}

// leads says which of our profiles, which are last, compress better than zstd and xz,
// which precede them.
func leads(ratios []float64) string {
	n := len(ratios)
	best := 0.0
	for _, r := range ratios[n-5 : n-3] {
		if !math.IsNaN(r) {
			best = max(best, r)
		}
	}
	paper, mixed := max(ratios[n-3], ratios[n-2]) > best, ratios[n-1] > best
	switch {
	case paper && mixed:
		return "both"
	case paper:
		return "paper"
	case mixed:
		return "mixed"
	}
	return "NEITHER"
}

// rawFile writes a raw trace of a kernel.
func (c *comparison) rawFile(ctx context.Context, kernel, kind, file string) (size int64, err error) {
	c.progress(fmt.Sprintf("sigmetrics2004: %s of %s", kind, kernel))
	r, err := c.recording(kernel, c.threads[0])
	if err != nil {
		return 0, err
	}
	f, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	rec := raw.NewRecorder(f, kind, -1, r.Image.Code)
	err = c.simulate(ctx, r, rec)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return rec.Written, err
}

// loops measures the ratio of LD&R over the block-leader format.
func (c *comparison) loops(ctx context.Context) ([]*table, error) {
	t := &table{
		id: "sigmetrics1999", title: "SIGMETRICS 1999 (LD&R): ratio over the block-leader trace",
		notes: []string{
			fmt.Sprintf("Traces of %d threads in the order in which they ran, and of only the first thread; 8 bytes per leader or data address.", c.threads[0]),
			"The paper says \"about an order of magnitude\" over its block-leader format (MTRACE) and has no table. Rows below 10 are marked.",
		},
		head: []string{"kernel", "threads traced", "raw bytes", "LD&R bytes", "ratio", "paper", "against paper"},
	}
	var all, one []float64
	for _, kernel := range c.kernels {
		for _, only := range []int{-1, 0} {
			c.progress("sigmetrics1999: " + kernel)
			r, err := c.recording(kernel, c.threads[0])
			if err != nil {
				return nil, err
			}
			size := new(byteCount)
			z, err := ldr.NewWriter(size, ldr.Options{})
			if err != nil {
				return nil, err
			}
			rec := raw.NewRecorder(z, "leaders", only, r.Image.Code)
			if err := c.simulate(ctx, r, rec); err != nil {
				return nil, err
			}
			if err := z.Close(); err != nil {
				return nil, err
			}
			ratio := float64(rec.Written) / float64(*size)
			traced := "all"
			if only == 0 {
				traced, one = "first", append(one, ratio)
			} else {
				all = append(all, ratio)
			}
			t.add(kernel, traced, rec.Written, int64(*size), ratio, "≈10", reaches(ratio))
		}
	}
	t.add("geometric mean", "all", "", "", geoMean(all), "≈10", reaches(geoMean(all)))
	t.add("geometric mean", "first", "", "", geoMean(one), "≈10", reaches(geoMean(one)))
	return []*table{t}, nil
}

func reaches(ratio float64) string {
	if ratio < 10 {
		return "BELOW"
	}
	return "above"
}
