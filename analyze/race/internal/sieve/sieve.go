package sieve

import (
	"fmt"
	"math"
	"math/bits"

	"hindsight/analyze/internal/layer"
	"hindsight/analyze/race/internal/pass"
	"hindsight/analyze/replay"
)

// Sieve is the sieve of one worker. It remembers of each byte no more than what
// FastTrack does (Flanagan and Freund, PLDI 2009): the last write and the reads
// since that are not ordered with each other, which is enough to find a race on every byte that has one. It looks at all bytes of a
// page that a unit accesses at once: a page has a few layers, each a set of
// bytes that one strand accessed in one epoch. Pages in which accesses are
// scattered have cells of eight bytes instead.
//
// Allocations are taken into account. Whose memory it is is only where that is
// asked at once, of events and of a few bytes that a library accesses (package race, feed.go);
// whether a plain instruction may be an atomic access is not. So the sieve may let
// through too much.
type Sieve struct {
	number, of int // the sieve processes every ofth page, by hash
	pages      map[uint64]*sievePage
	lastPage   uint64
	last       *sievePage
	unit       *pass.Unit
	me         layer.Stamp
	horizon    *pass.Horizon
	dots       dots
	limit      int // largest number of layers of a page
	maxPages   int
	variables  *replay.Atomics
	lane       pass.Lane // of the current item
	access     layer.Access
	relate     func(*layer.Layer) layer.Relation // stands, allocated once
}

const (
	sieveSize  = 1 << pass.PageBits
	sieveWords = sieveSize / 64
)

// maxSieve limits the pages of all sieves together, and maxSpan the bytes between the
// first and the last access of a run.
const (
	maxSieve = 1 << 21
	maxSpan  = 1 << 38
)

// dots is a set of bytes of a page.
type dots struct{ layer.Set }

type sievePage struct {
	layer.Page // of bytes; found are those that are suspect
	cells      *cells
	small      int // number of layers with few bytes so far
	// Accesses to atomic variables, by granule; see mixed.
	mixed     map[uint64][]mixed
	variables bool // there are some in the page
}

// manySmall is the number of layers with few bytes after which a page gets cells.
const manySmall = 64

// New makes the sieve that looks at every of-th page, by hash, of a run with
// that many threads and those atomic variables. It keeps so many layers of a
// page; 0: as many as suits the number of threads.
func New(number, of, threads int, variables *replay.Atomics, layers int) *Sieve {
	s := &Sieve{number: number, of: of, pages: map[uint64]*sievePage{}, limit: min(2*threads+6, 40), maxPages: maxSieve / of, variables: variables}
	if layers > 0 {
		s.limit = layers
	}
	s.relate = s.stands
	return s
}

// Size returns the number of pages that were accessed.
func (s *Sieve) Size() int { return len(s.pages) }

func (s *Sieve) page(number uint64) (*sievePage, error) {
	if s.last != nil && s.lastPage == number {
		return s.last, nil
	}
	p := s.pages[number]
	if p == nil {
		if len(s.pages) >= s.maxPages {
			return nil, fmt.Errorf("%w: more than %d pages of memory accessed", pass.ErrTooLarge, len(s.pages))
		}
		p = &sievePage{Page: layer.New(sieveWords), variables: s.variables.InPage(number << pass.PageBits)}
		s.pages[number] = p
	}
	s.lastPage, s.last = number, p
	return p, nil
}

// Take processes the items of a batch.
func (s *Sieve) Take(b *pass.Batch, items []pass.Item) error {
	s.horizon = b.Horizon
	for i := range items {
		it := &items[i]
		if it.Kind == pass.ItemCut {
			s.cut(it.Base, it.Size, it.Number)
			continue
		}
		s.unit = &b.Units[it.Unit]
		s.me = layer.NewStamp(s.unit.Strand, s.unit.Epoch)
		s.lane = it.Lane
		if it.Lane == pass.LaneAtomic {
			if err := s.mixExtent(it); err != nil {
				return err
			}
			continue
		}
		if it.Count == 1 && it.Bits == 0 && it.Base&7+it.Size <= 8 && it.Size > 0 {
			if done, err := s.small(it); done || err != nil {
				if err != nil {
					return err
				}
				continue
			}
		}
		var bits []uint64
		if it.Bits != 0 {
			bits = b.Bits[it.Bits-1]
		}
		if err := s.extent(it, bits); err != nil {
			return err
		}
	}
	return nil
}

// small processes bytes of one granule, if they are in a page with cells.
func (s *Sieve) small(it *pass.Item) (done bool, err error) {
	number := it.Base >> pass.PageBits
	if s.of > 1 && pass.Owner(number, s.of) != s.number {
		return true, nil
	}
	p, err := s.page(number)
	if err != nil || p.cells == nil {
		return false, err
	}
	g := it.Base & (sieveSize - 1) >> 3
	m := uint8(1<<it.Size-1) << (it.Base & 7)
	if p.variables && s.lane == pass.LanePlain {
		if v := m & s.variables.Ever(it.Base>>3); v != 0 {
			if err := s.mix(it.Base>>3, v, it.Write, false); err != nil {
				return false, err
			}
		}
	}
	w, shift := g/8, g%8*8
	if p.Found != nil {
		m &^= uint8(p.Found[w] >> shift)
	}
	if m == 0 {
		return true, nil
	}
	if hit := s.touchCell(p.cells.at(int(g)), m, it.Write); hit != 0 {
		p.FindWord(int(w), uint64(hit)<<shift)
	}
	return true, nil
}

// extent processes count blocks of bytes.
func (s *Sieve) extent(it *pass.Item, set []uint64) error {
	if set != nil && it.Count > 1 {
		one := *it
		one.Count, one.Stride = 1, 0
		for range it.Count {
			if err := s.extent(&one, set); err != nil {
				return err
			}
			one.Base += it.Stride
		}
		return nil
	}
	base, stride, count, size := it.Base, it.Stride, it.Count, it.Size
	if int64(stride) < 0 {
		stride = -stride
		base -= stride * (count - 1)
	}
	high, span := bits.Mul64(stride, count-1)
	if high != 0 || span > maxSpan || size > maxSpan {
		return fmt.Errorf("%w: a run of %d accesses at %#x, %d bytes apart", pass.ErrTooLarge, count, base, int64(it.Stride))
	}
	if count == 1 || stride <= size {
		size, stride, count = span+size, 0, 1
	}
	end := base + span + size // of the last block
	if count == 1 {
		end = base + size
	}
	if end < base { // around the end of the address space
		return nil
	}
	first, last := base>>pass.PageBits, (end-1)>>pass.PageBits
	step := stride >> pass.PageBits // pages in between may have nothing
	for page := first; page <= last; page++ {
		if s.of > 1 && pass.Owner(page, s.of) != s.number {
			continue
		}
		if set != nil {
			if s.dots.copy(page<<pass.PageBits, base, end, set); !s.dots.Any() {
				continue
			}
		} else if !s.dots.paint(page<<pass.PageBits, base, end, stride, count, size) {
			if step > 1 {
				// continue at the page of the next block
				k := (page<<pass.PageBits - base + stride - 1) / stride
				page = max(page, (base+k*stride)>>pass.PageBits-1)
			}
			continue
		}
		p, err := s.page(page)
		if err != nil {
			return err
		}
		if p.variables && s.lane == pass.LanePlain {
			if err := s.mixDots(page, it.Write); err != nil {
				return err
			}
		}
		s.touch(p, it.Write)
	}
	return nil
}

// paint sets d to the bytes of the blocks in the page at lo. It returns false if there
// are none.
func (d *dots) paint(lo, base, end, stride, count, size uint64) bool {
	from, to := max(base, lo)-lo, min(end, lo+sieveSize)-lo // of the page
	d.Lo, d.Hi = int(from>>6), int((to-1)>>6)
	if count == 1 || stride <= 64 && stride&(stride-1) == 0 && base&(stride-1)+size <= stride {
		pattern := ^uint64(0)
		if count > 1 {
			pattern = 0
			for at := base & (stride - 1); at < 64; at += stride {
				pattern |= (1<<size - 1) << at
			}
		}
		for w := d.Lo; w <= d.Hi; w++ {
			d.W[w] = pattern
		}
		d.W[d.Lo] &= ^uint64(0) << (from & 63)
		d.W[d.Hi] &= ^uint64(0) >> (63 - (to-1)&63)
		return true
	}
	clear(d.W[d.Lo : d.Hi+1])
	k := uint64(0)
	if lo > base {
		if off := lo - base; off >= size {
			k = (off-size)/stride + 1
		}
	}
	some := false
	for ; k < count; k++ {
		at := base + k*stride
		if at >= lo+sieveSize {
			break
		}
		from, to := max(at, lo)-lo, min(at+size, lo+sieveSize)-lo
		some = true
		for from < to {
			n := min(to-from, 64-from&63)
			d.W[from>>6] |= ^uint64(0) >> (64 - n) << (from & 63)
			from += n
		}
	}
	return some
}

// copy sets d to the bytes with bits from base on in the page at lo.
func (d *dots) copy(lo, base, end uint64, bits []uint64) {
	from, to := max(base, lo), min(end, lo+sieveSize)
	d.Lo, d.Hi = int((from-lo)>>6), int((to-lo-1)>>6)
	for w := d.Lo; w <= d.Hi; w++ {
		at := lo + uint64(w)*64 - base // of the word in bits; below 0 at the beginning
		if int64(at) < 0 {
			d.W[w] = bits[0] << -at
			continue
		}
		i, shift := at>>6, at&63
		d.W[w] = 0
		if i < uint64(len(bits)) {
			d.W[w] = bits[i] >> shift
		}
		if shift != 0 && i+1 < uint64(len(bits)) {
			d.W[w] |= bits[i+1] << (64 - shift)
		}
	}
}

// touch processes an access of the current unit to the dots of page p.
func (s *Sieve) touch(p *sievePage, write bool) {
	d := &s.dots
	if p.cells != nil {
		d.Without(p.Found)
		s.touchCells(p, write)
		return
	}
	s.access = layer.Access{ID: s.me, Write: write}
	p.Touch(&d.Set, s.access, s.relate)
	s.remember(p, write)
}

// stands returns the relation of an earlier access to the current one.
func (s *Sieve) stands(l *layer.Layer) layer.Relation {
	switch write := s.access.Write; {
	case s.ordered(l.ID) || s.outlived(l.Cut):
		if write || !l.Write {
			return layer.Covered
		}
	case write || l.Write:
		return layer.Conflict
	}
	return layer.Apart
}

// ordered reports whether an access happens before the current unit.
func (s *Sieve) ordered(id layer.Stamp) bool {
	t := id.Strand()
	return t == s.unit.Strand || id.Epoch() <= s.unit.Clock.At(t)
}

// outlived reports whether the present unit began after the life of memory that ended at
// cut, or 0 if none has. It then does not race with what was done in that life, and takes
// its place: a unit still to come that races with that began before the life ended, so
// that it cannot have seen the present one either.
func (s *Sieve) outlived(cut uint64) bool { return cut != 0 && cut <= s.unit.Start }

// remember adds the dots to the layers of the page.
func (s *Sieve) remember(p *sievePage, write bool) {
	d := &s.dots
	if !d.Any() || p.Join(&d.Set, s.access) {
		return
	}
	if d.Lo == d.Hi {
		p.small++
	}
	if len(p.Layers) >= s.limit || p.small >= manySmall {
		s.thin(p)
		if len(p.Layers) >= s.limit || p.small >= manySmall {
			s.split(p)
			s.touchCells(p, write)
			return
		}
	}
	p.Add(&d.Set, s.access)
}

// thin drops the layers that no later access can race with.
func (s *Sieve) thin(p *sievePage) {
	kept := p.Layers[:0]
	for _, l := range p.Layers {
		if !s.horizon.Past(l.ID.Strand(), l.ID.Epoch(), l.Cut) {
			kept = append(kept, l)
		}
	}
	p.Keep(kept)
}

// cut begins new lives of the granules that [addr, addr+size) touches, at
// place at of S_synch.
func (s *Sieve) cut(addr, size, at uint64) {
	lo, hi := addr&^7, addr+size
	if size == 0 || hi < addr || hi > math.MaxUint64-8 {
		return
	}
	hi = (hi + 7) &^ 7
	layer.Within(s.pages, lo>>pass.PageBits, (hi-1)>>pass.PageBits, func(number uint64, p *sievePage) {
		p.cutMixed(lo, hi, at)
		s.dots.paint(number<<pass.PageBits, lo, hi, 0, 1, hi-lo)
		if p.cells != nil {
			s.cutCells(p.cells, at)
			return
		}
		if p.Cut(&s.dots.Set, at); len(p.Layers) > s.limit {
			if s.thin(p); len(p.Layers) > s.limit {
				s.split(p)
			}
		}
	})
}
