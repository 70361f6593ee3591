package recorder

import (
	"hindsight/cdr/format"
	"hindsight/tracefmt/event"
	"hindsight/wpp"
	"hindsight/wpp/cfg"
)

// threadRec is the recording of one thread in the open epoch, and what continues
// into the next.
type threadRec struct {
	id  event.ThreadID
	rec *Recorder

	path cfg.Follower
	// The run of equal paths that precedes the path being followed.
	same  cfg.Path
	times uint64 // 0: no run

	// The call stack. pending means that a return happened whose target is not known yet;
	// the file's stack has already lost the top frame.
	stack   event.CallStack
	pending bool
	base    []uint64 // the stack when the epoch began

	flow    *flowRec // with ControlAPP, in place of control; nil until something happens
	away    bool     // since the last mark or block, code that is not recorded changed the stack
	kept    bool     // away only because an event returned, which a reader follows too if a block comes next
	settle  bool     // away while the reader still waits for the target of a return
	seen    []uint64 // away: the stack as a reader sees it
	control grammar
	terms   dictionary[format.Term]
	once    []uint32 // terminal + 1 of a single run of a path

	streams []*stream // by site, nil: not accessed in this epoch
	used    []*stream // in order of first access
	addrs   dictionary[format.AddrTerm]
	symbols int // of the streams' grammars, without the terminals in the feed
	most    int // the larger of symbols and the symbols of the control string

	insts, blocks, accesses, recorded, events uint64 // in this epoch
	// Accesses that the schedule does not cover yet: loose in earlier epochs, and in this
	// epoch those from toldTo on.
	loose, toldTo uint64
	ended         bool // ThreadEnd happened
}

// step follows one block of the simulator. See [paths] for where paths end.
func (t *threadRec) step(id uint32) {
	b := &t.rec.paths.sims[id]
	if t.pending { // no path is open
		t.resolve(b.pc)
	}
	if ended, cut := t.path.Enter(b.step); cut {
		t.emit(ended)
	}
	for i := range b.step.Cuts() {
		t.emit(t.path.Cut(i))
	}
	if !b.ends {
		return
	}
	if ended, ok := t.path.End(); ok {
		t.emit(ended)
	}
	switch b.end {
	case event.EndCall, event.EndCallInd:
		t.call(b.next)
	case event.EndReturn:
		t.pending = true
	}
}

func (t *threadRec) call(ret uint64) {
	if len(t.stack.Frames) >= format.MaxStack {
		t.flushRun()
		t.append(format.Term{Kind: format.TermPop, A: uint64(len(t.stack.Frames))})
		t.stack.Frames = t.stack.Frames[:0]
		t.append(format.Term{Kind: format.TermPush, A: ret})
	}
	t.stack.Call(ret)
}

// emit adds a completed path: it lengthens the open run or begins another.
func (t *threadRec) emit(path cfg.Path) {
	if path == t.same && t.times-1 < format.MaxRun-1 {
		t.times++
		return
	}
	t.flushRun()
	t.same, t.times = path, 1
}

// endPath ends the path that is being followed, if there is one.
func (t *threadRec) endPath() {
	if ended, ok := t.path.End(); ok {
		t.emit(ended)
	}
	t.flushRun()
}

// flushRun appends the open run of a path to the string.
func (t *threadRec) flushRun() {
	if t.times == 0 {
		return
	}
	id, added, ok := t.rec.paths.id(t.same)
	if added != 0 {
		t.rec.grow(added)
	}
	times := t.times
	t.times = 0
	if ok {
		t.appendPath(id, times)
		return
	}
	blocks := t.rec.paths.blocksOf(nil, t.same)
	for range times {
		for _, b := range blocks {
			id, _, _ := t.rec.paths.id(cfg.Path{Block: b})
			t.appendPath(id, 1)
		}
	}
}

func (t *threadRec) appendPath(id format.PathID, times uint64) {
	if times != 1 {
		t.append(format.Term{Kind: format.TermPath, A: uint64(id), B: times})
		return
	}
	if n := int(id) + 1 - len(t.once); n > 0 {
		t.once = append(t.once, make([]uint32, n)...)
		t.rec.grow(4 * uint64(n))
	}
	if t.once[id] == 0 {
		t.once[id] = uint32(t.intern(format.Term{Kind: format.TermPath, A: uint64(id), B: 1})) + 1
	}
	t.push(wpp.Terminal(t.once[id] - 1))
}

// resolve follows a return whose target has become known. The terminal that returned pops
// one frame; if the return did anything else, resolve adds a correction.
func (t *threadRec) resolve(target uint64) {
	t.pending = false
	depth := len(t.stack.Frames)
	if depth == 0 {
		return // popping an empty stack does nothing, here and in the reader
	}
	top := t.stack.Frames[depth-1]
	switch n := t.stack.Return(target); {
	case n == 0: // no frame expects it, so the stack stays as it was
		t.flushRun()
		t.append(format.Term{Kind: format.TermPush, A: top})
	case n > 1:
		t.flushRun()
		t.append(format.Term{Kind: format.TermPop, A: uint64(n - 1)})
	}
}

// unwound keeps only the keep outermost frames of the stack, as the preceding return or
// jump did.
func (t *threadRec) unwound(keep uint64) {
	if t.rec.opts.Meta.Mode == format.ModeDOR {
		return
	}
	all, seen := t.stack.Frames, len(t.frames())
	t.pending = false
	left := int(min(keep, uint64(len(all))))
	switch {
	case left < seen:
		t.append(format.Term{Kind: format.TermPop, A: uint64(seen - left)})
	case left > seen:
		t.append(format.Term{Kind: format.TermPush, A: all[left-1]})
	}
	t.stack.Frames = all[:left]
}

// rewound restores a frame that a return had popped.
func (t *threadRec) rewound(ret uint64) {
	if t.rec.opts.Meta.Mode == format.ModeDOR || len(t.stack.Frames) >= format.MaxStack {
		return
	}
	t.append(format.Term{Kind: format.TermPush, A: ret})
	t.stack.Call(ret)
}

// syncPoint appends an ordered event to the string. The path before it has ended.
func (t *threadRec) syncPoint(e *event.Event) {
	returns := e.Mode&event.Returns != 0
	t.append(format.SyncTerm(e.PC, e.Kind, returns))
	if !returns || t.rec.opts.Meta.Mode == format.ModeDOR {
		return
	}
	if t.pending && len(t.stack.Frames) > 0 { // two returns in a row without a block between them
		t.stack.Frames = t.stack.Frames[:len(t.stack.Frames)-1]
	}
	t.pending = true
}

// frames returns the stack as a reader that folds the terminals so far sees it.
func (t *threadRec) frames() []uint64 {
	f := t.stack.Frames
	if t.pending && len(f) > 0 {
		f = f[:len(f)-1]
	}
	return f
}

// append adds a terminal to the string. A flow contains only paths and marks; the other
// terminals follow from them.
func (t *threadRec) append(x format.Term) {
	if t.flow == nil {
		t.push(t.intern(x))
	}
}

func (t *threadRec) intern(x format.Term) wpp.Terminal {
	id, isNew := t.terms.id(x, hashOf(x.A, x.B<<2|uint64(x.Kind)))
	if isNew {
		t.rec.grow(format.TermBytes)
	}
	return id
}

func (t *threadRec) push(id wpp.Terminal) { t.feed(&t.control, id) }

// access records the addresses of one block's sites.
func (t *threadRec) access(sites []format.SiteID, addrs []uint64) {
	keep := t.rec.opts.Keep
	for i, id := range sites {
		addr := addrs[i]
		if int(id) >= len(t.streams) || t.streams[id] == nil {
			t.newStream(id)
		}
		s := t.streams[id]
		if keep != nil && !kept(keep, addr, t.rec.sites[id].Size) {
			s.leaveOut()
			continue
		}
		t.recorded++
		if d := int64(addr - s.last); d == s.diff && s.count > 0 && s.skip == 0 {
			s.count++
			s.last = addr
			continue
		}
		var out [2]format.AddrTerm
		n := s.add(addr, &out)
		t.pushAddr(s, out[:n])
	}
}

func kept(keep func(uint64) bool, addr uint64, size uint8) bool {
	first, last := addr>>3, (addr+uint64(size)-1)>>3
	return keep(first) || last != first && keep(last)
}

func (t *threadRec) pushAddr(s *stream, terms []format.AddrTerm) {
	for _, x := range terms {
		id, isNew := t.addrs.id(x, hashOf(uint64(x.Diff), x.Count))
		if isNew {
			t.rec.grow(format.TermBytes)
		}
		t.feed(&s.b, id)
	}
}

func (t *threadRec) newStream(id format.SiteID) {
	if n := int(id) + 1 - len(t.streams); n > 0 {
		t.streams = append(t.streams, make([]*stream, n)...)
		t.rec.grow(8 * uint64(n))
	}
	s := t.rec.newStream()
	s.site = id
	t.streams[id] = s
	t.used = append(t.used, s)
	t.rec.grow(format.StreamBytes)
}

// accessString appends accesses to the single string of the thread (mode DOR).
func (t *threadRec) accessString(sites []format.SiteID, addrs []uint64) {
	keep := t.rec.opts.Keep
	for i, id := range sites {
		s := t.rec.sites[id]
		if keep != nil && !kept(keep, addrs[i], s.Size) {
			continue
		}
		t.recorded++
		t.append(format.AccessTerm(addrs[i], s.Access, s.Size))
	}
}

// reset clears what belongs to the epoch that was just written.
func (t *threadRec) reset() {
	t.base = append(t.base[:0], t.frames()...)
	t.control, t.flow, t.away = grammar{}, nil, false
	t.terms, t.once = dictionary[format.Term]{}, nil
	t.streams, t.used = nil, nil
	t.addrs, t.symbols, t.most = dictionary[format.AddrTerm]{}, 0, 0
	t.loose, t.toldTo = t.sinceEvent(), 0
	t.insts, t.blocks, t.accesses, t.recorded, t.events = 0, 0, 0, 0, 0
}
