package mpsim

import (
	"maps"
	"slices"
	"sort"

	"hindsight/mpsim/linux"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// checkpoint is the state of a [Replay] at one point in time.
type checkpoint struct {
	time, done uint64
	at         int
	memory     *mem.Snapshot
	harts      []hartState
	suspended  map[frame][]frame
	names      map[event.ThreadID]string
	cost       uint64 // in bytes, with the pages written since the previous checkpoint
	// covers is the code that runs from here to the next checkpoint, or a superset of it.
	// nil means unknown.
	covers codeSet
}

// hartState is the state of a hart that the execution of instructions depends on.
type hartState struct {
	id       event.ThreadID
	context  linux.Context
	flags    uint8
	retired  uint64
	reserved reservation
	frames   []frame
}

// point returns the last checkpoint at or before a time.
func (r *Replay) point(time uint64) *checkpoint {
	n := sort.Search(len(r.points), func(i int) bool { return r.points[i].time > time })
	return r.points[n-1]
}

// nextPoint returns the next time on the way forward at which a checkpoint exists or is
// due.
func (r *Replay) nextPoint() uint64 {
	n := sort.Search(len(r.points), func(i int) bool { return r.points[i].time > r.time })
	due := r.points[n-1].time + r.every
	if n < len(r.points) {
		due = min(due, r.points[n].time)
	}
	return max(due, r.time+1)
}

// passes is called when a stretch has ended. Where a checkpoint exists or is due, the code
// that ran since the last one is now known.
func (r *Replay) passes() {
	at := r.point(r.time)
	switch {
	case at.time == r.time:
	case r.time >= at.time+r.every:
		r.keep()
		at = r.point(r.time)
		if at.time != r.time { // there was no memory for it
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

// covers starts to note which code runs from a checkpoint on. It has all blocks decoded
// again, so that none is missed.
func (r *Replay) covers(from *checkpoint) {
	r.since, r.m.covered = from, codeSet{}
	r.m.flushCode()
}

// codeSet is a set of small pieces of code. nil means all code.
type codeSet map[uint64]struct{}

const coverShift = 5 // a piece is 32 bytes

func (c codeSet) add(b *block) {
	if c == nil {
		return
	}
	for n := b.pc >> coverShift; n <= (b.next-1)>>coverShift; n++ {
		c[n] = struct{}{}
	}
}

// any reports whether one of the addresses may be in the set.
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

// with returns the union.
func (c codeSet) with(o codeSet) codeSet {
	if c == nil || o == nil {
		return nil
	}
	both := maps.Clone(c)
	maps.Copy(both, o)
	return both
}

// keep takes a checkpoint, unless one exists here.
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
		c.covers = r.points[n-1].covers // known for a longer stretch
	}
	r.points = slices.Insert(r.points, n, c)
	r.thin()
}

// thin drops every other checkpoint while they take too much memory.
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
				// What both held exists only once now: at most the next one's share grows.
				r.points[i+1].cost = max(r.points[i+1].cost, r.points[i].cost)
			}
		}
		clear(r.points[len(few):])
		r.points = few
		r.every *= 2
	}
}

// restore returns to a checkpoint.
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
