package artifact

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// A racy value influenced a thread only if another value would have led the thread
// elsewhere. The trace has no values, but the code has the constants to which flags are
// set.

// maxConstant limits the instructions that are followed to find a constant.
const maxConstant = 8

// stored returns the value that a store wrote to memory, if the code determines it.
func (g *graph) stored(p point) (v uint64, ok bool, err error) {
	_, d, err := g.block(p.thread, p.block)
	if err != nil || p.inst >= len(d.insts) {
		return 0, false, err
	}
	i := d.insts[p.inst]
	kind, size, plain := i.Mem()
	if !plain || kind != event.Write || i.Uses().Regs>>i.Rs2&1 == 0 && i.Rs2 != 0 {
		return 0, false, nil
	}
	v, ok, err = g.constant(p, i.Rs2, maxConstant)
	return truncate(v, size), ok, err
}

func truncate(v uint64, size uint8) uint64 {
	if size < 8 {
		v &= 1<<(8*size) - 1
	}
	return v
}

// constant returns the value of a register at a point, if the code determines it.
func (g *graph) constant(p point, r uint8, left int) (v uint64, ok bool, err error) {
	if r == 0 {
		return 0, true, nil
	}
	if left == 0 {
		return 0, false, nil
	}
	q, ok, err := g.definition(p, int(r))
	if !ok || err != nil {
		return 0, false, err
	}
	_, d, err := g.block(q.thread, q.block)
	if err != nil || q.inst >= len(d.insts) {
		return 0, false, err
	}
	i := d.insts[q.inst]
	if v, ok := i.Static(d.pcs[q.inst]); ok {
		return v, true, nil
	}
	switch i.Op {
	case rv.OpADDI, rv.OpADDIW:
		v, ok, err = g.constant(q, i.Rs1, left-1)
		v += uint64(int64(i.Imm))
		if i.Op == rv.OpADDIW {
			v = uint64(int64(int32(v)))
		}
		return v, ok, err
	case rv.OpADD: // the usual copy of a register
		switch {
		case i.Rs1 == 0:
			return g.constant(q, i.Rs2, left-1)
		case i.Rs2 == 0:
			return g.constant(q, i.Rs1, left-1)
		}
	}
	return 0, false, nil
}

// initial returns the value of a variable in the program's file.
func (e *explainer) initial(addr, size uint64) (v uint64, ok bool) {
	if _, _, ok := e.img.Object(addr); !ok {
		return 0, false
	}
	data := e.img.Bytes(addr, int(size))
	for i := len(data) - 1; i >= 0; i-- {
		v = v<<8 | uint64(data[i])
	}
	return v, true // what is not in the file is zero
}

// without returns the value that a racy read would have obtained without the writes that
// race with it: from the last store that was ordered before it, or else from the
// program's file. ok is false if it is not known.
func (e *explainer) without(read *exec, at point) (v uint64, ok bool, err error) {
	_, d, err := e.block(at.thread, at.block)
	if err != nil || at.inst >= len(d.sites) || d.sites[at.inst] < 0 {
		return 0, false, err
	}
	l := load{point: at, site: d.sites[at.inst], seg: segment{thread: at.thread}}
	if l.seg.number, err = e.history[at.thread].Segment(at.block); err != nil {
		return 0, false, err
	}
	e.bounds(&l.seg)
	id := e.id(nodeKey{point: at})
	was := e.nodes[id].missing
	w, found, err := e.writer(id, &l, read.addr, read.size, func(w *written) bool {
		x, ok := e.index.at(w.seg.thread, w.Site, w.Ordinal)
		return ok && e.index.races(&x, read)
	})
	missing := e.nodes[id].missing != was
	e.nodes[id].missing = was
	if err != nil || missing || w.doubt {
		return 0, false, err
	}
	if !found {
		v, ok = e.initial(read.addr, read.size)
		return v, ok, nil
	}
	if w.Address != read.addr || w.size != read.size {
		return 0, false, nil
	}
	_, d, err = e.block(w.seg.thread, w.Point)
	if err != nil {
		return 0, false, err
	}
	for i, site := range d.sites {
		if site == w.Index {
			return e.stored(point{w.seg.thread, w.Point, i})
		}
	}
	return 0, false, nil
}

// maxRivals limits the other writes that are examined for a read. They are examined for
// rivalReads reads of a pair of instructions, because most reads have the same result.
const (
	maxRivals  = 32
	rivalReads = 16
)

// led reports whether a racy read could have obtained another value than that of a write
// only by not reading from that write: neither the value without racing writes nor that
// of another thread's racing write is known to be the same.
func (e *explainer) led(write, read *exec, from, at point) (bool, error) {
	v, ok, err := e.stored(from)
	if !ok || err != nil {
		return true, err
	}
	u, ok, err := e.without(read, at)
	if err != nil || ok && u == v {
		return false, err
	}
	pair := keyOf(write.site, read.site)
	if e.rivals[pair]++; e.rivals[pair] > rivalReads {
		return true, nil
	}
	tried := 0
	for _, id := range e.index.sites[read.site].partner {
		if e.index.sites[id].site.Access != event.Write {
			continue
		}
		for w := range e.index.partners(id, read) {
			if tried++; tried > maxRivals {
				return true, nil
			}
			if w.unit.strand == write.unit.strand {
				continue
			}
			p, err := e.place(&w)
			if err != nil {
				return false, err
			}
			u, ok, err := e.stored(p)
			if err != nil || ok && u == v {
				return false, err
			}
		}
	}
	return true, nil
}
