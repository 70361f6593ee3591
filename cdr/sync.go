package cdr

import (
	"encoding/binary"
	"fmt"
	"slices"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// S_synch of an epoch is one block, whatever the threads:
//
//	payload = uvarint events
//	          uvarint n, then n times: uvarint thread - thread before, uvarint row, uvarint lag
//	          the string of a [syncModel], to the end
//
// The threads and how many events each has are those of the commit block, in
// its order, from 0; threads without events are left out. A lag says that an
// object of that row of that thread is like the one so many events of the row
// earlier.
type syncRec struct {
	events []syncEvent
	rows   []syncRow
	rowIDs map[syncRow]uint32
}

// syncEvent is an event of the open epoch.
type syncEvent struct {
	obj, arg uint64
	thread   event.ThreadID
	row      uint32
}

// What events of the open epoch count for the budget, in bytes.
const (
	syncEventBytes = 24
	syncRowBytes   = 200
)

// add records an event and says how much memory that took.
func (s *syncRec) add(t *threadRec, e *event.Event) uint64 {
	key := syncRow{e.PC, e.Size, e.Kind, e.Mode}
	grown := uint64(syncEventBytes)
	row, ok := s.rowIDs[key]
	if !ok {
		if s.rowIDs == nil {
			s.rowIDs = map[syncRow]uint32{}
		}
		row = uint32(len(s.rows))
		s.rows = append(s.rows, key)
		s.rowIDs[key] = row
		grown += syncRowBytes
	}
	s.events = append(s.events, syncEvent{e.Obj, e.Arg, t.id, row})
	return grown
}

// full says that the epoch must end.
func (s *syncRec) full() bool {
	return len(s.events) >= maxSyncEvents/2 || len(s.rows) >= maxSyncRows/2
}

// encode gives the payload of the epoch's sync block. Active threads are those
// of the commit block.
func (s *syncRec) encode(active []*threadRec) ([]byte, error) {
	var threads []*syncThread
	index := map[event.ThreadID]int{}
	for _, t := range active {
		if t.events > 0 {
			index[t.id] = len(threads)
			threads = append(threads, &syncThread{id: t.id, left: t.events})
		}
	}
	m := newSyncModel(false, threads)
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

// lags finds where objects come again after a fixed number of events, which
// those of threads do that do the same with the same data step by step.
func (s *syncRec) lags(b []byte, index map[event.ThreadID]int, m *syncModel) []byte {
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
	minLagEvents = 512 // fewer objects have no lag
	lagSamples   = 128
)

// findLag gives the distance at which most objects are the same, judged by some
// of them; 0 when no distance stands out.
func findLag(objects []uint64) int {
	n := len(objects)
	if n < minLagEvents {
		return 0
	}
	same := make([]uint8, n/2+1) // by lag
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
	// Short lags are what contexts are for. A lag by chance stands out little.
	if best < 8 || same[best] < lagSamples/8 || int(same[best])*len(same) < 4*total {
		return 0
	}
	return best
}

// syncCursor replays a sync block.
type syncCursor struct {
	m    *syncModel
	left uint64
}

// replaySync begins to decode a sync block of an epoch in which the threads had
// so many events.
func replaySync(payload []byte, threads []counts) (*syncCursor, error) {
	d := decode(payload)
	c := &syncCursor{left: d.Max(maxSyncEvents, "number out of range")}
	var list []*syncThread
	total := uint64(0)
	for _, t := range threads {
		if t.events > 0 {
			list = append(list, &syncThread{id: t.thread, left: t.events})
			total += t.events
		}
	}
	if d.Err == nil && total != c.left {
		d.Fail("number of events")
	}
	c.m = newSyncModel(true, list)
	thread := 0
	for range d.Count(3, "count") {
		thread += int(d.Max(maxThreads, "number out of range"))
		row, lag := d.Max(maxSyncRows-1, "number out of range"), d.Max(maxSyncEvents, "number out of range")
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

// next gives the next event; ok is false at the end.
func (c *syncCursor) next() (th event.ThreadID, e event.Event, ok bool, err error) {
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
