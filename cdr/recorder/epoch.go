package recorder

import (
	"cmp"
	"slices"

	"hindsight/cdr/format"
	"hindsight/cdr/synclog"
	"hindsight/tracefmt"
)

// closeEpoch writes the open epoch and begins another.
func (r *Recorder) closeEpoch() error {
	var active []*threadRec
	for _, t := range r.threads {
		if t == nil {
			continue
		}
		t.endPath()
		r.feed.drain()
		if t.blocks > 0 || t.events > 0 {
			active = append(active, t)
		}
	}
	r.due = false
	if len(active) == 0 {
		return nil
	}
	if err := r.w.Append(tracefmt.KindTables, 0, r.paths.newRows().Encode(r.sites)); err != nil {
		return err
	}
	done := make([]format.Counts, len(active))
	for i, t := range active {
		done[i] = t.counts()
		if err := r.writeControl(t); err != nil {
			return err
		}
		streams := t.finishStreams()
		if len(streams) == 0 {
			continue
		}
		if err := r.w.Append(tracefmt.KindData, uint32(t.id), format.EncodeData(t.addrs.terms, streams)); err != nil {
			return err
		}
	}
	if r.sync.Len() > 0 {
		payload, err := r.sync.Encode(format.SyncThreads(done))
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
	if err := r.w.Commit(format.EncodeCommit(done)); err != nil {
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
	return r.w.Append(tracefmt.KindControl, uint32(t.id), format.EncodeControl(t.base, t.terms.terms, t.control.Grammar()))
}

// finishStreams ends the open runs and returns the streams that are not empty, by
// site. Accesses left out at the end need no mark.
func (t *threadRec) finishStreams() []format.AddrStream {
	streams := make([]format.AddrStream, 0, len(t.used))
	for _, s := range t.used {
		s.skip = 0
		var out [2]format.AddrTerm
		n := s.flush(&out)
		t.pushAddr(s, out[:n])
	}
	t.rec.feed.drain()
	for _, s := range t.used {
		if !s.begun {
			continue
		}
		streams = append(streams, format.AddrStream{Site: s.site, First: s.first, Lead: s.lead, Grammar: s.b.Grammar()})
	}
	slices.SortFunc(streams, func(a, b format.AddrStream) int { return cmp.Compare(a.Site, b.Site) })
	return streams
}

// counts are what the thread did in the epoch.
func (t *threadRec) counts() format.Counts {
	return format.Counts{Thread: t.id, Insts: t.insts, Blocks: t.blocks, Accesses: t.accesses, Recorded: t.recorded, Events: t.events}
}
