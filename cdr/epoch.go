package cdr

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"

	"hindsight/cdr/synclog"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// closeEpoch writes the open epoch and begins another.
func (r *Recorder) closeEpoch() error {
	var active []*threadRec
	for _, t := range r.threads {
		if t == nil {
			continue
		}
		t.endPath()
		if t.blocks > 0 || t.events > 0 {
			active = append(active, t)
		}
	}
	r.due = false
	if len(active) == 0 {
		return nil
	}
	if err := r.w.Append(tracefmt.KindTables, 0, r.paths.encode(r.sites)); err != nil {
		return err
	}
	for _, t := range active {
		if err := r.writeControl(t); err != nil {
			return err
		}
		streams := t.finishStreams()
		if len(streams) == 0 {
			continue
		}
		if err := r.w.Append(tracefmt.KindData, uint32(t.id), encodeData(t, streams)); err != nil {
			return err
		}
	}
	if r.sync.Len() > 0 {
		payload, err := r.sync.Encode(logThreads(active))
		if err != nil {
			return err
		}
		if err := r.w.Append(tracefmt.KindSync, 0, payload); err != nil {
			return err
		}
	}
	if err := r.writeSchedule(); err != nil {
		return err
	}
	if err := r.writeExtra(false); err != nil {
		return err
	}
	if err := r.w.Commit(encodeCommit(active)); err != nil {
		return err
	}
	if r.opts.Committed != nil {
		if err := r.opts.Committed(); err != nil {
			return err
		}
	}
	for _, t := range r.threads {
		if t != nil {
			t.reset()
		}
	}
	r.sync = synclog.Recorder{}
	if r.paths.size() > pathBudget {
		r.paths.forget()
		for _, t := range r.threads {
			if t != nil {
				t.once = nil
			}
		}
	}
	r.mem, r.insts, r.due = 0, 0, false
	return nil
}

// writeControl writes the control flow of a thread.
func (r *Recorder) writeControl(t *threadRec) error {
	if r.paths.named {
		return t.writeFlow()
	}
	return r.w.Append(tracefmt.KindControl, uint32(t.id), encodeControl(t))
}

// finishStreams ends the open runs and returns the streams that hold anything,
// by site. Accesses left out at the end need no mark.
func (t *threadRec) finishStreams() []*stream {
	streams := make([]*stream, 0, len(t.used))
	for _, s := range t.used {
		if !s.begun {
			continue
		}
		s.skip = 0
		var out [2]addrTerm
		n := s.flush(&out)
		t.pushAddr(s, out[:n])
		streams = append(streams, s)
	}
	slices.SortFunc(streams, func(a, b *stream) int { return cmp.Compare(a.site, b.site) })
	return streams
}

// counts are what the commit block of an epoch says of a thread.
//
//	payload = uvarint threads, then for each in rising order: uvarint id, instructions
//	          of its blocks, block executions, accesses of its blocks, accesses
//	          recorded, ordered events
type counts struct {
	thread                                    event.ThreadID
	insts, blocks, accesses, recorded, events uint64
}

// logThreads is what the log of synchronisation is to know of an epoch's threads.
func logThreads(active []*threadRec) []synclog.Thread {
	list := make([]synclog.Thread, len(active))
	for i, t := range active {
		list[i] = synclog.Thread{ID: t.id, Events: t.events}
	}
	return list
}

// replaySync begins to decode a sync block of an epoch in which the threads had
// so many events.
func replaySync(payload []byte, threads []counts) (*synclog.Cursor, error) {
	list := make([]synclog.Thread, len(threads))
	for i, t := range threads {
		list[i] = synclog.Thread{ID: t.thread, Events: t.events}
	}
	return synclog.Replay(payload, list)
}

func encodeCommit(active []*threadRec) []byte {
	b := binary.AppendUvarint(nil, uint64(len(active)))
	for _, t := range active {
		for _, v := range [...]uint64{uint64(t.id), t.insts, t.blocks, t.accesses, t.recorded, t.events} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

func decodeCommit(payload []byte) ([]counts, error) {
	d := decode(payload)
	list := make([]counts, d.Count(6, "count"))
	for i := range list {
		c := &list[i]
		c.thread = event.ThreadID(d.Max(maxThreads-1, "number out of range"))
		for _, v := range [...]*uint64{&c.insts, &c.blocks, &c.accesses, &c.recorded, &c.events} {
			*v = d.Max(maxCount, "number out of range")
		}
		if i > 0 && list[i-1].thread >= c.thread {
			d.Fail("order of threads")
		}
		if c.recorded > c.accesses {
			d.Fail("recorded accesses")
		}
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("commit: %w", d.Err)
	}
	return list, nil
}
