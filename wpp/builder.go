package wpp

import "unsafe"

// The arena. A rule is a ring of nodes around a guard, and is named by the index of its
// guard: the symbol of its uses is ruleBit|guard. Index 0 is not a node; index 1 is the
// guard of the start rule.
//
// The symbol of a guard is guardBits|uses, so that one test recognises a guard and no
// table of rules is needed.
type node struct {
	sym, prev, next uint32
}

const (
	guardBits  = 3 << 30
	startGuard = 1
	maxNodes   = 1 << 30

	nodeBytes = uint64(unsafe.Sizeof(node{}))
	// slotBytes is what a slot of the index counts in [Builder.Size]. It is half of the
	// slot's memory. Recordings end their epochs by Size, so another number would change
	// the bytes of traces.
	slotBytes   = 4
	inlineLen   = 8  // symbols held before the first arena is allocated
	firstNodes  = 20 // capacity of the first arena
	firstDigram = 16 // slots of the first digram table
)

// Builder maintains the Sequitur grammar of a string that grows at its end.
//
// The zero value is an empty string, ready to use. It takes about a hundred bytes,
// because the first few terminals are kept in the Builder itself and an arena is
// allocated only when they outgrow it.
type Builder struct {
	nodes  []node
	digram digrams
	length uint64 // terminals appended
	free   uint32 // list of free nodes, linked by next
	live   uint32 // symbols in rule bodies, without guards
	rules  uint32 // rules without the start rule
	inline [inlineLen]uint32
}

// Append adds a terminal to the end of the string. It panics when t exceeds
// [MaxTerminal], or when the arena would exceed 2^30 nodes (12 GiB; see [Builder.Size]).
//
// Amortised time is constant.
func (b *Builder) Append(t Terminal) {
	if t > MaxTerminal {
		panic("wpp: terminal out of range")
	}
	b.length++
	if b.nodes == nil {
		if b.length <= inlineLen {
			b.inline[b.length-1] = uint32(t)
			return
		}
		b.spill()
	}
	b.push(uint32(t))
}

// Reset makes the string empty and keeps the arena for the next one.
func (b *Builder) Reset() {
	b.length, b.free, b.live, b.rules = 0, 0, 0, 0
	b.digram.clear()
	if b.nodes != nil {
		b.nodes = b.nodes[:0]
		b.start()
	}
}

// Len returns the number of terminals appended: the length of the string.
func (b *Builder) Len() uint64 { return b.length }

// Symbols returns the number of symbols in the bodies of all rules: the size of the
// grammar. For the first few terminals, before rules are formed, it is the length of the
// string.
func (b *Builder) Symbols() int {
	if b.nodes == nil {
		return int(b.length)
	}
	return int(b.live)
}

// Rules returns the number of rules, including the start rule.
func (b *Builder) Rules() int { return int(b.rules) + 1 }

// Size returns the memory that the builder holds, in bytes, including itself. A slot of
// the index counts slotBytes.
func (b *Builder) Size() uint64 {
	return uint64(unsafe.Sizeof(*b)) + uint64(cap(b.nodes))*nodeBytes + uint64(cap(b.digram.slots))*slotBytes
}

// start creates the empty start rule.
func (b *Builder) start() {
	b.nodes = append(b.nodes, node{}, node{guardBits, startGuard, startGuard})
}

// spill allocates the arena and appends the terminals that were kept inline.
func (b *Builder) spill() {
	b.nodes = make([]node, 0, firstNodes)
	b.start()
	for _, s := range b.inline {
		b.push(s)
	}
}

// push appends a symbol to the start rule and restores both invariants.
func (b *Builder) push(sym uint32) {
	y := b.alloc(sym)
	last := b.nodes[startGuard].prev
	b.link(last, y)
	b.link(y, startGuard)
	b.live++
	if last != startGuard {
		b.check(last)
	}
}

// alloc returns a node from the free list or the end of the arena.
func (b *Builder) alloc(sym uint32) uint32 {
	if i := b.free; i != 0 {
		n := &b.nodes[i]
		b.free = n.next
		*n = node{sym: sym}
		return i
	}
	if len(b.nodes) >= maxNodes {
		panic("wpp: grammar too large")
	}
	b.nodes = append(b.nodes, node{sym: sym})
	return uint32(len(b.nodes) - 1)
}

func (b *Builder) release(i uint32) {
	b.nodes[i] = node{sym: guardBits, next: b.free}
	b.free = i
}

func (b *Builder) link(left, right uint32) {
	b.nodes[left].next = right
	b.nodes[right].prev = left
}

func (b *Builder) isGuard(i uint32) bool { return b.nodes[i].sym >= guardBits }

// isUse reports whether sym is the use of a rule. Guards and terminals are not.
func isUse(sym uint32) bool { return sym >= ruleBit }

func guardOf(sym uint32) uint32 { return sym &^ ruleBit }

func (b *Builder) uses(guard uint32) uint32 { return b.nodes[guard].sym &^ guardBits }

// use returns a node with a copy of sym. If sym uses a rule, it counts that use.
func (b *Builder) use(sym uint32) uint32 {
	if isUse(sym) {
		b.nodes[guardOf(sym)].sym++
	}
	return b.alloc(sym)
}

// check restores digram uniqueness for the pair that begins at i. It reports whether the
// pair was already in the index, or overlaps the one that is.
func (b *Builder) check(i uint32) bool {
	if b.isGuard(i) || b.isGuard(b.nodes[i].next) {
		return false
	}
	m := b.digram.findOrAdd(b.nodes, i)
	if m == 0 {
		return false
	}
	if b.nodes[m].next != i {
		b.match(i, m)
	}
	return true
}

// match replaces two equal pairs, at i (the newer) and at m, by a rule.
func (b *Builder) match(i, m uint32) {
	before, after := b.nodes[m].prev, b.nodes[b.nodes[m].next].next
	var r uint32
	if before == after && b.isGuard(before) {
		// The older pair is the whole body of a rule: use that rule.
		r = before
		b.substitute(i, r, false)
	} else if b.extend(i, m) {
		return
	} else {
		x := b.use(b.nodes[i].sym)
		y := b.use(b.nodes[b.nodes[i].next].sym)
		r = b.alloc(guardBits)
		b.link(r, x)
		b.link(x, y)
		b.link(y, r)
		b.rules++
		b.live += 2
		b.substitute(m, r, true)
		b.substitute(i, r, true) // in aaaa the first step has put i into the index
		b.digram.set(b.nodes, b.nodes[r].next)
	}
	// Rule utility: the first symbol of r may have lost all its other uses.
	first := b.nodes[r].next
	if sym := b.nodes[first].sym; isUse(sym) && b.uses(guardOf(sym)) == 1 {
		b.expand(first)
	}
}

// extend is match for a common step: a repeated part grows by one symbol. The pair is X
// c, at the end of the string and at one earlier place, and these are the only uses of X.
// match would make a new rule X c, expand X in it and delete
// X. Moving c to the end of X leads to the same grammar at a fraction of the
// cost. It reports whether it did so.
func (b *Builder) extend(i, m uint32) bool {
	sym := b.nodes[i].sym
	if !isUse(sym) || b.uses(guardOf(sym)) != 2 {
		return false
	}
	second, moved := b.nodes[i].next, b.nodes[m].next
	next := b.nodes[moved].next
	if b.nodes[second].next != startGuard || next == i {
		return false
	}
	// Runs of equal symbols around the pairs move entries of the index. Leave them to
	// match.
	before := b.nodes[b.nodes[m].prev].sym
	c := b.nodes[moved].sym
	if before == c || before == b.nodes[next].sym || b.nodes[b.nodes[i].prev].sym == c {
		return false
	}
	b.unuse(c)
	b.release(second)
	b.link(i, startGuard)
	b.digram.remove(b.nodes, m)
	b.forget(moved)
	if b.nodes[next].sym == c && b.nodes[b.nodes[next].next].sym == c {
		b.digram.set(b.nodes, next) // the run continues after the pair
	}
	b.link(m, next)
	guard := guardOf(sym)
	last := b.nodes[guard].prev
	b.link(last, moved)
	b.link(moved, guard)
	b.digram.set(b.nodes, last)
	b.live--
	b.check(m)
	return true
}

// substitute replaces the pair that begins at i by a use of rule r, and checks the two
// new pairs. indexed says whether the index may hold the pair at this place.
//
// In a run of three equal symbols only one of the two overlapping pairs is in the index.
// When that one is removed, the other must take its place. The steps are those of the
// published algorithm, which deletes the two symbols one after the other and inserts the
// third, but without the links between these steps.
func (b *Builder) substitute(i, r uint32, indexed bool) {
	first := &b.nodes[i]
	q, second := first.prev, first.next
	n := b.nodes[second].next
	si, ss, sn := first.sym, b.nodes[second].sym, b.nodes[n].sym
	sq, qp := b.nodes[q].sym, b.nodes[q].prev
	double := sq < guardBits && b.nodes[qp].sym == sq // two q in a row

	if indexed {
		b.digram.remove(b.nodes, i)
	}
	if sq < guardBits {
		b.digram.remove(b.nodes, q)
	}
	if si == ss && ss == sn {
		b.digram.set(b.nodes, second)
	}
	if double && sq == si {
		b.digram.set(b.nodes, qp)
	}
	if sn < guardBits {
		b.digram.remove(b.nodes, second)
		if ss == sn && sn == b.nodes[b.nodes[n].next].sym {
			b.digram.set(b.nodes, n)
		}
	}
	if double && (sq == ss || sq == sn) {
		b.digram.set(b.nodes, qp)
	}

	b.unuse(si)
	b.unuse(ss)
	b.nodes[r].sym++
	b.release(second)
	b.nodes[i].sym = r | ruleBit
	b.link(i, n)
	b.live--
	if !b.check(q) {
		b.check(i)
	}
}

// unuse decrements the uses of the rule of a symbol.
func (b *Builder) unuse(sym uint32) {
	if isUse(sym) {
		b.nodes[guardOf(sym)].sym--
	}
}

// forget removes the pair that begins at i from the index, if the index has it at this
// place.
func (b *Builder) forget(i uint32) {
	if b.isGuard(i) || b.isGuard(b.nodes[i].next) {
		return
	}
	b.digram.remove(b.nodes, i)
}

// expand replaces the only use of a rule by the rule's body. The use is the first
// symbol of the rule that contains it.
func (b *Builder) expand(i uint32) {
	guard := guardOf(b.nodes[i].sym)
	left, right := b.nodes[i].prev, b.nodes[i].next
	first, last := b.nodes[guard].next, b.nodes[guard].prev
	b.forget(i)
	b.release(i)
	b.release(guard)
	b.link(left, first)
	b.link(last, right)
	b.digram.set(b.nodes, last)
	b.rules--
	b.live--
}
