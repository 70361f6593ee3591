package sieve

import (
	"math/bits"

	"hindsight/analyze/internal/layer"
)

// cell is what a sieve stores about eight bytes of a page with scattered accesses.
type cell struct {
	w, r         layer.Stamp // a write and a read
	wmask, rmask uint8       // and their bytes, 0: none
	more         *[]trace8
}

// trace8 is one more access to the bytes of a cell.
type trace8 struct {
	id    layer.Stamp
	cut   uint64
	mask  uint8
	write bool
}

// cells are those of a page.
type cells struct {
	of [sieveSize / 8]cell
	// fresh has a bit for each cell with records of the memory's current life. These are
	// the cells that a new life must process.
	fresh [sieveSize / 8 / 64]uint64
}

// at is cell number g, which is about to be used.
func (c *cells) at(g int) *cell {
	c.fresh[g/64] |= 1 << (g % 64)
	return &c.of[g]
}

// split replaces the layers of a page by cells.
func (s *Sieve) split(p *sievePage) {
	p.cells = new(cells)
	for i := range p.Layers {
		l := &p.Layers[i]
		l.Each(func(w int, parts uint64) {
			for g, b := w*8, parts; b != 0; g, b = g+1, b>>8 {
				if m := uint8(b); m != 0 {
					p.cells.at(g).put(trace8{id: l.ID, cut: l.Cut, mask: m, write: l.Write})
				}
			}
		})
	}
	p.Layers = nil
}

// touchCells processes an access of the current unit to the dots of page p.
func (s *Sieve) touchCells(p *sievePage, write bool) {
	d := &s.dots
	for w := d.Lo; w <= d.Hi; w++ {
		for g, b := w*8, d.W[w]; b != 0; g, b = g+1, b>>8 {
			m := uint8(b)
			if m == 0 {
				continue
			}
			if hit := s.touchCell(p.cells.at(g), m, write); hit != 0 {
				p.FindWord(w, uint64(hit)<<(g&7*8))
			}
		}
	}
}

// touchCell processes an access to bytes m of a cell and returns those on which it races.
func (s *Sieve) touchCell(c *cell, m uint8, write bool) (hit uint8) {
	if c.w == s.me {
		m &^= c.wmask
	}
	if !write && c.r == s.me {
		m &^= c.rmask
	}
	if m == 0 {
		return 0
	}
	if c.wmask&m != 0 {
		if s.ordered(c.w) {
			if write {
				c.wmask &^= m
			}
		} else {
			hit |= c.wmask & m
		}
	}
	if c.rmask&m != 0 {
		if s.ordered(c.r) {
			c.rmask &^= m
		} else if write {
			hit |= c.rmask & m
		}
	}
	if c.more != nil {
		hit |= s.touchMore(c, m, write)
	}
	if hit != 0 {
		m &^= hit
		c.wmask &^= hit
		c.rmask &^= hit
		c.remove(hit)
	}
	if m != 0 {
		c.put(trace8{id: s.me, mask: m, write: write})
		if c.more != nil && len(*c.more) > s.limit {
			s.thinCell(c)
		}
	}
	return hit
}

func (s *Sieve) touchMore(c *cell, m uint8, write bool) (hit uint8) {
	kept := (*c.more)[:0]
	for _, t := range *c.more {
		if t.mask&m != 0 {
			switch {
			case s.ordered(t.id) || s.outlived(t.cut):
				if write || !t.write {
					t.mask &^= m
				}
			case write || t.write:
				hit |= t.mask & m
			}
		}
		if t.mask != 0 {
			kept = append(kept, t)
		}
	}
	c.keep(kept)
	return hit
}

func (c *cell) keep(kept []trace8) {
	if len(kept) == 0 {
		c.more = nil
		return
	}
	*c.more = kept
}

// remove removes what is stored about bytes m beyond the first write and read.
func (c *cell) remove(m uint8) {
	if c.more == nil {
		return
	}
	kept := (*c.more)[:0]
	for _, t := range *c.more {
		if t.mask &^= m; t.mask != 0 {
			kept = append(kept, t)
		}
	}
	c.keep(kept)
}

// put adds an access to the cell.
func (c *cell) put(t trace8) {
	if t.cut == 0 {
		id, mask := &c.r, &c.rmask
		if t.write {
			id, mask = &c.w, &c.wmask
		}
		if *mask == 0 || *id == t.id {
			*id, *mask = t.id, *mask|t.mask
			return
		}
	}
	if c.more == nil {
		c.more = new([]trace8)
	}
	for i := range *c.more {
		if o := &(*c.more)[i]; o.id == t.id && o.cut == t.cut && o.write == t.write {
			o.mask |= t.mask
			return
		}
	}
	*c.more = append(*c.more, t)
}

// thinCell drops what no later access can race with.
func (s *Sieve) thinCell(c *cell) {
	kept := (*c.more)[:0]
	for _, t := range *c.more {
		if !s.horizon.Past(t.id.Strand(), t.id.Epoch(), t.cut) {
			kept = append(kept, t)
		}
	}
	c.keep(kept)
}

// cutCells begins new lives of the cells that contain the dots, which are whole granules.
func (s *Sieve) cutCells(c *cells, at uint64) {
	d := &s.dots
	for i := d.Lo / 8; i <= d.Hi/8; i++ {
		for left := c.fresh[i]; left != 0; left &= left - 1 {
			g := i*64 + bits.TrailingZeros64(left)
			if w := g / 8; d.Lo <= w && w <= d.Hi && uint8(d.W[w]>>(g%8*8)) != 0 {
				c.of[g].cut(at)
				c.fresh[i] &^= 1 << (g % 64)
			}
		}
	}
}

func (c *cell) cut(at uint64) {
	if c.more != nil {
		for i := range *c.more {
			if t := &(*c.more)[i]; t.cut == 0 {
				t.cut = at
			}
		}
	}
	w, r := trace8{c.w, at, c.wmask, true}, trace8{c.r, at, c.rmask, false}
	c.wmask, c.rmask = 0, 0
	if w.mask != 0 {
		c.put(w)
	}
	if r.mask != 0 {
		c.put(r)
	}
}
