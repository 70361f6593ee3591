package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkWalk walks over whole streams, forward and backward in turn. It reports values
// per second in each direction, the ratio of the two, and sizes.
func BenchmarkWalk(b *testing.B) {
	for _, sm := range samples(1 << 17) {
		s := New(sm.values)
		b.Run(fmt.Sprintf("stream=%s/method=%v", sm.name, s.Method()), func(b *testing.B) {
			walkBoth(b, s)
			b.ReportMetric(8*float64(s.Size())/float64(s.Len()), "bits/value")
			b.ReportMetric(8*float64(s.Memory())/float64(s.Len()), "membits/value")
		})
	}
}

// BenchmarkMethods is BenchmarkWalk for every method on one stream.
func BenchmarkMethods(b *testing.B) {
	sm := samples(1 << 17)[8]
	for m := range numMethods {
		s := NewWith(m, sm.values)
		b.Run(fmt.Sprintf("stream=%s/method=%v", sm.name, m), func(b *testing.B) {
			walkBoth(b, s)
			b.ReportMetric(8*float64(s.Size())/float64(s.Len()), "bits/value")
		})
	}
}

// walkBoth reports the fastest walk in each direction, which is the one least disturbed
// by other work on the machine.
func walkBoth(b *testing.B, s *Stream) {
	c := s.Cursor()
	forward, backward := time.Duration(math.MaxInt64), time.Duration(math.MaxInt64)
	var sum uint64
	for b.Loop() {
		start := time.Now()
		for v, ok := c.Next(); ok; v, ok = c.Next() {
			sum += v
		}
		middle := time.Now()
		for v, ok := c.Prev(); ok; v, ok = c.Prev() {
			sum -= v
		}
		forward = min(forward, middle.Sub(start))
		backward = min(backward, time.Since(middle))
	}
	if sum != 0 {
		b.Fatal("the two ways give different values")
	}
	values := float64(s.Len())
	b.ReportMetric(values/forward.Seconds()/1e6, "Mvalues/s-forward")
	b.ReportMetric(values/backward.Seconds()/1e6, "Mvalues/s-backward")
	b.ReportMetric(float64(backward)/float64(forward), "backward/forward")
}

func BenchmarkBuild(b *testing.B) {
	for _, sm := range samples(1 << 17) {
		b.Run("stream="+sm.name, func(b *testing.B) {
			b.SetBytes(8 * int64(len(sm.values)))
			for b.Loop() {
				New(sm.values)
			}
			b.ReportMetric(float64(len(sm.values))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}

// BenchmarkOpen measures the cost of the first cursor.
func BenchmarkOpen(b *testing.B) {
	for _, sm := range samples(1 << 17) {
		enc := New(sm.values).AppendBinary(nil)
		b.Run("stream="+sm.name, func(b *testing.B) {
			for b.Loop() {
				s, _, err := Decode(enc, Limits{})
				if err != nil {
					b.Fatal(err)
				}
				s.Cursor()
			}
			b.ReportMetric(float64(len(sm.values))*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}

// BenchmarkSeek goes to random positions.
func BenchmarkSeek(b *testing.B) {
	for _, sm := range samples(1 << 17) {
		s := New(sm.values)
		b.Run(fmt.Sprintf("stream=%s/method=%v", sm.name, s.Method()), func(b *testing.B) {
			c := s.Cursor()
			r := rand.New(rand.NewPCG(1, 2))
			for b.Loop() {
				if err := c.Seek(r.Uint64N(s.Len())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBuildSmall builds a stream that ends before the method is chosen, so that all
// methods encode all of it.
func BenchmarkBuildSmall(b *testing.B) {
	for _, n := range []int{20, 200, 2000} {
		values := samples(n)[8].values
		b.Run(fmt.Sprintf("values=%d", n), func(b *testing.B) {
			for b.Loop() {
				New(values)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mvalues/s")
		})
	}
}
