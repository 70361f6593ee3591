package main

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"hindsight/cdr"
	"hindsight/examples"
	"hindsight/mpsim/session"
	"hindsight/tracefmt"
)

// BenchmarkArch records kernels with 4 threads as CDR, as CDR with the quantum of --arch,
// and with --arch, in turn, as whole processes. It reports million instructions per
// second of each; wall time with the model as a multiple of that without, at the default
// quantum of each and at the same quantum; and the size of the model's blocks, in bits
// for each history bit.
func BenchmarkArch(b *testing.B) {
	for _, name := range []string{"fft", "lu", "mp3d", "water", "sor"} {
		p, ok := examples.Lookup(name)
		if !ok {
			b.Fatalf("no example %s", name)
		}
		b.Run("program="+name+"/threads=4", func(b *testing.B) {
			dir := b.TempDir()
			elf, err := examples.ELF(name)
			if err != nil {
				b.Fatal(err)
			}
			prog, trace := filepath.Join(dir, name), filepath.Join(dir, "trace.hst")
			if err := os.WriteFile(prog, elf, 0o755); err != nil {
				b.Fatal(err)
			}
			guest := append(append([]string{prog}, p.PaperArgs...), "-p", "4")
			var coarse, fine, model usage
			for b.Loop() {
				coarse.run(b, os.Args[0], append([]string{"run", "-o", trace}, guest...)...)
				fine.run(b, os.Args[0], append([]string{"run", "--quantum", strconv.Itoa(session.ModelQuantum), "-o", trace}, guest...)...)
				model.run(b, os.Args[0], append([]string{"run", "--arch", "-o", trace}, guest...)...)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(coarse.mips(), "cdr-MIPS")
			b.ReportMetric(fine.mips(), "cdr-fine-MIPS")
			b.ReportMetric(model.mips(), "arch-MIPS")
			b.ReportMetric(model.wall.Seconds()/coarse.wall.Seconds(), "arch/cdr")
			b.ReportMetric(model.wall.Seconds()/fine.wall.Seconds(), "arch/cdr-fine")
			b.ReportMetric(historyCost(b, trace), "bits/history-bit")
		})
	}
}

// historyCost returns the size of the history blocks of a trace for each bit in them.
func historyCost(b *testing.B, file string) float64 {
	b.Helper()
	t, err := cdr.Open(file)
	if err != nil {
		b.Fatal(err)
	}
	defer t.Close()
	s, err := t.ArchSummary()
	if err != nil {
		b.Fatal(err)
	}
	size, bits := 0, uint64(0)
	for x, err := range t.Extras(tracefmt.KindArch) {
		if err != nil {
			b.Fatal(err)
		}
		size += len(x.Payload)
	}
	for i := range s.Harts {
		bits += s.Harts[i].Loads + s.Harts[i].Stores + s.Harts[i].Branches
	}
	return 8 * float64(size) / float64(max(bits, 1))
}
