package sieve

import (
	"slices"

	"hindsight/analyze/race/internal/pass"
)

// Atomic accesses are kept by themselves, together with those that are known to
// be none and touch atomic variables. There are few such granules, so that each
// has a list.

// mixed is what the sieve stores about a granule with an atomic variable.
type mixed struct {
	trace8
	atomic bool
}

// manyMixed is the largest length of the list of a granule, beyond which the granule is
// suspect.
const manyMixed = 64

// mixExtent takes an atomic access. One that makes no atomic variable of what it
// touches is like any other.
func (s *Sieve) mixExtent(it *pass.Item) error {
	for at, end := it.Base, it.Base+it.Size; at < end; {
		next := min(end, at&^7+8)
		if s.of == 1 || pass.Owner(at>>pass.PageBits, s.of) == s.number {
			m := uint8(1<<(next-at)-1) << (at & 7)
			if m&s.variables.Ever(at>>3) == 0 { // the result of a reduction
				s.lane = pass.LaneOpen
				if err := s.extent(&pass.Item{Write: it.Write, Base: at, Count: 1, Size: next - at}, nil); err != nil {
					return err
				}
			} else if err := s.mix(at>>3, m, it.Write, true); err != nil {
				return err
			}
		}
		at = next
	}
	return nil
}

// mixDots processes a plain access to the dots of a page.
func (s *Sieve) mixDots(number uint64, write bool) error {
	d := &s.dots
	for w := d.Lo; w <= d.Hi; w++ {
		for g, b := number*(sieveSize/8)+uint64(w)*8, d.W[w]; b != 0; g, b = g+1, b>>8 {
			if m := uint8(b) & s.variables.Ever(g); m != 0 {
				if err := s.mix(g, m, write, false); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// mix processes an access to bytes m of granule g.
func (s *Sieve) mix(g uint64, m uint8, write, atomic bool) error {
	number := g / (sieveSize / 8)
	p, err := s.page(number)
	if err != nil {
		return err
	}
	w, shift := g/8%sieveWords, g%8*8
	if p.Found != nil {
		m &^= uint8(p.Found[w] >> shift)
	}
	if m == 0 {
		return nil
	}
	if p.mixed == nil {
		p.mixed = map[uint64][]mixed{}
	}
	var hit uint8
	list, kept := p.mixed[g], p.mixed[g][:0]
	for _, t := range list {
		if t.mask&m != 0 {
			switch before := s.ordered(t.id) || s.outlived(t.cut); {
			case before && t.atomic == atomic && (write || !t.write):
				t.mask &^= m
			case !before && t.atomic != atomic && (write || t.write):
				hit |= t.mask & m
			}
		}
		if t.mask != 0 {
			kept = append(kept, t)
		}
	}
	kept = append(kept, mixed{trace8{id: s.me, mask: m, write: write}, atomic})
	if len(kept) > manyMixed {
		kept = slices.DeleteFunc(kept, func(t mixed) bool { return s.horizon.Past(t.id.Strand(), t.id.Epoch(), t.cut) })
	}
	if len(kept) > manyMixed {
		hit, kept = m, nil
	}
	p.mixed[g] = kept
	if hit != 0 {
		p.FindWord(int(w), uint64(hit)<<shift)
	}
	return nil
}

// cutMixed begins new lives of the granules from lo up to hi of a page.
func (p *sievePage) cutMixed(lo, hi, at uint64) {
	for g, list := range p.mixed {
		if lo>>3 <= g && g < hi>>3 {
			for i := range list {
				if list[i].cut == 0 {
					list[i].cut = at
				}
			}
		}
	}
}
