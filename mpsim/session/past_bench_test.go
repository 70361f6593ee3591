package session_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"hindsight/mpsim"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/session"
)

// BenchmarkLastWrite looks up the last writes to variables of LU before the end of its run,
// near and far ones. It compares this with a run from the beginning that watches the
// memory: "forward/index" is the ratio of the times, and "insts" the number of instructions
// that the lookup executes.
func BenchmarkLastWrite(b *testing.B) {
	trace := recordedAll(b, "lu")
	past, err := new(session.Rerun).Past(b.Context(), trace.Recorded(), nil)
	if err != nil {
		b.Fatal(err)
	}
	r := mpsim.NewReplay(past.Journal, mpsim.ReplayOptions{})
	if err := r.Seek(b.Context(), r.End()); err != nil { // takes checkpoints, as a session does
		b.Fatal(err)
	}
	type write struct{ addr, time uint64 }
	var all []write
	for _, s := range past.Journal.Image().Main.Objects() {
		if !past.Journal.Image().UserObject(s.Addr) {
			continue
		}
		for at := s.Addr; at+8 <= s.Addr+min(s.Size, 1<<12); at += 256 {
			w, ok, err := past.LastWrite(b.Context(), r, at, 8, r.End())
			if err != nil {
				b.Fatal(err)
			}
			if ok {
				all = append(all, write{at, w.Time})
			}
		}
	}
	if len(all) < 3 {
		b.Fatal("too few variables are written")
	}
	slices.SortFunc(all, func(x, y write) int { return int(x.time) - int(y.time) })
	for _, w := range []write{all[len(all)-1], all[len(all)/2], all[0]} {
		b.Run(fmt.Sprintf("back=%d", r.End()-w.time), func(b *testing.B) {
			fresh := mpsim.NewReplay(past.Journal, mpsim.ReplayOptions{Every: 1 << 60})
			begin := time.Now()
			probe := &mpsim.Probe{Watches: []mpsim.Watched{{Addr: w.addr, Size: 8, Access: mem.Write}}}
			if _, _, err := fresh.Last(b.Context(), 0, r.End(), probe); err != nil {
				b.Fatal(err)
			}
			forward, executed := time.Since(begin), r.Executed()
			for b.Loop() {
				if _, _, err := past.LastWrite(b.Context(), r, w.addr, 8, r.End()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(forward)*float64(b.N)/float64(b.Elapsed()), "forward/index")
			b.ReportMetric(float64(r.Executed()-executed)/float64(b.N), "insts")
		})
	}
}
