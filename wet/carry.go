package wet

import "hindsight/tracefmt/event"

// What unrecorded code copies keeps the writer of the original: a load of the copy
// depends on the store of the original. The value of such a load is stored, because it
// cannot be derived from what the writer left.

// slots hold what a thread copies, with the writer of each byte.
type slots [event.Slots][8]cell

// carry applies an effect that copies.
func (b *Builder) carry(t *thread, e *event.Effect) {
	if t.slots == nil {
		t.slots = new(slots)
	}
	s := &t.slots[e.Slot%event.Slots]
	switch {
	case e.Kind == event.EffectPass:
		b.pass(t, e, s)
	case e.Kind == event.EffectKeep:
		b.shadow.put(e.Addr, min(e.Arg, 8), s)
	case e.Arg == 0:
		b.takeReg(t, uint8(e.Addr&63), s)
	default:
		b.shadow.get(e.Addr, min(e.Arg, 8), s)
	}
}

// takeReg copies the statement that defined a register to a slot.
func (b *Builder) takeReg(t *thread, r uint8, s *[8]cell) {
	d := &t.regs[r]
	c := cell{}
	if d.src != 0 {
		c = cell{d.src, markOf(d.k, unknown, 1)}
		if d.out != nil {
			b.threadNode(t, d.src.node())
			b.use(d.out, d.k, d.value)
		}
	}
	for i := range s {
		s[i] = c
	}
}

// pass gives a register the value of a slot. A register that already has it, from the
// same statement, keeps it.
func (b *Builder) pass(t *thread, e *event.Effect, s *[8]cell) {
	r := e.Reg & 63
	if d := &t.regs[r]; d.src != 0 && d.value == e.Arg && *s == [8]cell{s[0], s[0], s[0], s[0], s[0], s[0], s[0], s[0]} &&
		s[0].same(cell{src: d.src, mark: markOf(d.k, 0, 1)}) {
		return
	}
	group, ran := t.group, t.groupRan
	if e.Apart {
		b.happen(t, outsideKey{kind: NodeSignal})
	}
	if t.group.src != 0 {
		seen := map[ref]bool{}
		for _, c := range s {
			b.readsFrom(t, c, DepMemory, seen)
		}
	}
	b.setReg(t, r, e.Arg)
	t.group, t.groupRan = group, ran
}

// get returns the writers of up to 8 bytes. Bytes after the last have the writer of the
// last one.
func (s *shadow) get(addr, size uint64, to *[8]cell) {
	var by producers
	s.read(addr, size, &by)
	*to = [8]cell{}
	for i, c := range by.cells[:by.n] {
		c.mark = markOf(c.mark.k(), unknown, 1)
		bytes := by.parts[i] >> 4
		if by.parts[i] == 0 {
			bytes = 1<<size - 1
		}
		for n := range size {
			if bytes>>n&1 != 0 {
				to[n] = c
			}
		}
	}
	for n := size; n < 8; n++ {
		to[n] = to[size-1]
	}
}

// put sets the writers of up to 8 bytes.
func (s *shadow) put(addr, size uint64, from *[8]cell) {
	for at := uint64(0); at < size; {
		n := at + 1
		for n < size && from[n] == from[at] {
			n++
		}
		s.write(addr+at, n-at, from[at])
		at = n
	}
}
