package wpp

import "math/bits"

// recency is a list of rules in the order of their latest use. It finds a rule by the
// number of rules used since, and the other way round, in logarithmic time. It is a
// Fenwick tree over slots of time, one for each use to come.
//
// A rule leaves the list with its last use. That keeps the list short and the numbers
// small, because half of all rules are used only twice.
type recency struct {
	tree []uint32 // tree[i] counts the live slots in (i - lowest bit of i, i]
	rule []Rule   // of each slot
	slot []uint32 // of each rule, from 1
	left []uint32 // remaining uses of each rule
	next uint32   // number of slots used
	live uint32   // rules in the list
}

// reset empties the list, for rules with the given numbers of uses and the sum of these.
func (l *recency) reset(uses []uint32, sum uint64) {
	l.left = uses
	l.next, l.live = 0, 0
	l.tree = append(l.tree[:0], make([]uint32, sum+1)...)
	l.rule = append(l.rule[:0], make([]Rule, sum+1)...)
	l.slot = append(l.slot[:0], make([]uint32, len(uses))...)
}

// used counts a use of r, and moves r to the end of the list if more uses will come. The
// end of a rule's body is its first use.
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

// distance returns the number of rules in the list after r. r is in the list.
func (l *recency) distance(r Rule) uint32 {
	before := uint32(0)
	for i := l.slot[r]; i > 0; i -= i & -i {
		before += l.tree[i]
	}
	return l.live - before
}

// at returns the rule that has distance others after it. The list is longer than
// distance.
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
