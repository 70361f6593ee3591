package wet

import (
	"fmt"

	"hindsight/tracefmt"
	"hindsight/wet/stream"
)

// A query that steps through executions in order, forward or backward, reads the
// sequences of its statements by cursors of package stream (section 4). Memory then has
// the compressed stream of a long sequence, its checkpoints and the two tables of a
// cursor, and not the numbers. A slice, which goes anywhere, decodes sequences whole.

const (
	// stepFrom is the length from which on a sequence is read by a cursor.
	stepFrom = 1 << 12
	// A sequence is decoded after all if no query steps through it: if the distance moved
	// exceeds restless times its length, and is far for each number that was read.
	restless = 4
	far      = 16
	// nearby is how far a search steps before it uses checkpoints.
	nearby = 64
	// maxStepEdges limits the edges of a slot that are searched for a label one after the
	// other.
	maxStepEdges = 8
)

// Stepping announces that the next queries go through executions in order, or that this
// is over. Calls may be nested.
func (g *Graph) Stepping(on bool) {
	if on {
		g.stepping++
	} else {
		g.stepping--
	}
}

// stepper reads a sequence by a cursor of its stream.
type stepper struct {
	c    *stream.Cursor
	s    *stream.Stream
	base uint64
	pace
}

// pace says how a sequence was read so far.
type pace struct {
	asked uint64
	way   uint64 // total distance from number to number, in positions
}

func (p *pace) moved(from, to uint64) {
	p.asked++
	p.way += max(from, to) - min(from, to)
}

// wanders reports whether the numbers of a sequence were read in random order.
func (p *pace) wanders(length uint64) bool { return p.way > restless*length && p.way > far*p.asked }

// decodeStream reads a stream of the part, which has n values.
func (p *loaded) decodeStream(i uint32, n uint64) (*stream.Stream, error) {
	s, rest, err := stream.Decode(p.streams[i], stream.Limits{Values: maxNumbers})
	if err != nil {
		return nil, fmt.Errorf("stream %d: %w: %w", i, tracefmt.ErrMalformed, err)
	}
	if s.Len() != n || len(rest) != 0 {
		return nil, fmt.Errorf("stream %d has %d values for %d: %w", i, s.Len(), n, tracefmt.ErrMalformed)
	}
	return s, nil
}

// openStep opens a sequence for a query that steps, and returns its memory.
func (x *numbers) openStep() (bytes uint64, err error) {
	s, err := x.part.decodeStream(x.at, x.n)
	if err != nil {
		return 0, err
	}
	x.step = &stepper{c: s.Cursor(), s: s, base: x.base}
	return s.Memory(), nil
}

func (w *stepper) wanders() bool { return w.pace.wanders(w.s.Len()) }

// get returns number i.
func (w *stepper) get(i uint64) uint64 {
	at := w.c.Pos()
	w.moved(at, i)
	var v uint64
	if i < at {
		_ = w.c.Seek(i + 1) // i is in the stream
		v, _ = w.c.Prev()
	} else {
		_ = w.c.Seek(i)
		v, _ = w.c.Next()
	}
	return v + w.base
}

// search returns the position of the first number that is not below v in an ascending
// sequence, or its length if there is none.
func (w *stepper) search(v uint64) uint64 {
	if v < w.base {
		return 0
	}
	v -= w.base
	for range nearby {
		x, ok := w.c.Next()
		if !ok || x >= v {
			return w.searchBack(v, ok)
		}
	}
	return w.searchFar(v)
}

func (w *stepper) searchFar(v uint64) uint64 {
	at := w.c.Pos()
	w.c.Search(v)
	w.moved(at, w.c.Pos())
	return w.c.Pos()
}

// searchBack is search for a number before the cursor, or just stepped over.
func (w *stepper) searchBack(v uint64, over bool) uint64 {
	if over {
		w.c.Prev()
	}
	for range nearby {
		x, ok := w.c.Prev()
		if !ok {
			return 0
		}
		if x < v {
			w.c.Next()
			return w.c.Pos()
		}
	}
	return w.searchFar(v)
}

// whole decodes the sequence.
func (w *stepper) whole() []uint64 {
	raw := make([]uint64, 0, w.s.Len())
	for v := range w.s.All() {
		raw = append(raw, v+w.base)
	}
	return raw
}

// edgeOf returns the edge of a slot that has the label of execution x, counted from the
// record's first one, and the position of the label in the edge.
func (g *Graph) edgeOf(r *record, s *slotView, x uint64) (*edgeView, uint64, error) {
	if len(s.edges) == 1 {
		return &s.edges[0], x, nil
	}
	if g.stepping == 0 || s.owner != nil || r.span.n < g.stepFrom || len(s.edges) > maxStepEdges {
		if err := g.align(r, s, false); err != nil {
			return nil, 0, err
		}
		return &s.edges[s.owner[x]], uint64(s.place[x]), nil
	}
	others := uint64(0) // executions before x that have labels of other edges than the first
	for i := range s.edges {
		e := &s.edges[i]
		if e.kc == nil {
			continue
		}
		if err := g.open(r, e.kc); err != nil {
			return nil, 0, err
		}
		at, found := e.kc.search(r.span.began + x)
		if found {
			return e, at, nil
		}
		others += at
	}
	return &s.edges[0], x - others, nil
}
