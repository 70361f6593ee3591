package cdr

import (
	"encoding/binary"
	"fmt"
	"iter"
	"slices"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// S_synch says in which order the events of the threads were; the schedule says
// the same of their accesses. Only turns that end with accesses need words:
// those of which no piece tells were executed just before the thread's next
// event, or at the end of the run. The schedule of an epoch is a block, which is
// absent when there is nothing to say:
//
//	payload = uvarint pieces
//	          column: uvarint events of the run before it - those before the piece before it
//	          column: uvarint thread
//	          column: uvarint accesses

// Piece is accesses of a thread that were executed at a stretch, before another
// thread had its turn.
type Piece struct {
	Seq      uint64 // events of S_synch before it
	Thread   event.ThreadID
	Accesses uint64 // executed, recorded or not, since the thread's last event or piece
}

// scheduleRec is the schedule of the open epoch.
type scheduleRec struct {
	turn    *threadRec // whose it is
	seq     uint64     // events so far
	last    uint64     // seq of the last piece
	pieces  uint64
	columns [3][]byte
}

// takeTurn begins a turn of a thread.
func (r *Recorder) takeTurn(t *threadRec) {
	s := &r.schedule
	if was := s.turn; was != nil && was != t {
		if n := was.sinceEvent(); n > 0 {
			for i, v := range [...]uint64{s.seq - s.last, uint64(was.id), n} {
				before := len(s.columns[i])
				s.columns[i] = binary.AppendUvarint(s.columns[i], v)
				r.grow(uint64(len(s.columns[i]) - before))
			}
			s.last = s.seq
			s.pieces++
			was.told()
		}
	}
	s.turn = t
}

// sinceEvent is how many accesses the thread executed since its last event or
// piece.
func (t *threadRec) sinceEvent() uint64 { return t.loose + t.accesses - t.toldTo }

// told notes that all accesses so far have their place.
func (t *threadRec) told() { t.loose, t.toldTo = 0, t.accesses }

// writeSchedule writes the epoch's schedule.
func (r *Recorder) writeSchedule() error {
	s := &r.schedule
	if s.pieces == 0 {
		return nil
	}
	payload := append(binary.AppendUvarint(nil, s.pieces), slices.Concat(s.columns[:]...)...)
	s.pieces = 0
	for i := range s.columns {
		s.columns[i] = s.columns[i][:0]
	}
	return r.w.Append(tracefmt.KindSchedule, 0, payload)
}

// HasSchedule says whether the trace tells in which order accesses were
// executed. Without, it is not known of those between two events.
func (t *Trace) HasSchedule() bool { return t.meta.Schedule }

// Schedule returns the pieces in the order of the run. It ends after the first
// error.
func (t *Trace) Schedule() iter.Seq2[Piece, error] {
	return func(yield func(Piece, error) bool) {
		last := Piece{}
		for i := range t.epochs {
			h, ok := t.blocks[blockKey{tracefmt.KindSchedule, uint32(i), 0}]
			if !ok {
				continue
			}
			var pieces []Piece
			if err := t.read(h, func(b []byte) (err error) {
				pieces, err = decodeSchedule(b, last.Seq)
				return err
			}); err != nil {
				yield(Piece{}, err)
				return
			}
			for _, last = range pieces {
				if !yield(last, nil) {
					return
				}
			}
		}
	}
}

func decodeSchedule(payload []byte, seq uint64) ([]Piece, error) {
	d := decode(payload)
	pieces := make([]Piece, d.Count(3, "count"))
	for i := range pieces {
		seq += d.Max(maxCount, "number out of range")
		pieces[i].Seq = seq
		if seq > maxCount {
			d.Fail("number out of range")
		}
	}
	for i := range pieces {
		pieces[i].Thread = event.ThreadID(d.Max(maxThreads-1, "number out of range"))
	}
	for i := range pieces {
		pieces[i].Accesses = d.Max(maxCount, "number out of range")
	}
	d.End()
	if d.Err != nil {
		return nil, fmt.Errorf("schedule: %w", d.Err)
	}
	return pieces, nil
}
