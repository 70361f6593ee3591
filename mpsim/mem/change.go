package mem

import "maps"

// ChangeKind says what a [Change] does.
type ChangeKind uint8

const (
	Mapped    ChangeKind = iota // [Addr, Addr+Len) is newly mapped with Attr
	Gone                        // it is unmapped
	Protected                   // it has the permissions of Attr
	Dropped                     // it reads as zero again
	Moved                       // its pages move to To
	Shared                      // it gets Pages
	Recoded                     // instructions may have been written; no range
)

// Change is a change to the mappings of a [Space], as data.
type Change struct {
	Kind          ChangeKind
	Addr, Len, To uint64
	Attr          Attr
	Pages         []*Page // of the space that was changed; equal pages are the same memory
}

// Record calls f after each change to the mappings.
func (s *Space) Record(f func(Change)) { s.record = f }

func (s *Space) changed(c Change) {
	if s.record != nil {
		s.record(c)
	}
}

// Apply makes a change that another space recorded. An error says that the spaces differed
// before.
func (s *Space) Apply(c Change) error {
	switch c.Kind {
	case Mapped:
		return s.Map(c.Addr, c.Len, c.Attr, true)
	case Gone:
		return s.Unmap(c.Addr, c.Len)
	case Protected:
		return s.Protect(c.Addr, c.Len, c.Attr.Prot)
	case Dropped:
		return s.Drop(c.Addr, c.Len)
	case Moved:
		s.movePages(c.Addr, c.Len, c.To)
	case Shared:
		return s.share(c.Addr, c.Pages)
	case Recoded:
		s.InvalidateCode()
	}
	return nil
}

// share is like [Space.Share] with pages of another space. Each of them gets a page of this
// space that stands for it from now on.
func (s *Space) share(addr uint64, pages []*Page) error {
	own := make([]*Page, len(pages))
	for i, p := range pages {
		if s.foreign[p] == nil {
			if s.foreign == nil {
				s.foreign = map[*Page]*Page{}
			}
			s.foreign[p] = new(Page)
		}
		own[i] = s.foreign[p]
	}
	return s.Share(addr, own)
}

// Content copies the memory at addr to p, regardless of the permissions and without
// allocating pages: untouched memory is zero. It returns how many bytes are mapped.
func (s *Space) Content(addr uint64, p []byte) int {
	done := 0
	for done < len(p) {
		at := addr + uint64(done)
		n := min(len(p)-done, int(PageSize-at&pageMask))
		if v := s.find(at); v == nil || v.Hole {
			break
		}
		if page := s.table.get(at >> PageShift); page != nil {
			copy(p[done:done+n], page[at&pageMask:])
		} else {
			clear(p[done : done+n])
		}
		done += n
	}
	return done
}

// Snapshot is the content of a [Space] at one time. It shares pages with the space, which
// copies those that it writes later.
type Snapshot struct {
	vmas    vmas
	pages   []placed
	shared  map[*Page]Page // content of pages that several mappings have
	sharing map[*Page]uint64
	codeGen uint64

	mapTop, charged, refused, held, brkStart, brk uint64
}

type placed struct {
	vpn  uint64
	page *Page
}

// Bytes returns the size of a snapshot in bytes, without the pages that only it has.
func (s *Snapshot) Bytes() uint64 {
	const entry = 16
	return uint64(len(s.pages))*entry + uint64(len(s.shared))*PageSize
}

// Snapshot saves the content of the space. Translations that [Space.Page] has returned
// become stale.
func (s *Space) Snapshot() *Snapshot {
	snap := &Snapshot{
		vmas: append(vmas(nil), s.vmas...), sharing: maps.Clone(s.sharing), codeGen: s.codeGen,
		mapTop: s.mapTop, charged: s.charged, refused: s.refused, held: s.held, brkStart: s.brkStart, brk: s.brk,
	}
	s.table.walk(0, Top>>PageShift, func(vpn uint64, p *Page) bool {
		snap.pages = append(snap.pages, placed{vpn, p})
		if s.sharing[p] != 0 {
			if snap.shared == nil {
				snap.shared = map[*Page]Page{}
			}
			snap.shared[p] = *p
		}
		return false
	})
	s.owned = map[uint64]bool{}
	s.gen++
	return snap
}

// Restore makes the space what it was when the snapshot of it was taken. It may be called
// any number of times. [Space.CodeGeneration] changes unless it is the same as it was.
func (s *Space) Restore(snap *Snapshot) {
	s.table = table{}
	for _, p := range snap.pages {
		s.table.put(p.vpn, p.page)
	}
	for p := range snap.shared {
		*p = snap.shared[p]
	}
	s.vmas = append(s.vmas[:0:0], snap.vmas...)
	s.sharing = maps.Clone(snap.sharing)
	s.mapTop, s.charged, s.refused, s.held, s.brkStart, s.brk = snap.mapTop, snap.charged, snap.refused, snap.held, snap.brkStart, snap.brk
	s.last, s.owned = nil, map[uint64]bool{}
	s.gen++
	if s.codeGen != snap.codeGen {
		s.codeGen++
		snap.codeGen = s.codeGen
	}
}

// Copied returns how many bytes of pages were copied or allocated since the space began
// because snapshots share the others.
func (s *Space) Copied() uint64 { return s.copied }

// own makes the space the sole owner of a page that snapshots may share.
func (s *Space) own(vpn uint64, p *Page) *Page {
	if s.owned[vpn] || s.sharing[p] != 0 {
		return p
	}
	mine := new(Page)
	*mine = *p
	s.table.replace(vpn, mine)
	s.owned[vpn] = true
	s.copied += PageSize
	s.gen++
	return mine
}

// Copy returns a separate space with the same mappings and content, without limits and
// without a watcher. The space must have no pages that several mappings share.
func (s *Space) Copy() *Space {
	c := New(Config{MaxBytes: Top, MapTop: s.mapTop})
	c.vmas = append(vmas(nil), s.vmas...)
	c.brkStart, c.brk = s.brkStart, s.brk
	s.table.walk(0, Top>>PageShift, func(vpn uint64, p *Page) bool {
		own := *p
		c.table.put(vpn, &own)
		return false
	})
	return c
}

// Where returns an address at which a page that several mappings may have is mapped.
func (s *Space) Where(p *Page) (addr uint64, ok bool) {
	for _, v := range s.vmas {
		if !v.Shared {
			continue
		}
		s.table.walk(v.Start>>PageShift, v.End>>PageShift, func(vpn uint64, q *Page) bool {
			if p == q {
				addr, ok = vpn<<PageShift, true
			}
			return false
		})
	}
	return addr, ok
}
