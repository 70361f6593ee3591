package main

import (
	"bytes"
	"math"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
)

// TestCompareWithoutPrograms checks that if no compressor is installed, the codecs of
// this program take part, and a column without a substitute is left empty.
func TestCompareWithoutPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	var out, errs bytes.Buffer
	if status := run([]string{"--small", "--table", "ppopp2003-5", "--threads", "2", "--format", "csv", "sor"}, cli.Streams{Out: &out, Err: &errs}); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("%d lines, want 3:\n%s", len(lines), out.String())
	}
	cells := strings.Split(lines[1], ",")
	zstd, xz, smaller := cells[len(cells)-3], cells[len(cells)-2], cells[len(cells)-1]
	if xz != "–" || zstd == "–" || smaller != "yes" {
		t.Errorf("zstd %s, xz %s, smaller %s:\n%s", zstd, xz, smaller, out.String())
	}
	out.Reset()
	if status := run([]string{"--small", "--table", "sigmetrics2004", "--threads", "2", "sor"}, cli.Streams{Out: &out, Err: &errs}); status != 0 {
		t.Fatalf("status %d: %s", status, errs.String())
	}
	for _, want := range []string{"xz -9 is not installed: its column is empty", "bzip2 -9 is not installed: the Go codec"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

// TestPublishedRows checks that the sizes that were copied from the paper agree with the
// percentages that it prints.
func TestPublishedRows(t *testing.T) {
	rows := publishedRows()
	if len(rows) != 15 {
		t.Fatalf("%d rows", len(rows))
	}
	for _, r := range rows {
		for _, c := range []struct {
			table             string
			part, whole, want float64
		}{
			{"3", r.corWPP + r.sync, r.corRaw, r.corPercent},
			{"4", r.dorSQ + r.sync, r.dorRaw, r.dorPercent},
			{"5", r.control + r.data, r.cdrRaw, r.cdrPercent},
		} {
			got := 100 * c.part / c.whole
			// The paper's sizes have three digits, some a unit of 2^10.
			if math.Abs(got-c.want) > 0.03*c.want+0.01 {
				t.Errorf("%s, %d threads, Table %s: the sizes give %.2f %%, the paper says %.2f", r.program, r.threads, c.table, got, c.want)
			}
		}
	}
}

func TestLeads(t *testing.T) {
	no := math.NaN()
	for _, c := range []struct {
		ratios []float64
		want   string
	}{
		{[]float64{1, 1, 1, 5, 6, 7, 2, 8}, "both"},
		{[]float64{1, 1, 1, 5, 6, 3, 2, 8}, "mixed"},
		{[]float64{1, 1, 1, 5, 6, 3, 6.5, 6}, "paper"},
		{[]float64{9, 9, 9, 5, 6, 3, 2, 6}, "NEITHER"},
		{[]float64{1, 1, 1, 5, no, 5.5, 2, 8}, "both"},
	} {
		if got := leads(c.ratios); got != c.want {
			t.Errorf("%v: %s, want %s", c.ratios, got, c.want)
		}
	}
}

func TestRatioText(t *testing.T) {
	for v, want := range map[float64]string{0: "0.00", 0.0134: "0.013", 0.254: "0.25", 9.81: "9.81", 43.98: "44.0", 693.4: "693", 36248.6: "36,249"} {
		if got := ratioText(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
	if got := ratioText(math.NaN()); got != "–" {
		t.Errorf("no number: %s", got)
	}
}
