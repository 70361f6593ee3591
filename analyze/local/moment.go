package local

import (
	"cmp"
	"context"
	"slices"

	"hindsight/analyze/replay"
	"hindsight/cdr"
	"hindsight/tracefmt/event"
)

// moment says when a place was accessed.
type moment struct {
	place  int
	point  uint64 // the block execution that contains the access
	block  uint64 // address of that block
	events uint64 // earlier events of the accessing thread
	access uint64 // its accesses between the last of these events and this access

	// Where the owner was at that time, by the schedule.
	owner position
	told  bool
}

// position says how far a thread has come.
type position struct {
	events   uint64
	accesses uint64 // accesses since the last event
}

// moment finds out when a place was accessed, in the history of the accessing thread.
func (f *Finder) moment(p *Place) (m moment, err error) {
	h, err := f.history.Of(p.Access.Thread)
	if err != nil {
		return m, err
	}
	if m.point, err = h.Execution(p.Access.Site, p.Access.Ordinal); err != nil {
		return m, err
	}
	b, err := h.Block(m.point)
	if err != nil {
		return m, err
	}
	m.block = b.PC
	index, err := h.SiteIndex(m.point, p.Access.Site, p.Access.Ordinal)
	if err != nil {
		return m, err
	}
	if m.events, err = h.Segment(m.point); err != nil {
		return m, err
	}
	sum, err := h.Accesses(m.point)
	if err != nil {
		return m, err
	}
	first, err := f.since(h, m.events)
	m.access = sum + uint64(index) - first
	return m, err
}

// since returns how many accesses a thread executed before the event that begins a
// segment.
func (f *Finder) since(h *cdr.History, segment uint64) (uint64, error) {
	if segment == 0 {
		return 0, nil
	}
	n, err := h.EventPoint(segment - 1)
	if err != nil {
		return 0, err
	}
	return h.Accesses(n)
}

// schedule finds out how far the owners had come at each moment.
func (f *Finder) schedule(ctx context.Context, places []Place, asked []moment) error {
	waiting := map[event.ThreadID][]*moment{} // in the order of each thread
	for i := range asked {
		t := places[asked[i].place].Access.Thread
		waiting[t] = append(waiting[t], &asked[i])
	}
	for _, list := range waiting {
		slices.SortFunc(list, func(a, b *moment) int {
			return cmp.Or(cmp.Compare(a.events, b.events), cmp.Compare(a.access, b.access))
		})
	}
	threads := make([]position, len(f.trace.Threads()))
	// reached sets the moments of t before a position of t.
	reached := func(t event.ThreadID, until position) {
		list := waiting[t]
		for len(list) > 0 && (list[0].events < until.events || list[0].events == until.events && list[0].access < until.accesses) {
			owner := places[list[0].place].Owner
			list[0].owner, list[0].told = threads[owner], true
			list = list[1:]
		}
		waiting[t] = list
	}
	return replay.Turns(ctx, f.trace, len(threads), func(t event.ThreadID, accesses uint64) error {
		x := &threads[t]
		x.accesses += accesses
		reached(t, *x)
		return nil
	}, func(ev *replay.Event) error {
		x := &threads[ev.Thread]
		*x = position{events: x.events + 1}
		reached(ev.Thread, *x)
		return nil
	})
}

// around returns the instants of the owner's last access or event before a moment, and of
// its next one after it.
func (f *Finder) around(owner event.ThreadID, m *moment) (before, after instant, ok bool, err error) {
	if !m.told {
		return before, after, false, nil
	}
	h, err := f.history.Of(owner)
	if err != nil {
		return before, after, false, err
	}
	var start uint64
	if m.owner.events > 0 {
		if start, err = h.EventPoint(m.owner.events - 1); err != nil {
			return before, after, false, err
		}
	}
	end, err := h.EventPoint(m.owner.events)
	if err != nil {
		return before, after, false, err
	}
	first, err := h.Accesses(start)
	if err != nil {
		return before, after, false, err
	}
	last, err := h.Accesses(end)
	if err != nil || end == 0 {
		return before, after, false, err
	}
	switch now := first + m.owner.accesses; {
	case now > first:
		before, err = f.access(h, now-1)
	case start > 0:
		before, err = f.left(h, start-1)
	default:
		return before, after, false, nil // the owner had not begun
	}
	if err != nil {
		return before, after, false, err
	}
	if now := first + m.owner.accesses; now < last {
		after, err = f.access(h, now)
	} else {
		after, err = f.left(h, end-1)
	}
	return before, after, err == nil, err
}

// access returns the instant of an access of a thread.
func (f *Finder) access(h *cdr.History, n uint64) (instant, error) {
	point, index, err := h.AccessPoint(n)
	if err != nil {
		return instant{}, err
	}
	b, err := h.Block(point)
	if err != nil {
		return instant{}, err
	}
	return instant{point, f.trace.Site(b.Sites[index]).PC}, nil
}

// left returns the instant at which a block execution ended.
func (f *Finder) left(h *cdr.History, point uint64) (instant, error) {
	b, err := h.Block(point)
	return instant{point, b.PC + uint64(b.Bytes) - 1}, err
}
