// Package layer records which strands touched which parts of a page of memory, for all
// strands at once. A page has a few layers, and each layer is the set of parts that one
// strand accessed in one epoch. The sieve of package race (whose parts are bytes) and the
// contest of package order (whose parts are granules of eight bytes) share it. They
// differ in what orders two accesses and in how they handle a page with too many layers.
//
// For each part it stores only what FastTrack stores (Flanagan and Freund, PLDI 2009):
// the last write and the unordered reads since.
package layer

import "hindsight/tracefmt/event"

// Words is the largest number of words in a set.
const Words = 64

// Set is a set of parts of a page, with a bit for each, in words Lo to Hi. The other
// words are undefined.
type Set struct {
	W      [Words]uint64
	Lo, Hi int
}

// Any reports whether the set has a part.
func (d *Set) Any() bool {
	var all uint64
	for w := d.Lo; w <= d.Hi; w++ {
		all |= d.W[w]
	}
	return all != 0
}

// Without removes parts from the set. A nil none is an empty set.
func (d *Set) Without(b []uint64) {
	if b == nil {
		return
	}
	for w := d.Lo; w <= d.Hi; w++ {
		d.W[w] &^= b[w]
	}
}

// Stamp is a strand and one of its epochs.
type Stamp uint64

// strandBits is enough for all threads and for all unordered tasks.
const strandBits = 17

// NewStamp returns the stamp of a strand in an epoch.
func NewStamp(strand event.StrandID, epoch uint64) Stamp {
	return Stamp(epoch<<strandBits | uint64(strand)&(1<<strandBits-1))
}

// Strand returns the strand of the stamp.
func (s Stamp) Strand() event.StrandID { return event.StrandID(s & (1<<strandBits - 1)) }

// Epoch returns the strand's own component of its clock.
func (s Stamp) Epoch() uint64 { return uint64(s >> strandBits) }

// Access says which strand accesses memory, and how.
type Access struct {
	ID    Stamp
	Write bool
}

// Layer has the parts of a page that a strand accessed in an epoch.
type Layer struct {
	Access
	Cut    uint64 // 1-based position in S_synch of the first allocation since, or 0
	lo, hi uint8
	bits   []uint64 // one for each part of the page
}

// Relation is the relation between an earlier access and the current one.
type Relation uint8

const (
	// Apart means that both accesses may matter for later ones.
	Apart Relation = iota
	// Covered means that every later access in conflict with the earlier access is in
	// conflict with the current one too.
	Covered
	// Conflict means that the client looks for such a pair.
	Conflict
)

// Page has the layers of a page.
type Page struct {
	Layers []Layer
	// Found has the parts with a conflict, about which nothing more is stored; nil if
	// there are none.
	Found []uint64
	words int
}

// New returns a page without layers. Each word has 64 parts.
func New(words int) Page { return Page{words: words} }

// Touch adds the current access to the parts d. It finds the parts with a conflict,
// removes what the access covers, and leaves in d the parts of the access that are to be
// stored.
func (p *Page) Touch(d *Set, a Access, relate func(*Layer) Relation) {
	d.Without(p.Found)
	for i := range p.Layers { // the earlier accesses
		if l := &p.Layers[i]; l.ID == a.ID && l.Cut == 0 && (l.Write || !a.Write) {
			d.Without(l.bits)
		}
	}
	if !d.Any() {
		return
	}
	hit, kept := false, p.Layers[:0]
	for i := range p.Layers {
		l := &p.Layers[i]
		if int(l.lo) <= d.Hi && int(l.hi) >= d.Lo {
			switch relate(l) {
			case Covered:
				if l.remove(d) {
					continue
				}
			case Conflict:
				hit = p.mark(l, d) || hit
			}
		}
		kept = append(kept, *l)
	}
	p.Keep(kept)
	if hit {
		d.Without(p.Found)
		p.clean()
	}
}

// remove removes parts from the layer. It reports whether nothing is left.
func (l *Layer) remove(d *Set) bool {
	from, to := max(int(l.lo), d.Lo), min(int(l.hi), d.Hi)
	var common uint64
	for w := from; w <= to; w++ {
		common |= l.bits[w] & d.W[w]
	}
	if common == 0 {
		return false
	}
	for w := from; w <= to; w++ {
		l.bits[w] &^= d.W[w]
	}
	var left uint64
	for w := int(l.lo); w <= int(l.hi) && left == 0; w++ {
		left = l.bits[w]
	}
	return left == 0
}

// mark adds the common parts of the layer and the set to Found.
func (p *Page) mark(l *Layer, d *Set) (hit bool) {
	for w := max(d.Lo, int(l.lo)); w <= min(d.Hi, int(l.hi)); w++ {
		if b := l.bits[w] & d.W[w]; b != 0 {
			p.FindWord(w, b)
			hit = true
		}
	}
	return hit
}

// FindWord adds parts of a word to Found. What is stored about them stays.
func (p *Page) FindWord(w int, parts uint64) {
	if p.Found == nil {
		p.Found = make([]uint64, p.words)
	}
	p.Found[w] |= parts
}

// Find adds parts to Found, and removes what is stored about them.
func (p *Page) Find(d *Set) {
	for w := d.Lo; w <= d.Hi; w++ {
		p.FindWord(w, d.W[w])
	}
	p.clean()
}

// clean removes what is stored about the parts in Found.
func (p *Page) clean() {
	d := Set{Hi: p.words - 1}
	copy(d.W[:], p.Found)
	kept := p.Layers[:0]
	for i := range p.Layers {
		if l := p.Layers[i]; !l.remove(&d) {
			kept = append(kept, l)
		}
	}
	p.Keep(kept)
}

// Keep keeps only the first n layers.
func (p *Page) Keep(kept []Layer) {
	clear(p.Layers[len(kept):])
	p.Layers = kept
}

// Join adds parts to the layer of such accesses. It reports whether there is one.
func (p *Page) Join(d *Set, a Access) bool {
	for i := range p.Layers {
		if l := &p.Layers[i]; l.Access == a && l.Cut == 0 {
			for w := d.Lo; w <= d.Hi; w++ {
				l.bits[w] |= d.W[w]
			}
			l.lo, l.hi = min(l.lo, uint8(d.Lo)), max(l.hi, uint8(d.Hi))
			return true
		}
	}
	return false
}

// Add adds a layer.
func (p *Page) Add(d *Set, a Access) { p.add(d, a, 0) }

func (p *Page) add(d *Set, a Access, cut uint64) {
	l := Layer{Access: a, Cut: cut, lo: uint8(d.Lo), hi: uint8(d.Hi), bits: make([]uint64, p.words)}
	copy(l.bits[d.Lo:], d.W[d.Lo:d.Hi+1])
	p.Layers = append(p.Layers, l)
}

// Merge adds the parts of layer m to l, which from then on stands for both.
func (l *Layer) Merge(m *Layer) {
	for w := int(m.lo); w <= int(m.hi); w++ {
		l.bits[w] |= m.bits[w]
	}
	l.lo, l.hi = min(l.lo, m.lo), max(l.hi, m.hi)
	l.ID, l.Cut = max(l.ID, m.ID), max(l.Cut, m.Cut)
}

// Cut begins new lives of parts at position at of S_synch. What is stored about them
// belongs to an earlier life from then on.
func (p *Page) Cut(d *Set, at uint64) {
	for i := range len(p.Layers) {
		l := &p.Layers[i]
		if l.Cut != 0 || int(l.hi) < d.Lo || int(l.lo) > d.Hi {
			continue
		}
		inside := Set{Lo: max(d.Lo, int(l.lo)), Hi: min(d.Hi, int(l.hi))}
		for w := inside.Lo; w <= inside.Hi; w++ {
			inside.W[w] = d.W[w] & l.bits[w]
		}
		switch {
		case !inside.Any():
		case l.remove(&inside):
			copy(l.bits[inside.Lo:], inside.W[inside.Lo:inside.Hi+1])
			l.lo, l.hi, l.Cut = uint8(inside.Lo), uint8(inside.Hi), at
		default:
			p.add(&inside, l.Access, at)
		}
	}
}

// Each calls f for the words of the layer that may have parts.
func (l *Layer) Each(f func(w int, parts uint64)) {
	for w := int(l.lo); w <= int(l.hi); w++ {
		if l.bits[w] != 0 {
			f(w, l.bits[w])
		}
	}
}

// Within calls f for the pages with numbers from first to last (inclusive). Its time does
// not depend on the distance between first and last.
func Within[P any](pages map[uint64]P, first, last uint64, f func(number uint64, p P)) {
	if last-first > uint64(len(pages)) {
		for number, p := range pages {
			if first <= number && number <= last {
				f(number, p)
			}
		}
		return
	}
	for number := first; number <= last; number++ {
		if p, ok := pages[number]; ok {
			f(number, p)
		}
	}
}
