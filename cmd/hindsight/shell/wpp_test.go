package shell_test

import (
	"testing"
	"time"

	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// paths takes a sequence of blocks apart into acyclic paths, numbered in order
// of first appearance.
func paths(p *cfg.Program, pcs []uint64) []wpp.Terminal {
	type path struct {
		start  uint64
		number uint64
		stray  bool
	}
	ids := map[path]wpp.Terminal{}
	blocks := map[uint64]*cfg.Block{}
	var out []wpp.Terminal
	emit := func(x path) {
		id, ok := ids[x]
		if !ok {
			id = wpp.Terminal(len(ids))
			ids[x] = id
		}
		out = append(out, id)
	}
	var now path
	for i, pc := range pcs {
		b, ok := blocks[pc]
		if !ok {
			if ref, known := p.At(pc); known {
				b = p.Block(ref)
			}
			blocks[pc] = b
		}
		if i == 0 || now.stray {
			now = path{start: pc}
		}
		now.stray = true // unless the path goes on
		if b != nil && i+1 < len(pcs) {
			if val, cut, ok := b.Succ(pcs[i+1]); ok && !cut {
				now.number, now.stray = now.number+val, false
			}
		}
		if now.stray {
			emit(path{start: now.start, number: now.number})
		}
	}
	return out
}

// BenchmarkWPP compresses the acyclic paths of the same threads as BenchmarkAPP
// by Sequitur: whole program paths, as the tables of "Arithmetic Program Paths"
// compare them. The time is Sequitur's alone. Terminals are numbers of paths
// here, and what they stand for is not counted. Ratio is of the branch bits.
func BenchmarkWPP(b *testing.B) {
	for _, name := range []string{"fft", "lu", "mp3d", "water", "sor", "bank"} {
		b.Run("program="+name, func(b *testing.B) {
			r := record(b, name, paperArgs(b, name))
			branches := 0
			var threads [][]wpp.Terminal
			for _, pcs := range r.threads {
				threads = append(threads, paths(r.program, pcs))
				branches += r.branches(pcs)
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
