package synclog

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

// Thread is a thread of an epoch with its number of events.
type Thread struct {
	ID     event.ThreadID
	Events uint64
}

// Recorder collects the events of the open epoch. The zero value is empty.
type Recorder struct {
	events []recorded
	rows   []eventRow
	rowIDs map[eventRow]uint32
}

// recorded is an event of the open epoch.
type recorded struct {
	obj, arg uint64
	thread   event.ThreadID
	row      uint32
}

// The memory of the events of the open epoch, in bytes, as it counts for the budget.
const (
	eventBytes = 24
	rowBytes   = 200
)

// Add records an event of a thread and returns the bytes of memory it takes.
func (s *Recorder) Add(th event.ThreadID, e *event.Event) uint64 {
	key := eventRow{e.PC, e.Size, e.Kind, e.Mode}
	grown := uint64(eventBytes)
	row, ok := s.rowIDs[key]
	if !ok {
		if s.rowIDs == nil {
			s.rowIDs = map[eventRow]uint32{}
		}
		row = uint32(len(s.rows))
		s.rows = append(s.rows, key)
		s.rowIDs[key] = row
		grown += rowBytes
	}
	s.events = append(s.events, recorded{e.Obj, e.Arg, th, row})
	return grown
}

// Len returns the number of events.
func (s *Recorder) Len() int { return len(s.events) }

// Full reports whether the epoch must end.
func (s *Recorder) Full() bool {
	return len(s.events) >= maxEvents/2 || len(s.rows) >= maxRows/2
}

// Encode returns the payload of the epoch's sync block. active are the threads of the
// commit block, in its order.
func (s *Recorder) Encode(active []Thread) ([]byte, error) {
	threads, _ := withEvents(active)
	index := map[event.ThreadID]int{}
	for i, t := range threads {
		index[t.id] = i
	}
	m := newModel(false, threads)
	b := binary.AppendUvarint(nil, uint64(len(s.events)))
	b = s.lags(b, index, m)
	m.Begin(b, nil)
	for _, e := range s.events {
		r := &s.rows[e.row]
		if _, _, err := m.event(index[e.thread], event.Event{Kind: r.kind, Mode: r.mode, Size: r.size, PC: r.pc, Obj: e.obj, Arg: e.arg}); err != nil {
			return nil, err
		}
	}
	return m.End(), nil
}

// lags finds objects that recur after a fixed number of events. That happens if threads
// do the same with the same data in each step.
func (s *Recorder) lags(b []byte, index map[event.ThreadID]int, m *model) []byte {
	type place struct {
		thread int
		row    uint32
	}
	objects := map[place][]uint64{}
	var order []place
	if len(s.events) >= minLagEvents {
		for _, e := range s.events {
			p := place{index[e.thread], e.row}
			if objects[p] == nil {
				order = append(order, p)
			}
			objects[p] = append(objects[p], e.obj)
		}
	}
	slices.SortFunc(order, func(a, b place) int {
		if a.thread != b.thread {
			return a.thread - b.thread
		}
		return int(a.row) - int(b.row)
	})
	var found []byte
	n, last := uint64(0), 0
	for _, p := range order {
		lag := findLag(objects[p])
		if lag == 0 {
			continue
		}
		m.lags[lagKey(p.thread, p.row)] = lag
		n++
		found = binary.AppendUvarint(found, uint64(p.thread-last))
		found = binary.AppendUvarint(found, uint64(p.row))
		found = binary.AppendUvarint(found, uint64(lag))
		last = p.thread
	}
	return append(binary.AppendUvarint(b, n), found...)
}

const (
	minLagEvents = 512 // fewer objects get no lag
	lagSamples   = 128
)

// findLag returns the distance at which most objects are equal, judged by a sample. It
// returns 0 when no distance stands out.
func findLag(objects []uint64) int {
	n := len(objects)
	if n < minLagEvents {
		return 0
	}
	same := make([]uint8, n/2+1) // matches, by lag
	for k := range lagSamples {
		at := n/2 + k*(n-n/2)/lagSamples
		v := objects[at]
		past := objects[at-n/2 : at]
		for i, o := range past {
			if o == v {
				same[len(past)-i]++
			}
		}
	}
	best, total := 0, 0
	for lag, c := range same {
		total += int(c)
		if c > same[best] {
			best = lag
		}
	}
	// Contexts handle short lags. A lag that arises by chance hardly stands out.
	if best < 8 || same[best] < lagSamples/8 || int(same[best])*len(same) < 4*total {
		return 0
	}
	return best
}

// withEvents lists the threads that have events, and counts their events.
func withEvents(active []Thread) (list []*threadState, total uint64) {
	for _, t := range active {
		if t.Events > 0 {
			list = append(list, &threadState{id: t.ID, left: t.Events})
			total += t.Events
		}
	}
	return list, total
}

// Cursor replays a sync block.
type Cursor struct {
	m    *model
	left uint64
}

// Replay starts decoding a sync block of an epoch in which the threads had these numbers
// of events. Errors wrap those of package wire.
func Replay(payload []byte, threads []Thread) (*Cursor, error) {
	d := wire.Payload{Rest: payload}
	c := &Cursor{left: d.Max(maxEvents, "number out of range")}
	list, total := withEvents(threads)
	if d.Err == nil && total != c.left {
		d.Fail("number of events")
	}
	c.m = newModel(true, list)
	thread := 0
	for range d.Count(3, "count") {
		thread += int(d.Max(event.MaxThreads, "number out of range"))
		row, lag := d.Max(maxRows-1, "number out of range"), d.Max(maxEvents, "number out of range")
		if thread >= len(list) || lag == 0 {
			d.Fail("lag")
			break
		}
		c.m.lags[lagKey(thread, uint32(row))] = int(lag)
	}
	if d.Err != nil {
		return nil, fmt.Errorf("sync: %w", d.Err)
	}
	c.m.Begin(nil, d.Rest)
	return c, nil
}

// Next returns the next event and its thread; ok is false at the end.
func (c *Cursor) Next() (th event.ThreadID, e event.Event, ok bool, err error) {
	if c.left == 0 {
		if c.m.Rest() > 0 {
			return 0, e, false, fmt.Errorf("sync: bytes left over: %w", tracefmt.ErrMalformed)
		}
		return 0, e, false, nil
	}
	c.left--
	i, e, err := c.m.event(0, event.Event{})
	if err == nil && c.m.Overrun() {
		err = fmt.Errorf("sync: the string ends early: %w", tracefmt.ErrMalformed)
	}
	return c.m.threads[i].id, e, err == nil, err
}

func zigzag(v int64) uint64   { return uint64(v)<<1 ^ uint64(v>>63) }
func unzigzag(z uint64) int64 { return int64(z>>1) ^ -int64(z&1) }
