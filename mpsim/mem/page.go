package mem

// Sizes of pages.
const (
	PageShift = 12
	PageSize  = 1 << PageShift
	pageMask  = PageSize - 1
)

// AddressBits is the width of user addresses: that of Sv48, whose user half ends at Top.
const (
	AddressBits = 47
	Top         = uint64(1) << AddressBits
)

// Page is the content of one page.
type Page = [PageSize]byte

// The page table is a radix tree of four levels. The lower three have 512 entries, as in
// hardware: a leaf node takes one page of host memory, so the tree never takes more than a
// small multiple of the pages.
const (
	levelBits  = 9
	levelSize  = 1 << levelBits
	levelMask  = levelSize - 1
	rootSize   = 1 << (AddressBits - PageShift - 3*levelBits)
	nodeBytes  = levelSize * 8
	leafPages  = levelSize
	middleSpan = leafPages * levelSize
	upperSpan  = middleSpan * levelSize
)

type (
	leaf struct {
		pages [levelSize]*Page
		used  int
	}
	middle struct {
		leaves [levelSize]*leaf
		used   int
	}
	upper struct {
		middles [levelSize]*middle
		used    int
	}
	table struct {
		uppers [rootSize]*upper
		bytes  uint64 // size of pages and nodes
	}
)

// get returns the page with number vpn, or nil.
func (t *table) get(vpn uint64) *Page {
	u := t.uppers[vpn>>(3*levelBits)%rootSize]
	if u == nil {
		return nil
	}
	m := u.middles[vpn>>(2*levelBits)&levelMask]
	if m == nil {
		return nil
	}
	l := m.leaves[vpn>>levelBits&levelMask]
	if l == nil {
		return nil
	}
	return l.pages[vpn&levelMask]
}

// first returns the number of the first page in [from, to), if there is one.
func (t *table) first(from, to uint64) (vpn uint64, ok bool) {
	for from < to {
		var l *leaf
		if u := t.uppers[from>>(3*levelBits)%rootSize]; u != nil {
			if m := u.middles[from>>(2*levelBits)&levelMask]; m != nil {
				l = m.leaves[from>>levelBits&levelMask]
			}
		}
		end := min(from&^levelMask+leafPages, to)
		for ; l != nil && from < end; from++ {
			if l.pages[from&levelMask] != nil {
				return from, true
			}
		}
		from = end
	}
	return 0, false
}

// put stores a page at vpn, where there must be none.
func (t *table) put(vpn uint64, p *Page) {
	up := &t.uppers[vpn>>(3*levelBits)%rootSize]
	if *up == nil {
		*up = new(upper)
		t.bytes += nodeBytes
	}
	mp := &(*up).middles[vpn>>(2*levelBits)&levelMask]
	if *mp == nil {
		*mp = new(middle)
		(*up).used++
		t.bytes += nodeBytes
	}
	lp := &(*mp).leaves[vpn>>levelBits&levelMask]
	if *lp == nil {
		*lp = new(leaf)
		(*mp).used++
		t.bytes += nodeBytes
	}
	(*lp).pages[vpn&levelMask] = p
	(*lp).used++
	t.bytes += PageSize
}

// replace replaces the page at vpn.
func (t *table) replace(vpn uint64, p *Page) {
	u := t.uppers[vpn>>(3*levelBits)%rootSize]
	u.middles[vpn>>(2*levelBits)&levelMask].leaves[vpn>>levelBits&levelMask].pages[vpn&levelMask] = p
}

// costOf returns the bytes that put would add for vpn.
func (t *table) costOf(vpn uint64) uint64 {
	u := t.uppers[vpn>>(3*levelBits)%rootSize]
	if u == nil {
		return PageSize + 3*nodeBytes
	}
	m := u.middles[vpn>>(2*levelBits)&levelMask]
	if m == nil {
		return PageSize + 2*nodeBytes
	}
	if m.leaves[vpn>>levelBits&levelMask] == nil {
		return PageSize + nodeBytes
	}
	return PageSize
}

// walk calls f with every page in [from, to). If f returns true, the page is removed from
// the table. Empty nodes are dropped, and empty parts of the range are skipped without
// examining each page.
func (t *table) walk(from, to uint64, f func(vpn uint64, p *Page) (remove bool)) {
	for ui := from >> (3 * levelBits); ui < rootSize && ui*upperSpan < to; ui++ {
		u := t.uppers[ui]
		if u == nil {
			continue
		}
		ub := ui * upperSpan
		for mi := index(from, ub, middleSpan); mi < levelSize && ub+mi*middleSpan < to; mi++ {
			m := u.middles[mi]
			if m == nil {
				continue
			}
			mb := ub + mi*middleSpan
			t.walkMiddle(m, mb, from, to, f)
			if m.used == 0 {
				u.middles[mi] = nil
				u.used--
				t.bytes -= nodeBytes
			}
		}
		if u.used == 0 {
			t.uppers[ui] = nil
			t.bytes -= nodeBytes
		}
	}
}

func (t *table) walkMiddle(m *middle, base, from, to uint64, f func(uint64, *Page) bool) {
	for li := index(from, base, leafPages); li < levelSize && base+li*leafPages < to; li++ {
		l := m.leaves[li]
		if l == nil {
			continue
		}
		lb := base + li*leafPages
		for pi := index(from, lb, 1); pi < levelSize && lb+pi < to; pi++ {
			if p := l.pages[pi]; p != nil && f(lb+pi, p) {
				l.pages[pi] = nil
				l.used--
				t.bytes -= PageSize
			}
		}
		if l.used == 0 {
			m.leaves[li] = nil
			m.used--
			t.bytes -= nodeBytes
		}
	}
}

// index returns the index of the first entry that may contain page from, in a node that
// starts at base and has entries of span pages.
func index(from, base, span uint64) uint64 {
	if from <= base {
		return 0
	}
	return (from - base) / span
}
