package mpsim

import (
	"context"
	"os"
	"strings"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// nothing is an observer that throws everything away.
type nothing struct{}

func (nothing) Define([]event.Block) error { return nil }
func (nothing) Batch(*event.Batch) error   { return nil }
func (nothing) Finish(event.Outcome) error { return nil }

func BenchmarkTry(b *testing.B) {
	for _, path := range strings.Split(os.Getenv("TRY"), ",") {
		for _, mode := range []string{"none", "observer"} {
			b.Run(path+"/record="+mode, func(b *testing.B) {
				img, err := image.Load(path)
				if err != nil {
					b.Skip(err)
				}
				var insts uint64
				for b.Loop() {
					cfg := Config{Image: img}
					if mode == "observer" {
						cfg.Observer = nothing{}
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
