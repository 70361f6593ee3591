package slicetest

import (
	"fmt"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// writers has the last writer of each byte of memory: index into Log.stmts + 1.
type writers map[uint64]*[pageBytes]int

const pageBytes = 1 << 12

func (w writers) at(addr uint64) int {
	if p := w[addr/pageBytes]; p != nil {
		return p[addr%pageBytes]
	}
	return 0
}

func (w writers) set(addr, n uint64, who int) {
	for ; n > 0; addr, n = addr+1, n-1 {
		p := w[addr/pageBytes]
		if p == nil {
			if who == 0 {
				skip := min(n, pageBytes-addr%pageBytes) - 1
				addr, n = addr+skip, n-skip
				continue
			}
			p = new([pageBytes]int)
			w[addr/pageBytes] = p
		}
		p[addr%pageBytes] = who
	}
}

// add adds to s a dependence on statement who-1, once; nothing when who is 0.
func (s *Statement) add(kind wet.DepKind, reg uint8, who int) {
	if who == 0 {
		return
	}
	d := Dep{kind, reg, who - 1}
	for _, old := range s.Deps {
		if old == d {
			return
		}
	}
	s.Deps = append(s.Deps, d)
}

func (l *Log) useReg(t *thread, s *Statement, reg uint8) {
	if reg != 0 && reg < 64 {
		s.add(wet.DepRegister, reg, t.writers[reg])
	}
}

func (l *Log) useBytes(s *Statement, addr, n uint64) {
	kind := wet.DepMemory
	if addr >= event.SyncBase {
		kind = wet.DepSync
	}
	for k := range n {
		s.add(kind, 0, l.memory.at(addr+k))
	}
}

// callArgs returns the arguments that an environment call takes which t is about to make,
// as a set.
func (l *Log) callArgs(t *thread) uint64 {
	var args [6]uint64
	for n := range args {
		args[n] = l.held(t, 10+uint8(n))
	}
	return uint64(l.takes(l.held(t, 17), args))
}

// held returns the content of a register.
func (l *Log) held(t *thread, reg uint8) (v uint64) {
	who := t.writers[reg]
	if who == 0 {
		return 0
	}
	s := &l.stmts[who-1]
	for _, r := range s.Regs {
		if r.Reg == reg {
			v = r.Value
		}
	}
	if s.Kind == wet.NodePath && s.Inst.Op != rv.OpECALL {
		v = s.Value
	}
	return v
}

// block walks over an executed block.
func (l *Log) block(t *thread, b *block, values, addrs []uint64) error {
	if t.returns {
		n := t.stack.Return(b.PC)
		t.frames = t.frames[:len(t.frames)-n]
		t.returns = false
	}
	t.last = 0
	l.begin(t, b.node)
	pc, next := b.PC, 0
	for k, i := range b.insts {
		if next < len(b.parts) && b.parts[next].first == k {
			t.control = l.decider(t, &b.parts[next])
			next++
		}
		s := l.append(t, Statement{PC: pc, Kind: wet.NodePath, Inst: i, Block: b.parts[next-1].static, Known: b.parts[next-1].known})
		s.add(wet.DepControl, 0, t.control)
		if err := l.instruction(t, s, k == len(b.insts)-1 && b.End == event.EndAtomic, &values, &addrs); err != nil {
			return err
		}
		if p := &b.parts[next-1]; p.final == k {
			t.frames[len(t.frames)-1].finals[p.static] = len(l.stmts)
		}
		pc += uint64(i.Len)
	}
	switch b.End {
	case event.EndCall, event.EndCallInd:
		t.stack.Call(b.Next())
		t.frames = append(t.frames, l.frame(len(l.stmts)))
	case event.EndReturn:
		t.returns = true
	case event.EndSyscall:
		t.lastCall = len(l.stmts)
	}
	return nil
}

// decider finds what a static block that is about to run depends on.
func (l *Log) decider(t *thread, p *part) int {
	f := &t.frames[len(t.frames)-1]
	latest := 0
	for _, d := range p.deciders {
		latest = max(latest, f.finals[d])
	}
	if latest == 0 {
		return f.maker
	}
	return latest
}

// instruction walks over one instruction.
func (l *Log) instruction(t *thread, s *Statement, atomic bool, values, addrs *[]uint64) error {
	i := s.Inst
	who := len(l.stmts)
	access, size, plain := i.Mem()
	take := func(from *[]uint64) (v uint64) {
		v, *from = (*from)[0], (*from)[1:]
		return v
	}
	switch {
	case atomic:
		s.Addr, s.Size = take(values), size
		if !plain {
			s.Size = i.AtomicSize()
		}
	case plain:
		s.Addr, s.Size = take(addrs), size
	}
	uses := i.Uses().Regs
	if i.Op == rv.OpECALL {
		uses = 1<<17 | l.callArgs(t)<<10
	}
	for r := range uint8(64) {
		if uses>>r&1 != 0 {
			l.useReg(t, s, r)
		}
	}
	conditional := i.Op == rv.OpSCW || i.Op == rv.OpSCD
	loadReserved := i.Op == rv.OpLRW || i.Op == rv.OpLRD
	if s.Size > 0 && !conditional && (!plain || access == event.Read) {
		l.useBytes(s, s.Addr, uint64(s.Size))
	}
	failed := false
	switch v, static := i.Static(s.PC); {
	case conditional && atomic:
		v = take(values)
		failed = v != 0
		s.Value, s.HasValue = v, true
	case static:
		s.Value, s.HasValue = v, true
	case i.Valued():
		s.Value, s.HasValue = take(values), true
	}
	if conditional && !atomic {
		return fmt.Errorf("slicetest: store-conditional at %#x in the middle of a block", s.PC)
	}
	s.Stores = s.Size > 0 && !failed && !loadReserved && (!plain || access == event.Write)
	if s.Stores {
		l.memory.set(s.Addr, uint64(s.Size), who)
	}
	defs := i.Defs().Regs
	for r := range 64 {
		if defs>>r&1 != 0 {
			t.writers[r] = who
		}
	}
	return nil
}

// effect applies what happened outside.
func (l *Log) effect(t *thread, e event.Effect) error {
	switch e.Kind {
	case event.EffectFresh:
		l.memory.set(e.Addr, e.Arg, 0)
		return nil
	case event.EffectMoved:
		for n := range e.Arg {
			l.memory.set(e.Addr+n, 1, l.memory.at(e.PC+n))
		}
		l.memory.set(e.PC, e.Arg, 0)
		return nil
	case event.EffectSyscall:
		t.last = t.lastCall
		return nil
	case event.EffectStart, event.EffectCall, event.EffectSignal, event.EffectRuntime:
		l.open(t, e)
		return nil
	case event.EffectTake, event.EffectKeep, event.EffectPass:
		l.carry(t, e)
		return nil
	}
	if e.Kind == event.EffectReg {
		l.received(t, e.Reg, e.Arg)
		return nil
	}
	if t.last == 0 {
		return nil
	}
	s := &l.stmts[t.last-1]
	switch e.Kind {
	case event.EffectRead:
		l.useBytes(s, e.Addr, e.Arg)
		s.Reads = append(s.Reads, Range{e.Addr, e.Arg})
	case event.EffectWrote:
		l.memory.set(e.Addr, e.Arg, t.last)
		s.Wrote = append(s.Wrote, Range{e.Addr, e.Arg})
	default:
		return fmt.Errorf("slicetest: effect of kind %d", e.Kind)
	}
	return nil
}

// received records that a register received a value from the open group.
func (l *Log) received(t *thread, reg uint8, value uint64) {
	t.writers[reg] = t.last
	if t.last == 0 {
		return
	}
	s := &l.stmts[t.last-1]
	s.Regs = append(s.Regs, Reg{reg, value})
	if reg == 10 && (s.Kind == wet.NodePath || s.Kind == wet.NodeCall) {
		s.Value, s.HasValue = value, true
	}
}

// open begins an outside statement.
func (l *Log) open(t *thread, e event.Effect) {
	key := outside{kind: wet.NodeStart}
	switch e.Kind {
	case event.EffectCall:
		key = outside{wet.NodeCall, e.PC, e.Addr, uint8(min(e.Arg, 8))}
		t.returns = true
	case event.EffectRuntime:
		key = outside{wet.NodeCall, e.PC, e.Addr, uint8(min(e.Arg, 8))}
	case event.EffectSignal:
		key.kind = wet.NodeSignal
	}
	id, ok := l.outside[key]
	if !ok {
		id = wet.NodeID(len(l.nodes))
		l.outside[key] = id
		l.nodes = append(l.nodes, wet.Node{Kind: key.kind, Callee: key.callee, Args: key.args, Stmts: []wet.Stmt{{PC: key.pc}}})
	}
	l.begin(t, id)
	s := l.append(t, Statement{PC: key.pc, Kind: key.kind})
	t.last = len(l.stmts)
	if key.kind == wet.NodeStart {
		t.control = 0
	}
	s.add(wet.DepControl, 0, t.control)
	for r := range key.args {
		l.useReg(t, s, 10+r)
	}
}

// carry applies what unrecorded code copies.
func (l *Log) carry(t *thread, e event.Effect) {
	slot := &t.slots[e.Slot]
	switch {
	case e.Kind == event.EffectTake && e.Arg == 0:
		for n := range slot {
			slot[n] = t.writers[e.Addr]
		}
	case e.Kind == event.EffectTake:
		for n := range slot {
			slot[n] = l.memory.at(e.Addr + min(uint64(n), e.Arg-1))
		}
	case e.Kind == event.EffectKeep:
		for n := range e.Arg {
			l.memory.set(e.Addr+n, 1, slot[n])
		}
	default:
		same := slot[0] != 0 && l.held(t, e.Reg) == e.Arg
		for _, who := range slot {
			same = same && who == t.writers[e.Reg]
		}
		if same {
			return
		}
		group := t.last
		if e.Apart {
			l.open(t, event.Effect{Kind: event.EffectSignal})
		}
		if t.last != 0 {
			for _, who := range slot {
				l.stmts[t.last-1].add(wet.DepMemory, 0, who)
			}
		}
		l.received(t, e.Reg, e.Arg)
		t.last = group
	}
}
