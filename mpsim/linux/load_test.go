package linux

import (
	"errors"
	"strings"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

func TestStackLayout(t *testing.T) {
	args, env := []string{"./prog", "", "two words"}, []string{"A=1", "LANG=C"}
	g := newGuest(t, Config{Args: args, Env: env, Seed: 7})
	sp := g.main.ctx.X[regSP]
	if sp&15 != 0 || g.main.ctx.PC != testText {
		t.Fatalf("starts at %#x on %#x", g.main.ctx.PC, sp)
	}
	at := sp
	next := func() uint64 { v := g.get64(at); at += 8; return v }
	str := func(addr uint64) string {
		s, ok, f := g.space.ReadCString(addr, 100)
		if !ok || f != nil {
			t.Fatalf("string at %#x: %v", addr, f)
		}
		return s
	}
	if n := next(); n != uint64(len(args)) {
		t.Fatalf("argc %d", n)
	}
	for _, list := range [][]string{args, env} {
		for _, want := range list {
			if got := str(next()); got != want {
				t.Fatalf("%q, want %q", got, want)
			}
		}
		if next() != 0 {
			t.Fatal("no null pointer behind the list")
		}
	}
	aux := map[uint64]uint64{}
	for {
		k, v := next(), next()
		if k == 0 {
			break
		}
		aux[k] = v
	}
	for k, want := range map[uint64]uint64{
		atPhdr: testText + 64, atPhnum: 3, atPhent: 56, atEntry: testText, atPagesz: 4096,
		atHwcap: 0x112d, atSecure: 0, atUID: 0, atClktck: 100,
	} {
		if got, ok := aux[k]; !ok || got != want {
			t.Errorf("aux %d is %#x, want %#x", k, got, want)
		}
	}
	if str(aux[atExecfn]) != "/prog" {
		t.Errorf("execfn %q", str(aux[atExecfn]))
	}
	random := g.bytes(aux[atRandom], 16)
	if other := newGuest(t, Config{Args: args, Env: env, Seed: 7}); other.bytes(aux[atRandom], 16) != random {
		t.Error("the same seed gives other random bytes")
	}
	if other := newGuest(t, Config{Args: args, Env: env, Seed: 8}); other.bytes(aux[atRandom], 16) == random {
		t.Error("another seed gives the same random bytes")
	}
	// The stack can be used down to its limit but no further.
	if f := g.space.PutUint64(sp-7<<20, 1); f != nil {
		t.Errorf("7 MiB down: %v", f)
	}
	if f := g.space.PutUint64(sp-9<<20, 1); f == nil {
		t.Error("9 MiB down is mapped")
	}
}

func TestHostileImages(t *testing.T) {
	seg := func(addr, size uint64) image.Segment {
		return image.Segment{Addr: addr, MemSize: size, Read: true, Write: true}
	}
	for name, segs := range map[string][]image.Segment{
		"none":          nil,
		"empty":         {seg(0x10000, 0)},
		"null":          {seg(0, 0x1000)},
		"huge":          {seg(0x10000, 1<<40)},
		"wraps":         {seg(0x10000, ^uint64(0))},
		"high":          {seg(1<<50, 0x1000)},
		"overlap":       {seg(0x10000, 0x5000), seg(0x12000, 0x5000)},
		"same":          {seg(0x10000, 0x5000), seg(0x10000, 0x5000)},
		"on the stack":  {seg(stackTop-0x10000, 0x4000)},
		"on the top":    {seg(userTop-0x4000, 0x4000)},
		"too much":      {seg(0x10000, 40<<20), seg(0x10000000, 40<<20)},
		"data too long": {{Addr: 0x10000, MemSize: 1, Data: make([]byte, 8192), Read: true}},
	} {
		space := mem.New(mem.Config{MaxBytes: 64 << 20})
		if _, _, _, err := New(Config{}, space, image.NewSpace(&image.Image{Segments: segs})); !errors.Is(err, ErrProgram) {
			t.Errorf("%s: %v", name, err)
		}
	}
	space := mem.New(mem.Config{})
	if _, _, _, err := New(Config{Args: []string{strings.Repeat("x", 3<<20)}}, space, testImage()); !errors.Is(err, ErrProgram) {
		t.Errorf("long arguments: %v", err)
	}
}

func TestSegmentsThatShareAPage(t *testing.T) {
	img := testImage()
	img.Main.Segments = []image.Segment{
		{Addr: 0x10000, Data: []byte("code"), MemSize: 0x800, Read: true, Exec: true},
		{Addr: 0x10800, Data: []byte("data"), MemSize: 0x1000, Read: true, Write: true},
	}
	space := mem.New(mem.Config{})
	if _, _, _, err := New(Config{}, space, img); err != nil {
		t.Fatal(err)
	}
	b := make([]byte, 4)
	if f := space.Read(0x10800, b); f != nil || string(b) != "data" {
		t.Fatalf("%q %v", b, f)
	}
	if space.Break() != 0x12000 {
		t.Fatalf("brk starts at %#x", space.Break())
	}
}

func TestMemoryCalls(t *testing.T) {
	g := newGuest(t, Config{})
	m := g.main
	anon := uint64(mapPrivate | mapAnonymous)
	a := g.must(m, 222, 0, 8192, 3, anon, ^uint64(0), 0)
	b := g.must(m, 222, 0, 4096, 3, anon, ^uint64(0), 0)
	if b != a-4096 {
		t.Errorf("mappings at %#x and %#x, want them from the top down", a, b)
	}
	g.want(-EINVAL, m, 222, 0, 0, 3, anon, ^uint64(0), 0)
	g.want(-EINVAL, m, 222, 0, 4096, 3, mapAnonymous, ^uint64(0), 0)
	g.want(-EINVAL, m, 222, a+1, 4096, 3, anon|mapFixed, ^uint64(0), 0)
	g.want(-EEXIST, m, 222, a, 4096, 3, anon|mapFixedNoReplace, ^uint64(0), 0)
	g.want(-ENOMEM, m, 222, 0, 1<<30, 3, anon, ^uint64(0), 0)
	g.want(-EBADF, m, 222, 0, 4096, 3, mapPrivate, 77, 0)
	g.must(m, 222, 0, 1<<30, 0, anon|mapNoReserve, ^uint64(0), 0)
	g.put32(a, 5)
	g.must(m, 222, a, 4096, 3, anon|mapFixed, ^uint64(0), 0)
	if g.get32(a) != 0 {
		t.Error("a fixed mapping kept the old page")
	}
	g.put32(a, 6)
	g.must(m, 233, a, 4096, 4)
	if g.get32(a) != 0 {
		t.Error("MADV_DONTNEED kept the page")
	}
	g.want(-ENOMEM, m, 226, 0x7000000, 4096, 1)
	g.must(m, 226, a, 4096, 1)
	if f := g.space.PutUint32(a, 1); f == nil || f.Cause != mem.Denied {
		t.Errorf("writing a read-only page: %v", f)
	}
	g.must(m, 226, a, 4096, 3)
	g.put32(a+8, 42)
	g.want(-ENOMEM, m, 216, b, 4096, 1<<16, 0)
	c := g.must(m, 216, a, 4096, 1<<16, mremapMayMove)
	if g.get32(c+8) != 42 {
		t.Error("mremap lost the content")
	}
	g.must(m, 215, c, 1<<16)
	brk := g.must(m, 214, 0)
	if got := g.must(m, 214, brk+10000); got != brk+10000 {
		t.Errorf("brk %#x", got)
	}
	if got := g.must(m, 214, brk+1<<30); got != brk+10000 {
		t.Errorf("brk over the limit %#x", got)
	}
}

func TestMapFile(t *testing.T) {
	g := newGuest(t, Config{})
	fd := uint64(g.open("/tmp/f", vfs.OpenCreate|vfs.OpenReadWrite))
	g.str(g.data, "mapped")
	g.want(6, g.main, 68, fd, g.data, 6, 4096)
	a := g.must(g.main, 222, 0, 3*4096, 3, mapPrivate, fd, 4096)
	if got := g.bytes(a, 7); got != "mapped\x00" {
		t.Errorf("content %q", got)
	}
	g.put32(a, 0)
	if f := g.space.PutUint32(a+4096, 1); f == nil || f.Cause != mem.BeyondFile {
		t.Errorf("behind the end: %v", f)
	}
	g.want(-ENODEV, g.main, 222, 0, 4096, 1, mapPrivate, 1<<62, 0)
}

func TestClocksAndSleep(t *testing.T) {
	g := newGuest(t, Config{})
	g.k.Advance(1500)
	g.must(g.main, 113, clockMonotonic, g.data)
	if g.get64(g.data) != 1 || g.get64(g.data+8) != 1500 {
		t.Errorf("monotonic %d.%09d", g.get64(g.data), g.get64(g.data+8))
	}
	g.want(-EINVAL, g.main, 113, 77, g.data)
	g.words(g.data, 0, 2_000_000_000)
	g.want(-EINVAL, g.main, 101, g.data, 0)
	g.words(g.data, 1, 5)
	g.blocks(g.main, 115, clockRealtime, 0, g.data, 0)
	if d, _ := g.k.NextDeadline(); d != 1500+second+5 {
		t.Errorf("deadline %d", d)
	}
	g.k.AdvanceTo(1500 + second + 5)
	g.k.Expire()
	g.woken(g.main)
	if g.main.result() != 0 {
		t.Errorf("result %d", g.main.result())
	}
	g.must(g.main, 113, clockProcessCPU, g.data)
	if g.get64(g.data) != 0 || g.get64(g.data+8) != 1500 {
		t.Errorf("processor time %d.%09d: sleeping is not computing", g.get64(g.data), g.get64(g.data+8))
	}
}

func TestUnknownCallsAreRemembered(t *testing.T) {
	g := newGuest(t, Config{})
	g.want(-ENOSYS, g.main, 5000)
	g.want(-ENOSYS, g.main, 221)
	g.want(-ENOSYS, g.main, 5000)
	g.want(-ENOSYS, g.main, 220, 17)
	want := []Unsupported{{"syscall 5000", 2}, {"execve", 1}, {"clone of a process", 1}}
	got := g.k.Unsupported()
	if len(got) != len(want) {
		t.Fatalf("%v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%v, want %v", got[i], want[i])
		}
	}
}
