package mpsim

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/tracefmt/event"
)

// nothing is an observer that discards everything.
type nothing struct{}

func (nothing) Define([]event.Block) error { return nil }
func (nothing) Batch(*event.Batch) error   { return nil }
func (nothing) Finish(event.Outcome) error { return nil }

// valued is an observer that also asks for values.
type valued struct{ nothing }

func (valued) WantsValues() bool { return true }

// BenchmarkRun measures millions of instructions per second: simulation alone, with an
// observer that does nothing, and with one that also receives values.
func BenchmarkRun(b *testing.B) {
	for _, name := range []string{"integer.c", "lu.c"} {
		img := load(b, compile(b, filepath.Join("testdata", "bench", name), "-O2"))
		for _, mode := range []string{"none", "observer", "values"} {
			b.Run("program="+strings.TrimSuffix(name, ".c")+"/record="+mode, func(b *testing.B) {
				var insts uint64
				for b.Loop() {
					cfg := Config{Image: img}
					switch mode {
					case "observer":
						cfg.Observer = nothing{}
					case "values":
						cfg.Observer = valued{}
					}
					m, err := New(cfg)
					if err != nil {
						b.Fatal(err)
					}
					res, err := m.Run(context.Background())
					if err != nil {
						b.Fatal(err)
					}
					insts += res.Insts
				}
				b.ReportMetric(float64(insts)/1e6/b.Elapsed().Seconds(), "MIPS")
			})
		}
	}
}
