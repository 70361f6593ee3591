package wpp

import "math/bits"

// recency is a list of rules in order of their latest use, in which a rule is
// found by how many others were used after it, and the other way round, in
// logarithmic time: a Fenwick tree over slots of time, one for each use that
// will come.
//
// A rule leaves the list with its last use, so that the list stays short and
// the numbers small: half of all rules are used twice only.
type recency struct {
	tree []uint32 // tree[i] counts the live slots in (i - lowest bit of i, i]
	rule []Rule   // of each slot
	slot []uint32 // of each rule, from 1
	left []uint32 // uses of each rule that are still to come
	next uint32   // slots given out
	live uint32   // rules in the list
}

// reset makes the list empty, for rules with the given uses in all, and with
// their sum.
func (l *recency) reset(uses []uint32, sum uint64) {
	l.left = uses
	l.next, l.live = 0, 0
	l.tree = append(l.tree[:0], make([]uint32, sum+1)...)
	l.rule = append(l.rule[:0], make([]Rule, sum+1)...)
	l.slot = append(l.slot[:0], make([]uint32, len(uses))...)
}

// used counts a use of r and puts it to the end of the list if more will come.
// Its first use is when it is finished.
func (l *recency) used(r Rule) {
	if s := l.slot[r]; s != 0 {
		l.add(s, ^uint32(0))
		l.live--
	}
	l.left[r]--
	if l.left[r] == 0 {
		return
	}
	l.next++
	l.slot[r], l.rule[l.next] = l.next, r
	l.add(l.next, 1)
	l.live++
}

func (l *recency) add(slot, delta uint32) {
	for i := slot; i < uint32(len(l.tree)); i += i & -i {
		l.tree[i] += delta
	}
}

// distance is the number of rules in the list after r, which is in it.
func (l *recency) distance(r Rule) uint32 {
	before := uint32(0)
	for i := l.slot[r]; i > 0; i -= i & -i {
		before += l.tree[i]
	}
	return l.live - before
}

// at is the rule that has distance others after it; the list is longer than
// that.
func (l *recency) at(distance uint32) Rule {
	rank := l.live - distance // counted from 1
	slot := uint32(0)
	for step := uint32(1) << (bits.Len(uint(len(l.tree))) - 1); step > 0; step >>= 1 {
		if i := slot + step; i < uint32(len(l.tree)) && l.tree[i] < rank {
			slot = i
			rank -= l.tree[i]
		}
	}
	return l.rule[slot+1]
}
