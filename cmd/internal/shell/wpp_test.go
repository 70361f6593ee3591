package shell_test

import (
	"testing"
	"time"

	"hindsight/cmd/internal/shell"
	"hindsight/wpp"
)

// BenchmarkWPP compresses the acyclic paths of the threads of BenchmarkAPP by Sequitur,
// as whole program paths, for the comparison in the tables of "Arithmetic Program Paths".
// The time is Sequitur's alone. Terminals are numbers of paths, and the table of paths is
// not counted. The ratio is that of the branch bits.
func BenchmarkWPP(b *testing.B) {
	for _, name := range []string{"fft", "lu", "mp3d", "water", "sor", "bank"} {
		b.Run("program="+name, func(b *testing.B) {
			r := record(b, name, paperArgs(b, name))
			branches := 0
			var threads [][]wpp.Terminal
			paths := shell.NewPaths(r.program)
			for _, pcs := range r.threads {
				terms, n := paths.Of(pcs)
				threads, branches = append(threads, terms), branches+n
			}
			size := 0
			var spent time.Duration
			for b.Loop() {
				size = 0
				for _, terminals := range threads {
					begin := time.Now()
					var g wpp.Builder
					for _, t := range terminals {
						g.Append(t)
					}
					size += len(g.Grammar().AppendBinary(nil))
					spent += time.Since(begin)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(8*float64(size)/float64(branches), "bits/branch")
			b.ReportMetric(float64(branches)/8/float64(size), "ratio")
			b.ReportMetric(float64(size), "bytes")
			b.ReportMetric(float64(r.blocks*b.N)/1e6/spent.Seconds(), "Mblocks/s-enc")
		})
	}
}
