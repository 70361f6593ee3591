package format

import (
	"fmt"

	"hindsight/tracefmt/event"
)

// Piece is a number of accesses that a thread executed in a row before the turn of
// another thread.
type Piece struct {
	Seq      uint64 // events of S_synch before it
	Thread   event.ThreadID
	Accesses uint64 // executed since the thread's last event or piece, recorded or not
}

func DecodeSchedule(payload []byte, seq uint64) ([]Piece, error) {
	d := decode(payload)
	pieces := make([]Piece, d.Count(3, "count"))
	for i := range pieces {
		seq += d.Max(MaxCount, "number out of range")
		pieces[i].Seq = seq
		if seq > MaxCount {
			d.Fail("number out of range")
		}
	}
	for i := range pieces {
		pieces[i].Thread = event.ThreadID(d.Max(event.MaxThreads-1, "number out of range"))
	}
	for i := range pieces {
		pieces[i].Accesses = d.Max(MaxCount, "number out of range")
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("schedule: %w", d.Err)
	}
	return pieces, nil
}
