package order

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"hindsight/analyze/hb"
	"hindsight/analyze/internal/layer"
	"hindsight/analyze/internal/stopwatch"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// BenchmarkOrders measures each order, including the reading of the trace, against a
// plain FastTrack over accesses that are already in memory. The aim is a ratio of at most
// 1.
func BenchmarkOrders(b *testing.B) {
	for _, p := range []struct{ name, size string }{{"locks", "20000"}, {"barrier", "5"}} {
		elf := built(b, p.name)
		trace, opts := recordedELF(b, p.name, elf, p.size)
		all := inMemory(b, trace, opts)
		b.Run("program="+p.name, func(b *testing.B) {
			for o := range NumOrders {
				b.Run("order="+o.String(), func(b *testing.B) {
					var plain, ours time.Duration
					for b.Loop() {
						begun := stopwatch.ProcessorTime()
						racy := all.fastTrack(b)
						found := stopwatch.ProcessorTime()
						races := findRaces(b, trace, opts, o)
						plain, ours = plain+found-begun, ours+stopwatch.ProcessorTime()-found
						if racy == 0 || races == 0 {
							b.Fatalf("FastTrack finds races on %d granules, %v reports %d", racy, o, races)
						}
					}
					b.ReportMetric(float64(ours)/float64(plain), "time/FastTrack")
					b.ReportMetric(float64(plain)/float64(b.N)/float64(all.accesses), "FastTrack-ns/access")
					b.ReportMetric(float64(all.accesses), "accesses")
				})
			}
		})
	}
}

// findRaces returns how many races an order reports, found as `hindsight races`
// does it.
func findRaces(b *testing.B, t *cdr.Trace, opts race.Options, o Order) int {
	b.Helper()
	if o == HB {
		res, err := race.Analyze(b.Context(), replay.FromTrace(t), opts)
		if err != nil {
			b.Fatal(err)
		}
		return len(res.Races)
	}
	res, err := Analyze(b.Context(), t, opts, 1<<o)
	if err != nil {
		b.Fatal(err)
	}
	return len(res.Races)
}

// built compiles a program of testdata.
func built(tb testing.TB, name string) []byte {
	tb.Helper()
	out := filepath.Join(tb.TempDir(), name)
	const compiler = "riscv64-linux-gnu-gcc"
	if _, err := exec.LookPath(compiler); err != nil {
		tb.Skip(err)
	}
	if text, err := exec.Command(compiler, "-g", "-O1", "-static", "-pthread", "-o", out, filepath.Join("testdata", name+".c")).CombinedOutput(); err != nil {
		tb.Fatalf("%v\n%s", err, text)
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		tb.Fatal(err)
	}
	return elf
}

// plainRun is what a detector that runs with the program sees: accesses and events
// in the order of the run.
type plainRun struct {
	survey   *replay.Survey
	steps    []plainStep
	events   []event.Event
	accesses int
}

type plainStep struct {
	thread event.ThreadID
	write  bool
	size   uint8
	addr   uint64 // index of the event, if size is 0
}

func inMemory(b *testing.B, t *cdr.Trace, opts race.Options) *plainRun {
	b.Helper()
	business := replay.NewBusiness(opts.Program)
	survey, err := replay.NewSurvey(b.Context(), t, len(t.Threads()), false, &business, nil)
	if err != nil {
		b.Fatal(err)
	}
	r := &plainRun{survey: survey}
	steps := replay.NewSteps(survey.Threads, t.Steps)
	defer steps.Close()
	err = survey.Walk(replay.Options{NoOrder: true, Parts: true}).Run(b.Context(), t, &replay.Visitor{
		Segment: func(u *replay.Unit) error {
			return steps.Segment(b.Context(), u, func(s *cdr.Step) error {
				site := t.Site(s.Site)
				r.steps = append(r.steps, plainStep{thread: u.Thread, write: site.Access == event.Write, size: site.Size, addr: s.Address})
				r.accesses++
				return nil
			})
		},
		Event: func(ev *replay.Event) error {
			r.steps = append(r.steps, plainStep{thread: ev.Thread, addr: uint64(len(r.events))})
			r.events = append(r.events, ev.Event)
			return nil
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	return r
}

// plainCell is what FastTrack stores about a granule of eight bytes.
type plainCell struct {
	write, read layer.Stamp // 0: none
	reads       []uint64    // by strand, once they are several
	racy        bool
}

// fastTrack returns the number of granules with a race.
func (r *plainRun) fastTrack(b *testing.B) (racy int) {
	order := r.survey.Order()
	pages := map[uint64]*[pageGranules]plainCell{}
	var number uint64
	var page *[pageGranules]plainCell
	for i := range r.steps {
		s := &r.steps[i]
		if s.size == 0 {
			if err := order.Acquire(s.thread, &r.events[s.addr]); err != nil {
				b.Fatal(err)
			}
			if err := order.Release(s.thread, &r.events[s.addr]); err != nil {
				b.Fatal(err)
			}
			continue
		}
		strand, clock := order.Strand(s.thread), order.Clock(s.thread)
		me := layer.NewStamp(strand, order.Epoch(strand))
		for g := s.addr >> 3; g <= (s.addr+uint64(s.size)-1)>>3; g++ {
			if n := g / pageGranules; page == nil || n != number {
				if page = pages[n]; page == nil {
					page = new([pageGranules]plainCell)
					pages[n] = page
				}
				number = n
			}
			if c := &page[g%pageGranules]; c.access(me, clock, s.write) && !c.racy {
				c.racy = true
				racy++
			}
		}
	}
	return racy
}

// access takes an access and reports whether it races.
func (c *plainCell) access(me layer.Stamp, clock hb.Clock, write bool) (racy bool) {
	if write && c.write == me || !write && c.read == me {
		return false
	}
	before := func(s layer.Stamp) bool { return s == 0 || s.Epoch() <= clock.At(s.Strand()) }
	racy = !before(c.write)
	switch {
	case write:
		racy = racy || !before(c.read)
		for s, n := range c.reads {
			racy = racy || n > clock.At(event.StrandID(s))
		}
		c.write, c.read, c.reads = me, 0, nil
	case c.reads != nil || !before(c.read):
		for _, s := range [2]layer.Stamp{c.read, me} {
			for len(c.reads) <= int(s.Strand()) {
				c.reads = append(c.reads, 0)
			}
			c.reads[s.Strand()] = max(c.reads[s.Strand()], s.Epoch())
		}
		c.read = me
	default:
		c.read = me
	}
	return racy
}
