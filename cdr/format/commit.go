package format

import (
	"encoding/binary"
	"fmt"

	"hindsight/cdr/synclog"
	"hindsight/tracefmt/event"
)

// Counts are a thread's numbers in the commit block of an epoch.
//
//	payload = uvarint threads, then for each in rising order: uvarint id, instructions
//	          of its blocks, block executions, accesses of its blocks, accesses
//	          recorded, ordered events
type Counts struct {
	Thread                                    event.ThreadID
	Insts, Blocks, Accesses, Recorded, Events uint64
}

// SyncThreads converts the threads of an epoch for package synclog.
func SyncThreads(threads []Counts) []synclog.Thread {
	list := make([]synclog.Thread, len(threads))
	for i, t := range threads {
		list[i] = synclog.Thread{ID: t.Thread, Events: t.Events}
	}
	return list
}

// ReplaySync starts decoding a sync block of an epoch in which the threads had these
// numbers of events.
func ReplaySync(payload []byte, threads []Counts) (*synclog.Cursor, error) {
	return synclog.Replay(payload, SyncThreads(threads))
}

func EncodeCommit(threads []Counts) []byte {
	b := binary.AppendUvarint(nil, uint64(len(threads)))
	for _, t := range threads {
		for _, v := range [...]uint64{uint64(t.Thread), t.Insts, t.Blocks, t.Accesses, t.Recorded, t.Events} {
			b = binary.AppendUvarint(b, v)
		}
	}
	return b
}

func DecodeCommit(payload []byte) ([]Counts, error) {
	d := decode(payload)
	list := make([]Counts, d.Count(6, "count"))
	for i := range list {
		c := &list[i]
		c.Thread = event.ThreadID(d.Max(event.MaxThreads-1, "number out of range"))
		for _, v := range [...]*uint64{&c.Insts, &c.Blocks, &c.Accesses, &c.Recorded, &c.Events} {
			*v = d.Max(MaxCount, "number out of range")
		}
		if i > 0 && list[i-1].Thread >= c.Thread {
			d.Fail("order of threads")
		}
		if c.Recorded > c.Accesses {
			d.Fail("recorded accesses")
		}
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("commit: %w", d.Err)
	}
	return list, nil
}
