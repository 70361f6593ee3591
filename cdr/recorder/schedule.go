package recorder

import (
	"encoding/binary"
	"slices"

	"hindsight/tracefmt"
)

// scheduleRec is the schedule of the open epoch.
type scheduleRec struct {
	turn    *threadRec // the thread whose turn it is
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

// sinceEvent returns the number of accesses by the thread since its last event or piece.
func (t *threadRec) sinceEvent() uint64 { return t.loose + t.accesses - t.toldTo }

// told notes that the schedule covers all accesses so far.
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
