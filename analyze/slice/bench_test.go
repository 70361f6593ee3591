package slice_test

import (
	"context"
	"math/rand/v2"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/examples/cross"
	"hindsight/mpsim/linux"
	"hindsight/wet"
)

// BenchmarkSlice measures the cost of the walk itself, on a graph that answers at once.
func BenchmarkSlice(b *testing.B) {
	img := cross.Image(b, "sor")
	l := slicetest.New(img, linux.CallArgs)
	run(b, img, shape{quantum: 1000}, nil, l)
	n := len(l.Statements())
	for _, d := range []slice.Direction{slice.Backward, slice.Forward} {
		b.Run("direction="+d.String(), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 1))
			instances := uint64(0)
			for b.Loop() {
				s, err := slice.Compute(context.Background(), l, []wet.Instance{l.Instance(n/2 + rng.IntN(n/2))}, slice.Options{Direction: d})
				if err != nil {
					b.Fatal(err)
				}
				instances += s.Len()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(instances), "ns/instance")
			b.ReportMetric(float64(instances)/float64(b.N), "instances")
		})
	}
	b.Logf("%d statements", n)
}
