package linux

import (
	"encoding/binary"
	"testing"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
)

// guest drives a kernel as a machine would, with calls made by hand.
type guest struct {
	t     testing.TB
	k     *Kernel
	space *mem.Space
	main  *thread
	data  uint64 // a writable page
}

type thread struct {
	*Task
	ctx Context
}

const (
	testText = 0x10000
	testData = 0x20000
	dataSize = 16 * mem.PageSize
)

func testImage() *image.Space {
	code := make([]byte, 64)
	return image.NewSpace(&image.Image{
		Data: []byte("\x7fELF of the test"), Entry: testText, Phdr: testText + 64, PhdrCount: 3, PhdrSize: 56,
		Segments: []image.Segment{
			{Addr: testText, Data: code, MemSize: 4096, Read: true, Exec: true},
			{Addr: testData, MemSize: dataSize, Read: true, Write: true},
		},
	})
}

func newGuest(t testing.TB, cfg Config) *guest {
	t.Helper()
	return newGuestIn(t, cfg, mem.New(mem.Config{MaxBytes: 64 << 20}))
}

func newGuestIn(t testing.TB, cfg Config, space *mem.Space) *guest {
	t.Helper()
	k, task, ctx, err := New(cfg, space, testImage())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return &guest{t: t, k: k, space: space, main: &thread{task, ctx}, data: testData}
}

// call makes a system call and returns its outcome.
func (g *guest) call(th *thread, nr uint64, args ...uint64) Outcome {
	th.ctx.X[regA7] = nr
	for i := range 6 {
		th.ctx.X[regA0+i] = 0
	}
	copy(th.ctx.X[regA0:], args)
	th.ctx.PC += ecallBytes
	return g.k.Syscall(th.Task, &th.ctx)
}

// do makes a call that must return, and returns its result.
func (g *guest) do(th *thread, nr uint64, args ...uint64) int64 {
	g.t.Helper()
	out := g.call(th, nr, args...)
	if out.Action != Return && out.Action != Yield {
		g.t.Fatalf("call %d: action %d, want it to return", nr, out.Action)
	}
	return th.result()
}

// must makes a call that must succeed.
func (g *guest) must(th *thread, nr uint64, args ...uint64) uint64 {
	g.t.Helper()
	r := g.do(th, nr, args...)
	if r < 0 {
		g.t.Fatalf("call %d: error %d", nr, -r)
	}
	return uint64(r)
}

// blocks makes a call that must sleep.
func (g *guest) blocks(th *thread, nr uint64, args ...uint64) {
	g.t.Helper()
	if out := g.call(th, nr, args...); out.Action != Block || th.State != Blocked {
		g.t.Fatalf("call %d: action %d, result %d, want it to block", nr, out.Action, th.result())
	}
}

// want makes a call that must return this result.
func (g *guest) want(result int64, th *thread, nr uint64, args ...uint64) {
	g.t.Helper()
	if r := g.do(th, nr, args...); r != result {
		g.t.Fatalf("call %d: result %d, want %d", nr, r, result)
	}
}

func (th *thread) result() int64 { return int64(th.ctx.X[regA0]) }

// spawn makes a thread.
func (g *guest) spawn() *thread {
	g.t.Helper()
	out := g.call(g.main, 220, cloneThreadFlags|cloneChildCleartid|cloneSettls, g.data+dataSize, 0, 0x1234, g.data+dataSize-8)
	if out.Action != Clone {
		g.t.Fatalf("clone: action %d, result %d", out.Action, g.main.result())
	}
	if g.main.result() != int64(out.Child.TID) || out.ChildContext.X[regA0] != 0 || out.ChildContext.X[regTP] != 0x1234 {
		g.t.Fatalf("clone gave %d, child %+v", g.main.result(), out.ChildContext)
	}
	return &thread{out.Child, out.ChildContext}
}

// woken checks which threads woke up since the last check, in order.
func (g *guest) woken(want ...*thread) {
	g.t.Helper()
	got := g.k.Woken()
	ok := len(got) == len(want)
	for i := range got {
		ok = ok && got[i] == want[i].Task && want[i].State == Runnable
	}
	if !ok {
		g.t.Fatalf("woken: %d tasks %v, want %d", len(got), got, len(want))
	}
}

func (g *guest) put32(addr uint64, v uint32) {
	g.t.Helper()
	if f := g.space.PutUint32(addr, v); f != nil {
		g.t.Fatal(f)
	}
}

func (g *guest) get32(addr uint64) uint32 {
	g.t.Helper()
	v, f := g.space.Uint32(addr)
	if f != nil {
		g.t.Fatal(f)
	}
	return v
}

func (g *guest) get64(addr uint64) uint64 {
	g.t.Helper()
	v, f := g.space.Uint64(addr)
	if f != nil {
		g.t.Fatal(f)
	}
	return v
}

// words stores doublewords at addr and returns addr.
func (g *guest) words(addr uint64, v ...uint64) uint64 {
	g.t.Helper()
	var b []byte
	for _, w := range v {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	if f := g.space.Write(addr, b); f != nil {
		g.t.Fatal(f)
	}
	return addr
}

// str stores a string at addr and returns addr.
func (g *guest) str(addr uint64, s string) uint64 {
	g.t.Helper()
	if f := g.space.Write(addr, append([]byte(s), 0)); f != nil {
		g.t.Fatal(f)
	}
	return addr
}

func (g *guest) bytes(addr uint64, n int) string {
	g.t.Helper()
	b := make([]byte, n)
	if f := g.space.Read(addr, b); f != nil {
		g.t.Fatal(f)
	}
	return string(b)
}
