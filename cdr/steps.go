package cdr

import (
	"iter"

	"hindsight/cdr/fold"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Step is an access of a thread, or one of its ordered events.
type Step struct {
	IsEvent bool // the thread's next event; of the other fields only Number is set
	Site    format.SiteID
	Address uint64
	Ordinal uint64 // of this execution of the site by the thread, from 0
	Number  uint64 // accesses that the thread executed before, recorded or not
}

// Steps returns the recorded accesses of a thread and marks its ordered events,
// in program order. It walks the whole string, so it is for exports and checks,
// not for analyses. It ends after the first error.
func (t *Trace) Steps(th event.ThreadID) iter.Seq2[Step, error] {
	return func(yield func(Step, error) bool) {
		err := t.eachStretch(th, func(s *stretch, before []uint64) (bool, error) {
			w := stepWalk{s: s, feeds: map[format.SiteID]*feed{}, before: before, number: sum(before)}
			if !w.walk(yield) {
				return false, nil
			}
			for _, c := range newTotals(s) {
				before[c.site] += c.count
			}
			return true, nil
		})
		if err != nil {
			yield(Step{}, err)
		}
	}
}

// eachStretch calls visit for what a thread did in each epoch, until visit
// returns false. before counts the thread's executions of each site in earlier
// epochs; visit adds to it.
func (t *Trace) eachStretch(th event.ThreadID, visit func(s *stretch, before []uint64) (more bool, err error)) error {
	if err := t.hasControl(th); err != nil {
		return err
	}
	before := make([]uint64, t.NumSites())
	for i := range t.epochs {
		s, err := t.stretch(i, th)
		if err != nil {
			return err
		}
		if s == nil {
			continue
		}
		if more, err := visit(s, before); !more || err != nil {
			return err
		}
	}
	return nil
}

func sum(list []uint64) (n uint64) {
	for _, v := range list {
		n += v
	}
	return n
}

// stepWalk walks what a thread did in an epoch.
type stepWalk struct {
	s      *stretch
	feeds  map[format.SiteID]*feed
	before []uint64 // by site: its executions in earlier epochs
	number uint64   // accesses so far
}

func (w *stepWalk) walk(yield func(Step, error) bool) bool {
	s := w.s
	for c := s.Grammar.Begin(); !c.AtEnd(); c.Next() {
		x, _ := c.Terminal()
		switch t := s.Terms[x]; t.Kind {
		case format.TermSync:
			if !yield(Step{IsEvent: true, Number: w.number}, nil) {
				return false
			}
		case format.TermPath:
			path := s.tab.PathBlocks(format.PathID(t.A))
			for range t.B {
				for _, b := range path {
					if !w.block(&s.tab.Blocks[b], yield) {
						return false
					}
				}
			}
		}
	}
	return true
}

func (w *stepWalk) block(b *format.TableBlock, yield func(Step, error) bool) bool {
	for _, site := range w.s.tab.BlockSites(b) {
		number := w.number
		w.number++
		f, ok := w.feeds[site]
		if !ok {
			x, err := w.s.addrIndex(site)
			if err != nil {
				yield(Step{}, err)
				return false
			}
			if x != nil {
				f = &feed{c: fold.Cursor{Index: x}}
				f.c.Seek(0)
			}
			w.feeds[site] = f
		}
		if f == nil {
			continue // none of the site's accesses was recorded
		}
		at := w.before[site] + f.at
		if addr, ok := f.next(); ok && !yield(Step{Site: site, Address: addr, Ordinal: at, Number: number}, nil) {
			return false
		}
	}
	return true
}

// feedLength is the number of accesses of a site that a feed reads ahead.
const feedLength = 1 << 10

// feed yields the addresses of a site one by one.
type feed struct {
	c    fold.Cursor
	runs []fold.Run
	at   uint64 // ordinal of the next access
}

// next steps over the next access and returns its address; ok is false if that was left
// out.
func (f *feed) next() (addr uint64, ok bool) {
	if f.at >= f.c.At {
		f.runs = f.runs[:0]
		f.c.Next(f.c.At+feedLength, func(r fold.Run) bool {
			f.runs = append(f.runs, r)
			return true
		})
	}
	at := f.at
	f.at++
	for len(f.runs) > 0 && at >= f.runs[0].First+f.runs[0].Count {
		f.runs = f.runs[1:]
	}
	if len(f.runs) == 0 || at < f.runs[0].First {
		return 0, false
	}
	r := &f.runs[0]
	return r.Base + (at-r.First)*uint64(r.Stride), true
}
