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
		if !t.idle() {
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
	}
	if err := r.writeThreads(active); err != nil {
		return err
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
	for i, t := range r.threads {
		switch {
		case t == nil:
		case t.ended && t.idle() && t != r.schedule.turn:
			r.threads[i] = nil // it will not run again
		default:
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

// idle reports whether nothing happened in the epoch.
func (t *threadRec) idle() bool { return t.blocks == 0 && t.events == 0 }

// inParallel is the memory of an epoch, in bytes, above which several goroutines build
// and compress its blocks.
const inParallel = 4 << 20

// writeThreads writes the control flow and the addresses of threads.
func (r *Recorder) writeThreads(active []*threadRec) error {
	large := r.mem >= inParallel
	var parts []tracefmt.Part
	for _, t := range active {
		if r.paths.named {
			if err := t.writeFlow(); err != nil {
				return err
			}
		} else {
			parts = append(parts, tracefmt.Part{Kind: tracefmt.KindControl, Thread: uint32(t.id), Payload: func() []byte {
				return format.EncodeControl(t.base, t.terms.terms, t.control.Grammar())
			}})
		}
		if t.finishStreams() {
			parts = append(parts, tracefmt.Part{Kind: tracefmt.KindData, Thread: uint32(t.id), Payload: func() []byte {
				return format.EncodeData(t.addrs.terms, t.addrStreams())
			}})
		}
		if !large || r.paths.named {
			if err := r.appendParts(parts); err != nil {
				return err
			}
			parts = parts[:0]
		}
	}
	return r.w.AppendAll(parts)
}

// appendParts writes blocks one after another.
func (r *Recorder) appendParts(parts []tracefmt.Part) error {
	for _, p := range parts {
		if err := r.w.Append(p.Kind, p.Thread, p.Payload()); err != nil {
			return err
		}
	}
	return nil
}

// finishStreams ends the open runs. It reports whether any address was recorded. Accesses
// left out at the end need no terminal.
func (t *threadRec) finishStreams() (found bool) {
	for _, s := range t.used {
		s.skip = 0
		var out [2]format.AddrTerm
		n := s.flush(&out)
		t.pushAddr(s, out[:n])
		found = found || s.begun
	}
	t.rec.feed.drain()
	return found
}

// addrStreams returns the streams that are not empty, by site.
func (t *threadRec) addrStreams() []format.AddrStream {
	streams := make([]format.AddrStream, 0, len(t.used))
	for _, s := range t.used {
		if s.begun {
			streams = append(streams, format.AddrStream{Site: s.site, First: s.first, Lead: s.lead, Grammar: s.b.Grammar()})
		}
	}
	slices.SortFunc(streams, func(a, b format.AddrStream) int { return cmp.Compare(a.Site, b.Site) })
	return streams
}

// counts returns what the thread did in the epoch.
func (t *threadRec) counts() format.Counts {
	return format.Counts{Thread: t.id, Insts: t.insts, Blocks: t.blocks, Accesses: t.accesses, Recorded: t.recorded, Events: t.events}
}
