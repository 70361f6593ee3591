package main

import (
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"hindsight/tracefmt/numtext"
)

// table is a table of a paper, with new measurements.
type table struct {
	id    string // its name in --table
	title string
	notes []string
	head  []string
	rows  [][]string
}

// add appends a row of strings, counts (uint64, int64: bytes) and ratios
// (float64).
func (t *table) add(cells ...any) {
	row := make([]string, len(cells))
	for i, c := range cells {
		switch c := c.(type) {
		case float64:
			row[i] = ratioText(c)
		case uint64:
			row[i] = numtext.Grouped(c)
		case int64:
			row[i] = numtext.Grouped(uint64(c))
		default:
			row[i] = fmt.Sprint(c)
		}
	}
	t.rows = append(t.rows, row)
}

// ratioText writes a ratio or a percentage to two or three digits.
func ratioText(f float64) string {
	switch {
	case math.IsNaN(f):
		return "–"
	case f >= 1000:
		return numtext.Grouped(uint64(math.Round(f)))
	case f >= 100:
		return fmt.Sprintf("%.0f", f)
	case f >= 10:
		return fmt.Sprintf("%.1f", f)
	case f > 0 && f < 0.1:
		return fmt.Sprintf("%.3f", f)
	}
	return fmt.Sprintf("%.2f", f)
}

// above marks a percentage that is more than the paper's.
func above(ours, paper float64) string {
	switch {
	case math.IsNaN(paper):
		return ""
	case ours > paper:
		return "ABOVE"
	}
	return "below"
}

// percent returns a part as a percentage of a whole. 0 of 0 is NaN.
func percent(part int64, whole uint64) float64 { return 100 * float64(part) / float64(whole) }

// geoMean returns the geometric mean of the values that are numbers.
func geoMean(values []float64) float64 {
	values = slices.DeleteFunc(slices.Clone(values), math.IsNaN)
	var sum float64
	for _, v := range values {
		sum += math.Log(v)
	}
	return math.Exp(sum / float64(len(values)))
}

// write prints the table as text, markdown or csv. CSV lines begin with the
// table's name; numbers have no separators there.
func (t *table) write(w io.Writer, format string) error {
	switch format {
	case "csv":
		c := csv.NewWriter(w)
		for i, row := range slices.Concat([][]string{t.head}, t.rows) {
			first := t.id
			if i == 0 {
				first = "table"
			}
			line := []string{first}
			for _, cell := range row {
				line = append(line, plainNumber(cell))
			}
			if err := c.Write(line); err != nil {
				return err
			}
		}
		c.Flush()
		return c.Error()
	case "markdown":
		fmt.Fprintf(w, "## %s\n\n", t.title)
		for _, n := range t.notes {
			fmt.Fprintf(w, "%s\n\n", n)
		}
		fmt.Fprintf(w, "| %s |\n|%s\n", strings.Join(t.head, " | "), " --- |"+strings.Repeat(" ---: |", len(t.head)-1))
		for _, row := range t.rows {
			fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		}
		_, err := fmt.Fprintln(w)
		return err
	}
	fmt.Fprintln(w, t.title)
	for _, n := range t.notes {
		fmt.Fprintf(w, "  %s\n", n)
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range slices.Concat([][]string{t.head}, t.rows) {
		fmt.Fprintf(tw, "%s\t\n", strings.Join(row, "\t"))
	}
	fmt.Fprintln(tw)
	return tw.Flush()
}

// plainNumber removes the commas from a number, and leaves other text unchanged.
func plainNumber(s string) string {
	if strings.Trim(s, "0123456789,.") != "" {
		return s
	}
	return strings.ReplaceAll(s, ",", "")
}
