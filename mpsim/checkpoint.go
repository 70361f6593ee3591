package mpsim

import (
	"maps"
	"slices"
	"sort"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// checkpoint is the state of a [Replay] at a time.
type checkpoint struct {
	time, done uint64
	at         int
	memory     *mem.Snapshot
	harts      []hartState
	suspended  map[frame][]frame
	names      map[event.ThreadID]string
	cost       uint64 // bytes, with the pages written since the checkpoint before
	// covers is the code that runs from here to the next checkpoint, or more; nil: that
	// is not known.
	covers codeSet
}

// hartState is what instructions depend on.
type hartState struct {
	id       event.ThreadID
	context  linux.Context
	flags    uint8
	retired  uint64
	reserved reservation
	frames   []frame
}

// point is the last checkpoint at or before a time.
func (r *Replay) point(time uint64) *checkpoint {
	n := sort.Search(len(r.points), func(i int) bool { return r.points[i].time > time })
	return r.points[n-1]
}

// nextPoint is the time at which there is a checkpoint next on the way on, or one is
// due.
func (r *Replay) nextPoint() uint64 {
	n := sort.Search(len(r.points), func(i int) bool { return r.points[i].time > r.time })
	due := r.points[n-1].time + r.every
	if n < len(r.points) {
		due = min(due, r.points[n].time)
	}
	return max(due, r.time+1)
}

// passes is called when a stretch has ended: where a checkpoint is or is due, it is
// known which code ran since the last.
func (r *Replay) passes() {
	at := r.point(r.time)
	switch {
	case at.time == r.time:
	case r.time >= at.time+r.every:
		r.keep()
		at = r.point(r.time)
		if at.time != r.time { // there is no memory for it
			return
		}
	default:
		return
	}
	if r.since != nil && r.since != at {
		if n := slices.Index(r.points, r.since); n >= 0 && n+1 < len(r.points) && r.points[n+1] == at {
			r.since.covers = r.m.covered
		}
	}
	r.covers(at)
}

// covers begins to note which code runs from a checkpoint on. Blocks are decoded again,
// so that all are seen.
func (r *Replay) covers(from *checkpoint) {
	r.since, r.m.covered = from, codeSet{}
	r.m.flushCode()
}

// codeSet is a set of small pieces of code; nil: everything.
type codeSet map[uint64]struct{}

const coverShift = 5 // a piece has 32 bytes

func (c codeSet) add(b *block) {
	if c == nil {
		return
	}
	for n := b.pc >> coverShift; n <= (b.next-1)>>coverShift; n++ {
		c[n] = struct{}{}
	}
}

// any tells whether one of the addresses may be in the set.
func (c codeSet) any(breaks map[uint64]bool) bool {
	if c == nil {
		return true
	}
	for pc := range breaks {
		if _, in := c[pc>>coverShift]; in {
			return true
		}
	}
	return false
}

// with is the union.
func (c codeSet) with(o codeSet) codeSet {
	if c == nil || o == nil {
		return nil
	}
	both := maps.Clone(c)
	maps.Copy(both, o)
	return both
}

// keep takes a checkpoint, unless there is one.
func (r *Replay) keep() {
	n := sort.Search(len(r.points), func(i int) bool { return r.points[i].time >= r.time })
	if n < len(r.points) && r.points[n].time == r.time {
		return
	}
	copied := r.m.space.Copied()
	c := &checkpoint{time: r.time, done: r.done, at: r.at, memory: r.m.space.Snapshot(), names: map[event.ThreadID]string{}, suspended: map[frame][]frame{}}
	for _, h := range r.m.harts {
		c.harts = append(c.harts, hartState{h.id, h.Context, h.flags, h.retired, h.reserved, slices.Clone(h.frames)})
		c.names[h.id] = r.names[h.id]
	}
	for top, frames := range r.m.suspended {
		c.suspended[top] = slices.Clone(frames)
	}
	c.cost = c.memory.Bytes() + copied - r.kept
	r.kept = copied
	if n > 0 {
		c.covers = r.points[n-1].covers // of a stretch that is longer
	}
	r.points = slices.Insert(r.points, n, c)
	r.thin()
}

// thin lets every other checkpoint go while they cost too much.
func (r *Replay) thin() {
	for {
		total := uint64(0)
		for _, c := range r.points {
			total += c.cost
		}
		if total <= r.opts.Memory || len(r.points) < 3 {
			return
		}
		few := r.points[:1]
		for i := 1; i < len(r.points); i++ {
			if i%2 == 0 {
				few = append(few, r.points[i])
				continue
			}
			few[len(few)-1].covers = few[len(few)-1].covers.with(r.points[i].covers)
			if i+1 < len(r.points) {
				// What both wrote exists once now: at most the next one's share grows.
				r.points[i+1].cost = max(r.points[i+1].cost, r.points[i].cost)
			}
		}
		clear(r.points[len(few):])
		r.points = few
		r.every *= 2
	}
}

// restore goes to a checkpoint.
func (r *Replay) restore(c *checkpoint) {
	m := r.m
	m.space.Restore(c.memory)
	m.code.generation = m.space.CodeGeneration()
	m.harts, m.hartOf = m.harts[:0:0], map[*linux.Task]*Hart{}
	m.suspended = map[frame][]frame{}
	for top, frames := range c.suspended {
		m.suspended[top] = slices.Clone(frames)
	}
	for i := range c.harts {
		s := &c.harts[i]
		m.threads = s.id
		h := m.newHart(&linux.Task{}, s.context)
		h.flags, h.retired, h.reserved, h.frames = s.flags, s.retired, s.reserved, slices.Clone(s.frames)
		h.setExact()
	}
	r.names = map[event.ThreadID]string{}
	for id, name := range c.names {
		r.names[id] = name
	}
	r.at, r.done, r.time = c.at, c.done, c.time
	r.covers(c)
}
