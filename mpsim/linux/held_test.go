package linux

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

// TestHeldMemory checks that what the kernel keeps for the guest counts against the guest's
// memory, and that all of it is released.
func TestHeldMemory(t *testing.T) {
	const limit = 8 << 20
	space := mem.New(mem.Config{MaxBytes: limit})
	g := newGuestIn(t, Config{MaxTasks: 8}, space)
	before := space.Resident()

	fd := uint64(g.open("/tmp/a", vfs.OpenCreate|vfs.OpenReadWrite))
	for r := int64(1); r > 0; r = g.do(g.main, 64, fd, g.data, dataSize) {
	}
	if space.Resident() < limit*3/4 || space.Resident() > limit {
		t.Errorf("a file that fills the memory: %d bytes", space.Resident())
	}
	g.must(g.main, 46, fd, 100)
	if n := space.Resident() - before; n > 1<<18 {
		t.Errorf("a file of 100 bytes holds %d", n)
	}
	g.must(g.main, 57, fd)
	g.must(g.main, 35, dirfd(), g.str(g.data, "/tmp/a"), 0)

	for i := 0; ; i++ {
		fd := g.open(fmt.Sprintf("/tmp/%d", i), vfs.OpenCreate|vfs.OpenReadWrite)
		if fd < 0 {
			for i--; i >= 0; i-- {
				g.must(g.main, 35, dirfd(), g.str(g.data, fmt.Sprintf("/tmp/%d", i)), 0)
			}
			break
		}
		g.must(g.main, 57, uint64(fd))
	}
	var ends []uint64
	full := false
	for !full && len(ends) < 900 {
		g.must(g.main, 59, g.data, openNonblock)
		r, w := uint64(g.get32(g.data)), uint64(g.get32(g.data+4))
		ends = append(ends, r, w)
		full = g.do(g.main, 64, w, g.data, 4096) == -ENOMEM
	}
	if !full {
		t.Error("pipes hold any amount of memory")
	}
	for i := 0; i+1 < len(ends); i += 4 {
		g.do(g.main, 63, ends[i], g.data, 1000)
	}
	for _, fd := range ends {
		g.must(g.main, 57, fd)
	}
	// The pages that the test itself touched remain.
	if space.Resident() > before+64<<10 {
		t.Errorf("%d bytes are held of nothing", space.Resident()-before)
	}
}

// TestFileContent compares files in memory with a slice.
func TestFileContent(t *testing.T) {
	g := newGuest(t, Config{MaxTempBytes: 4 << 20})
	rng := rand.New(rand.NewPCG(3, 3))
	fd := uint64(g.open("/tmp/a", vfs.OpenCreate|vfs.OpenReadWrite))
	var want []byte
	grow := func(n int) {
		for len(want) < n {
			want = append(want, 0)
		}
	}
	for step := range 2000 {
		at := rng.IntN(3 * 64 << 10)
		if rng.IntN(3) == 0 {
			at = rng.IntN(3)*64<<10 + rng.IntN(200) - 100
		}
		at = max(at, 0)
		n := 1 + rng.IntN(dataSize-1)
		switch rng.IntN(4) {
		case 0:
			g.must(g.main, 46, fd, uint64(at))
			grow(at)
			want = want[:at]
		case 1, 2:
			p := make([]byte, n)
			for i := range p {
				p[i] = byte(rng.Uint32())
			}
			if f := g.space.Write(g.data, p); f != nil {
				t.Fatal(f)
			}
			g.want(int64(n), g.main, 68, fd, g.data, uint64(n), uint64(at))
			grow(at + n)
			copy(want[at:], p)
		case 3:
			g.want(int64(max(min(n, len(want)-at), 0)), g.main, 67, fd, g.data, uint64(n), uint64(at))
			if got := g.bytes(g.data, max(min(n, len(want)-at), 0)); at < len(want) && !bytes.Equal([]byte(got), want[at:at+len(got)]) {
				t.Fatalf("step %d: another content at %d", step, at)
			}
		}
	}
}

// TestKillAll checks that signalling all other processes finds none.
func TestKillAll(t *testing.T) {
	g := newGuest(t, Config{})
	g.want(-ESRCH, g.main, 129, ^uint64(0), SIGTERM)
	g.want(-ESRCH, g.main, 129, ^uint64(0), 0)
	g.want(0, g.main, 129, MainTID, 0)
}

// TestModes checks that chmod changes what can be changed, and fails otherwise.
func TestModes(t *testing.T) {
	dir := t.TempDir()
	root := func(writable bool) *guest { return newGuest(t, Config{Root: dir, Writable: writable}) }
	g := root(true)
	fd := uint64(g.open("/file", vfs.OpenCreate|vfs.OpenWriteOnly))
	g.must(g.main, 57, fd)
	g.must(g.main, 53, dirfd(), g.str(g.data, "/file"), 0o755)
	mode := func(g *guest, name string) uint32 {
		g.must(g.main, 79, dirfd(), g.str(g.data, name), g.data+256, 0)
		return g.get32(g.data + 256 + 16)
	}
	if m := mode(g, "/file"); m != vfs.ModeRegular|0o755 {
		t.Errorf("mode %o", m)
	}
	g.must(g.main, 54, dirfd(), g.str(g.data, "/file"), 0, 0, 0)

	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	g = root(false)
	for name, want := range map[string]int64{"/file": -EROFS, "/none": -ENOENT, "/proc/cpuinfo": 0} {
		g.want(want, g.main, 53, dirfd(), g.str(g.data, name), 0o600)
		g.want(want, g.main, 54, dirfd(), g.str(g.data, name), 0, 0, 0)
	}
	fd = uint64(g.open("/file", 0))
	g.want(-EROFS, g.main, 52, fd, 0o600)
	g.want(-EROFS, g.main, 55, fd, 0, 0)
	fd = uint64(g.open("/tmp/a", vfs.OpenCreate|vfs.OpenReadWrite))
	g.must(g.main, 52, fd, 0o444)
	if m := mode(g, "/tmp/a"); m != vfs.ModeRegular|0o444 {
		t.Errorf("mode %o", m)
	}
	g.want(0, g.main, 52, 1, 0o600) // a pipe
	g.want(-EBADF, g.main, 52, 99, 0o600)
}

// TestStackGuard checks that the kernel itself places nothing in the gap below the stack.
func TestStackGuard(t *testing.T) {
	g := newGuest(t, Config{})
	const page, readWrite, private = mem.PageSize, 3, mapPrivate | mapAnonymous
	at := g.must(g.main, 222, 0, page, readWrite, private, ^uint64(0), 0) // the highest address available
	if r := g.do(g.main, 216, at, page, 64*page, 0); r != -ENOMEM {
		t.Errorf("mremap in place: %#x", r)
	}
	const low uint64 = stackTop - stackBytes - stackGuard
	for _, hint := range []uint64{low, low + page, low + stackGuard - page} {
		if got := g.must(g.main, 222, hint, page, readWrite, private, ^uint64(0), 0); inGuard(got, got+page) {
			t.Errorf("mmap with the hint %#x: %#x", hint, got)
		}
	}
	moved := g.must(g.main, 216, at, page, 64*page, mremapMayMove)
	if inGuard(moved, moved+64*page) {
		t.Errorf("mremap moves to %#x", moved)
	}
}

// TestDeepDirectories checks that a deeply nested working directory costs no more than
// others, up to the longest possible name.
func TestDeepDirectories(t *testing.T) {
	g := newGuest(t, Config{})
	g.must(g.main, 49, g.str(g.data, "/tmp"))
	depth := 0
	for {
		if r := g.do(g.main, 34, dirfd(), g.str(g.data, "a"), 0o755); r == -ENAMETOOLONG {
			break
		} else if r != 0 {
			t.Fatalf("mkdir at depth %d: %d", depth, r)
		}
		g.must(g.main, 49, g.str(g.data, "a"))
		depth++
	}
	if depth < maxPath/2-10 {
		t.Errorf("%d directories deep", depth)
	}
	g.must(g.main, 49, g.str(g.data, ".."))
	if fd := g.open("f", vfs.OpenCreate|vfs.OpenWriteOnly); fd < 0 {
		t.Errorf("a file deep down: %d", fd)
	}
	g.must(g.main, 276, dirfd(), g.str(g.data, "/tmp/a"), dirfd(), g.str(g.data+64, "/tmp/b"), 0)
	g.want(-ENOENT, g.main, 34, dirfd(), g.str(g.data, "c"), 0o755) // by its old name
	g.must(g.main, 49, g.str(g.data, "/tmp/b/a"))
	if fd := g.open("f", vfs.OpenCreate|vfs.OpenWriteOnly); fd < 0 {
		t.Errorf("a file below what was renamed: %d", fd)
	}
}
