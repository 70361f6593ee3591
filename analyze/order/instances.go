package order

import (
	"context"

	"hindsight/analyze/hb"
	"hindsight/analyze/race"
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
)

// Instances returns the first instances of static pairs that race by happens-before, at
// most n of each, in the order in which the run came to the later access. The earlier
// one is the first of two.
func Instances(ctx context.Context, src Source, opts Options, pairs [][2]race.Place, n int) ([][][2]Access, error) {
	w := &instanceWatch{most: n, of: map[key]int{}, places: map[race.Place]bool{}, found: make([][][2]Access, len(pairs)), memory: memory{}}
	for i, p := range pairs {
		w.of[keyOf(p[0], p[1])] = i
		w.places[p[0]], w.places[p[1]] = true, true
	}
	err := Watch(ctx, src, opts, w)
	return w.found, err
}

// memory is what is stored about granules.
type memory map[uint64][]executed

// executed is an execution of a place.
type executed struct {
	Access
	strand       event.StrandID
	epoch        uint64
	mask, atomic uint8
}

// executedNow returns the current execution.
func executedNow(full *hb.Order, a *Access, mask, atomic uint8) executed {
	x := executed{Access: *a, strand: full.Strand(a.Thread), mask: mask, atomic: atomic}
	x.epoch = full.Epoch(x.strand)
	return x
}

// conflicts reports whether two executions conflict: by different strands, with bytes
// in common that not both access atomically, and one of them a write.
func (x *executed) conflicts(y *executed) bool {
	common := x.mask & y.mask
	if !x.Op.Call() || !y.Op.Call() {
		common &^= x.atomic & y.atomic
	}
	return common != 0 && x.strand != y.strand && x.Thread != y.Thread && (x.Op.Writes() || y.Op.Writes())
}

// keep stores an execution, and at most n earlier ones of the place by its strand.
func (m memory) keep(g uint64, x executed, most int) {
	same, first := 0, -1
	for i := range m[g] {
		if o := &m[g][i]; o.strand == x.strand && o.Place == x.Place && o.mask == x.mask {
			same++
			if first < 0 {
				first = i
			}
		}
	}
	if same >= most {
		m[g] = append(m[g][:first], m[g][first+1:]...)
	}
	m[g] = append(m[g], x)
}

// life removes memory that begins a new life.
func (m memory) life(addr, size uint64) {
	if size == 0 || addr+size < addr {
		return
	}
	first, last := addr>>3, (addr+size-1)>>3
	if last-first <= uint64(len(m)) {
		for g := first; g <= last; g++ {
			delete(m, g)
		}
		return
	}
	for g := range m {
		if first <= g && g <= last {
			delete(m, g)
		}
	}
}

// instanceWatch is the watcher of Instances.
type instanceWatch struct {
	most   int
	of     map[key]int
	places map[race.Place]bool
	found  [][][2]Access
	full   *hb.Order
	memory memory
}

// Begin implements [Watcher].
func (w *instanceWatch) Begin(full, _ *hb.Order) { w.full = full }

// Event implements [Watcher].
func (w *instanceWatch) Event(*format.Event) error { return nil }

// Done implements [Watcher].
func (w *instanceWatch) Done(*format.Event) error { return nil }

// Life implements [Watcher].
func (w *instanceWatch) Life(addr, size uint64) { w.memory.life(addr, size) }

// Access implements [Watcher].
func (w *instanceWatch) Access(a *Access, g uint64, mask, atomic uint8) error {
	if !w.places[a.Place] {
		return nil
	}
	x := executedNow(w.full, a, mask, atomic)
	clock := w.full.Clock(a.Thread)
	for i := range w.memory[g] {
		o := &w.memory[g][i]
		n, asked := w.of[keyOf(o.Place, x.Place)]
		if !asked || len(w.found[n]) >= w.most || !o.conflicts(&x) || o.epoch <= clock.At(o.strand) {
			continue
		}
		list := w.found[n]
		if k := len(list) - 1; k < 0 || !list[k][0].is(&o.Access) || !list[k][1].is(a) { // it may touch several granules
			w.found[n] = append(list, [2]Access{o.Access, *a})
		}
	}
	w.memory.keep(g, x, w.most)
	return nil
}

// is reports whether two accesses are the same execution.
func (a *Access) is(b *Access) bool {
	return a.Thread == b.Thread && a.Place == b.Place && a.Site == b.Site && a.Ordinal == b.Ordinal && a.Segment == b.Segment
}
