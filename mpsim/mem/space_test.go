package mem

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"
)

// model is the simplest possible address space: one record per page.
type model struct {
	pages map[uint64]*modelPage
}

type modelPage struct {
	prot Prot
	data byte // the one byte that the test writes to
}

const (
	modelBase  = uint64(0x10000)
	modelPages = 64
)

func (m *model) compare(t *testing.T, s *Space, step int) {
	t.Helper()
	for i := range uint64(modelPages) {
		addr := modelBase + i*PageSize
		want, ok := m.pages[addr]
		v, have := s.Find(addr + 7)
		if ok != have {
			t.Fatalf("step %d: page %#x mapped is %v, want %v", step, addr, have, ok)
		}
		if !ok {
			if _, f := s.Page(addr>>PageShift, Read); f == nil || f.Cause != Unmapped {
				t.Fatalf("step %d: page %#x: fault %v, want unmapped", step, addr, f)
			}
			continue
		}
		if v.Prot != want.prot {
			t.Fatalf("step %d: page %#x is %v, want %v", step, addr, v.Prot, want.prot)
		}
		for _, acc := range []Access{Read, Write, Exec} {
			p, f := s.Page(addr>>PageShift, acc)
			if (f == nil) != (want.prot&acc != 0) {
				t.Fatalf("step %d: page %#x access %v: fault %v, permissions %v", step, addr, acc, f, want.prot)
			}
			if f == nil && p[3] != want.data {
				t.Fatalf("step %d: page %#x holds %d, want %d", step, addr, p[3], want.data)
			}
		}
	}
}

// check checks the invariants of the list of mappings.
func check(t *testing.T, s *Space) {
	t.Helper()
	var charged uint64
	for i, v := range s.vmas {
		if v.Start >= v.End || v.Start&pageMask != 0 || v.End&pageMask != 0 {
			t.Fatalf("bad mapping %+v", v)
		}
		if i > 0 {
			p := s.vmas[i-1]
			if p.End > v.Start {
				t.Fatalf("mappings overlap: %+v %+v", p, v)
			}
			if p.End == v.Start && p.Attr == v.Attr {
				t.Fatalf("mappings not merged: %+v %+v", p, v)
			}
		}
		charged += v.charge(v.Len())
	}
	if charged != s.charged {
		t.Fatalf("charged %d, the mappings say %d", s.charged, charged)
	}
	var bytes uint64
	for _, u := range s.table.uppers {
		if u == nil {
			continue
		}
		bytes += nodeBytes
		for _, m := range u.middles {
			if m == nil {
				continue
			}
			bytes += nodeBytes
			for _, l := range m.leaves {
				if l == nil {
					continue
				}
				bytes += nodeBytes
				for _, p := range l.pages {
					if p != nil {
						bytes += PageSize
					}
				}
			}
		}
	}
	if bytes != s.table.bytes {
		t.Fatalf("resident %d, the table holds %d", s.table.bytes, bytes)
	}
}

// TestAgainstModel performs random operations on a space and on the model and compares them
// page by page. It also checks that no translation becomes stale without a change of the
// generation.
func TestAgainstModel(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := New(Config{MapTop: modelBase + modelPages*PageSize})
		m := &model{pages: map[uint64]*modelPage{}}
		type held struct {
			addr uint64
			p    *Page
		}
		var handed []held
		gen := s.Generation()
		for step := range 400 {
			i := r.Uint64N(modelPages)
			n := 1 + r.Uint64N(min(12, modelPages-i))
			addr, size := modelBase+i*PageSize, n*PageSize
			prot := Prot(r.Uint32N(8))
			switch r.IntN(7) {
			case 0, 1:
				replace := r.IntN(2) == 0
				taken := false
				for a := addr; a < addr+size; a += PageSize {
					taken = taken || m.pages[a] != nil
				}
				err := s.Map(addr, size, Attr{Prot: prot}, replace)
				if taken && !replace {
					if !errors.Is(err, ErrExists) {
						t.Fatalf("step %d: map over mappings: %v", step, err)
					}
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				for a := addr; a < addr+size; a += PageSize {
					m.pages[a] = &modelPage{prot: prot}
				}
			case 2:
				if err := s.Unmap(addr, size); err != nil {
					t.Fatal(err)
				}
				for a := addr; a < addr+size; a += PageSize {
					delete(m.pages, a)
				}
			case 3:
				all := true
				for a := addr; a < addr+size; a += PageSize {
					all = all && m.pages[a] != nil
				}
				if err := s.Protect(addr, size, prot); (err == nil) != all {
					t.Fatalf("step %d: protect: %v", step, err)
				}
				for a := addr; all && a < addr+size; a += PageSize {
					m.pages[a].prot = prot
				}
			case 4:
				if err := s.Drop(addr, size); err != nil {
					t.Fatal(err)
				}
				for a := addr; a < addr+size; a += PageSize {
					if p := m.pages[a]; p != nil {
						p.data = 0
					}
				}
			case 5:
				b := byte(r.Uint32())
				p := m.pages[addr]
				if f := s.Write(addr+3, []byte{b}); (f == nil) != (p != nil && p.prot&Write != 0) {
					t.Fatalf("step %d: write: %v", step, f)
				} else if f == nil {
					p.data = b
				}
			case 6:
				free, ok := s.FindFree(size)
				want, wantOK := m.findFree(n)
				if free != want || ok != wantOK {
					t.Fatalf("step %d: free range of %d pages: %#x %v, want %#x %v", step, n, free, ok, want, wantOK)
				}
			}
			if s.Generation() != gen {
				gen, handed = s.Generation(), nil
			}
			for _, h := range handed {
				if p, f := s.Page(h.addr>>PageShift, Read); f != nil || p != h.p {
					t.Fatalf("step %d: translation of %#x went stale", step, h.addr)
				}
			}
			if p, f := s.Page(addr>>PageShift, Read); f == nil {
				handed = append(handed, held{addr, p})
			}
			m.compare(t, s, step)
			check(t, s)
		}
	}
}

func (m *model) findFree(n uint64) (uint64, bool) {
	for i := int64(modelPages - n); i >= 0; i-- {
		free := true
		for j := range n {
			free = free && m.pages[modelBase+(uint64(i)+j)*PageSize] == nil
		}
		if free {
			return modelBase + uint64(i)*PageSize, true
		}
	}
	return 0, false
}

func TestCopyAcrossPages(t *testing.T) {
	s := New(Config{})
	base := uint64(0x7fffff0000)
	if err := s.Map(base, 3*PageSize, Attr{Prot: Read | Write}, false); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("abcdefg"), 1000)
	if f := s.Write(base+100, want); f != nil {
		t.Fatal(f)
	}
	got := make([]byte, len(want))
	if f := s.Read(base+100, got); f != nil || !bytes.Equal(got, want) {
		t.Fatalf("read back: %v", f)
	}
	if f := s.Write(base+3*PageSize-2, []byte("xyz")); f == nil || f.Addr != base+3*PageSize || f.Cause != Unmapped {
		t.Fatalf("write over the end: %v", f)
	}
	if str, ok, f := s.ReadCString(base+3*PageSize-2, 10); f == nil {
		t.Fatalf("string over the end: %q %v", str, ok)
	}
	if f := s.Write(base+PageSize-2, []byte("hello\x00")); f != nil {
		t.Fatal(f)
	}
	if str, ok, f := s.ReadCString(base+PageSize-2, 10); f != nil || !ok || str != "hello" {
		t.Fatalf("string: %q %v %v", str, ok, f)
	}
	if _, ok, f := s.ReadCString(base+PageSize-2, 5); f != nil || ok {
		t.Fatalf("string without an end: %v %v", ok, f)
	}
	if f := s.Read(^uint64(0)-1, make([]byte, 8)); f == nil {
		t.Fatal("read around the end of the addresses")
	}
}

func TestLimits(t *testing.T) {
	const limit = 64 * PageSize
	s := New(Config{MaxBytes: limit})
	if err := s.Map(1<<30, 2*limit, Attr{Prot: Read | Write}, false); !errors.Is(err, ErrNoMemory) {
		t.Fatalf("a mapping over the limit: %v", err)
	}
	if err := s.Map(1<<30, 1<<34, Attr{Prot: Read | Write, Uncounted: true}, false); err != nil {
		t.Fatal(err)
	}
	for i := uint64(0); ; i += 1 << 21 {
		_, f := s.Page((1<<30+i)>>PageShift, Write)
		if f != nil {
			if f.Cause != OverLimit {
				t.Fatalf("fault %v", f)
			}
			break
		}
		if s.Resident() > limit {
			t.Fatalf("%d bytes are resident", s.Resident())
		}
	}
	if err := s.Unmap(1<<30, 1<<34); err != nil || s.Resident() != 0 {
		t.Fatalf("after unmapping %d bytes are resident, error %v", s.Resident(), err)
	}
	s.InitBreak(0x100001)
	if got := s.SetBreak(0x101000 + limit + 1); got != 0x101000 {
		t.Fatalf("brk over the limit: %#x", got)
	}
	if got := s.SetBreak(0x101000 + 5000); got != 0x101000+5000 {
		t.Fatalf("brk: %#x", got)
	}
	if v, ok := s.Find(0x101000 + 8000); !ok || v.Kind != Heap {
		t.Fatalf("heap mapping: %+v %v", v, ok)
	}
	if got := s.SetBreak(0x101000); got != 0x101000 || s.Charged() != 0 {
		t.Fatalf("brk back: %#x, %d bytes charged", got, s.Charged())
	}
}

func TestMoveKeepsContent(t *testing.T) {
	s := New(Config{})
	from, to := uint64(0x200000), uint64(0x40000000)
	if err := s.Map(from, 4*PageSize, Attr{Prot: Read | Write}, false); err != nil {
		t.Fatal(err)
	}
	if f := s.Write(from+PageSize+5, []byte("moved")); f != nil {
		t.Fatal(f)
	}
	gen := s.Generation()
	if err := s.Move(from, 4*PageSize, to, 8*PageSize); err != nil {
		t.Fatal(err)
	}
	if s.Generation() == gen {
		t.Fatal("the generation did not change")
	}
	if str, _, f := s.ReadCString(to+PageSize+5, 9); f != nil || str != "moved" {
		t.Fatalf("at the new place: %q %v", str, f)
	}
	if s.Mapped(from, PageSize) || !s.Mapped(to, 8*PageSize) {
		t.Fatal("mappings after the move")
	}
	check(t, s)
}

func TestMappingsAreBounded(t *testing.T) {
	s := New(Config{})
	at := uint64(1 << 30)
	var err error
	n := 0
	for ; err == nil; n++ {
		err = s.Map(at+uint64(n)*2*PageSize, PageSize, Attr{Prot: Read}, false)
	}
	if !errors.Is(err, ErrNoMemory) || n > MaxMappings {
		t.Fatalf("%d mappings: %v", n, err)
	}
	// Even at the limit, memory can be released.
	if err := s.Unmap(at, PageSize); err != nil {
		t.Fatal(err)
	}
	if err := s.Unmap(at, uint64(n)*2*PageSize); err != nil || len(s.vmas) != 0 {
		t.Fatalf("%d mappings are left: %v", len(s.vmas), err)
	}
}

// BenchmarkPage measures a miss of the machine's translation cache, alternating between
// pages of two mappings.
func BenchmarkPage(b *testing.B) {
	s := New(Config{})
	bases := [2]uint64{1 << 30, 1 << 36}
	for _, at := range bases {
		if err := s.Map(at, 1024*PageSize, Attr{Prot: Read | Write}, false); err != nil {
			b.Fatal(err)
		}
		for i := range uint64(1024) {
			if _, f := s.Page(at>>PageShift+i, Write); f != nil {
				b.Fatal(f)
			}
		}
	}
	i := uint64(0)
	for b.Loop() {
		if _, f := s.Page(bases[i>>3&1]>>PageShift+i&1023, Read); f != nil {
			b.Fatal(f)
		}
		i++
	}
}
