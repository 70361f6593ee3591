package artifact

import (
	"context"
	"testing"
	"time"

	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/examples"
)

// BenchmarkArtifacts measures what telling artifacts costs, as a ratio to
// finding the races: the aim is at most 1 for every program.
func BenchmarkArtifacts(b *testing.B) {
	for _, p := range examples.Programs() {
		if !p.Races {
			continue
		}
		elf, err := examples.ELF(p.Name)
		if err != nil {
			b.Fatal(err)
		}
		b.Run("program="+p.Name, func(b *testing.B) {
			r := recordRun(b, elf, p.Args, 1, cdr.Options{})
			opts := race.Options{Program: r.img, TLSSize: r.img.TLSSize()}
			var races, artifacts time.Duration
			for b.Loop() {
				begun := time.Now()
				res, err := race.Analyze(context.Background(), race.FromTrace(r.trace), opts)
				if err != nil {
					b.Fatal(err)
				}
				found := time.Now()
				if _, err := Analyze(context.Background(), r.trace, r.img, res, Options{}); err != nil {
					b.Fatal(err)
				}
				races, artifacts = races+found.Sub(begun), artifacts+time.Since(found)
			}
			b.ReportMetric(float64(artifacts)/float64(races), "artifacts/races")
			b.ReportMetric(float64(len(r.res.Races)), "races")
		})
	}
}
