package order

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"hindsight/analyze/place"
	"hindsight/analyze/race"
	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// ErrTrace is wrapped by errors about traces that contradict themselves.
var ErrTrace = replay.ErrTrace

// Order is one of the orders.
type Order uint8

const (
	HB Order = iota
	SHB
	WCP
	Lockset
	NumOrders
)

var names = [NumOrders]string{"hb", "shb", "wcp", "lockset"}

func (o Order) String() string {
	if o < NumOrders {
		return names[o]
	}
	return "order?"
}

// Parse returns the order with a name.
func Parse(name string) (Order, bool) {
	i := slices.Index(names[:], name)
	return Order(max(i, 0)), i >= 0
}

// Set is a set of orders.
type Set uint8

// Has reports whether o is in the set.
func (s Set) Has(o Order) bool { return s>>o&1 != 0 }

func (s *Set) add(o Order) { *s |= 1 << o }

// Names returns the names of the orders in the set.
func (s Set) Names() (all []string) {
	for o := range NumOrders {
		if s.Has(o) {
			all = append(all, o.String())
		}
	}
	return all
}

// Options of an analysis. The zero value is the default.
type Options struct {
	Atomics race.Atomics
	Program place.Program // nil: everything is the user's
	TLSSize uint64        // bytes of a thread's thread-local variables
	// NoLockset omits Lockset. The other orders process little memory, but lock sets
	// process all memory that threads share and write. No pair is then reported by lock
	// sets.
	NoLockset bool
	// Everything processes all accesses one by one, and not only those to memory on which
	// some may race.
	Everything bool

	states int // of a page, before there is a look at which of them are needed; 0: manyStates
}

func (o *Options) lockset() bool { return !o.NoLockset }

// Source is a recorded run. *cdr.Trace implements it.
type Source interface {
	Threads() []cdr.Thread
	NumSites() int
	Site(format.SiteID) format.Site
	Events() iter.Seq2[format.Event, error]
	Steps(event.ThreadID) iter.Seq2[cdr.Step, error]
}

// Access is a side of a pair.
type Access struct {
	race.Place
	Thread  event.ThreadID
	Address uint64
	Size    uint64
	Segment uint64 // events of the thread before the access
	Site    format.SiteID
	Ordinal uint64 // of the execution of the site by the thread, from 0
	Number  uint64 // of a plain access: how many plain accesses of the thread came before
	Seq     uint64 // place in S_synch of the event that ends the segment or is the access; the maximum if none does
}

// Pair is a static pair that at least one order reports.
type Pair struct {
	Orders Set
	// First is, for each order that reports the pair, the first instance that it reports:
	// the earlier access, then the later one.
	First [NumOrders][2]Access
	// Count is, for each order, how often an access raced with the last
	// execution of the other place by another strand.
	Count [NumOrders]uint64
	// At is the first common byte of the first instance.
	At [NumOrders]uint64
}

// Places returns the two places, the smaller first.
func (p *Pair) Places() (a, b race.Place) {
	for o := range NumOrders {
		if p.Orders.Has(o) {
			k := keyOf(p.First[o][0].Place, p.First[o][1].Place)
			return k.a, k.b
		}
	}
	return race.Place{}, race.Place{}
}

type key struct{ a, b race.Place }

func comparePlaces(a, b race.Place) int {
	return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Op, b.Op))
}

func keyOf(a, b race.Place) key {
	if comparePlaces(a, b) > 0 {
		a, b = b, a
	}
	return key{a, b}
}

// Find returns the static pairs that the orders report, by place. The rules for races are
// those of package race.
func Find(ctx context.Context, src Source, opts Options) ([]*Pair, error) {
	return findKept(ctx, src, opts, nil)
}

// findKept is Find with what an earlier walk kept of the segments.
func findKept(ctx context.Context, src Source, opts Options, kept *replay.Footprints) ([]*Pair, error) {
	return (&walker{src: src, opts: opts, kept: kept}).find(ctx)
}

// findSchedulable is Find for schedulable happens-before alone, of a run that knows in
// which order accesses were executed. Its order contains happens-before, so that
// its races are among those of happens-before, on the memory that suspects names;
// and a read that a write elsewhere does not precede by happens-before is of an
// atomic variable. All other accesses are left out. Weak causal precedence, which
// happens-before contains, reports what that reports.
func findSchedulable(ctx context.Context, src Source, opts Options, suspects []span) ([]*Pair, error) {
	opts.NoLockset = true
	return (&walker{src: src, opts: opts, suspects: suspects, alone: true}).find(ctx)
}

// find walks the run and returns the pairs.
func (w *walker) find(ctx context.Context) ([]*Pair, error) {
	if err := w.prepare(ctx); err != nil {
		return nil, err
	}
	if err := w.walk(ctx); err != nil {
		return nil, err
	}
	if err := w.places(ctx); err != nil {
		return nil, err
	}
	all := make([]*Pair, 0, len(w.pairs))
	for _, p := range w.pairs {
		all = append(all, p)
	}
	slices.SortFunc(all, func(x, y *Pair) int {
		a, b := x.Places()
		c, d := y.Places()
		return cmp.Or(comparePlaces(a, c), comparePlaces(b, d))
	})
	return all, nil
}
