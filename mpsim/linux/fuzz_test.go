package linux

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"

	"hindsight/mpsim/mem"
)

// FuzzSyscalls makes arbitrary calls with arbitrary arguments from several tasks. Nothing
// may panic, exceed the limits, or reach out of the root.
func FuzzSyscalls(f *testing.F) {
	outer := f.TempDir()
	root := filepath.Join(outer, "root")
	for _, err := range []error{
		os.Mkdir(root, 0o755),
		os.WriteFile(filepath.Join(outer, "secret"), []byte("outside"), 0o644),
		os.WriteFile(filepath.Join(root, "file"), []byte("inside"), 0o644),
		os.Symlink("../secret", filepath.Join(root, "link")),
	} {
		if err != nil {
			f.Fatal(err)
		}
	}
	f.Add([]byte{56, 0, 0x80, 0x41, 0, 0, 0, 0, 63, 0, 3, 0x10, 0x20})
	f.Add([]byte{220, 1, 0x90, 0x91, 0x92, 98, 0, 0x10, 0, 0, 0, 0, 0, 98, 0, 0x10, 1, 1})
	f.Add([]byte{59, 0, 0x10, 63, 0, 3, 0x10, 4, 73, 0, 0x11, 1, 0x12, 0, 0})
	f.Add([]byte{222, 1, 0, 0x40, 3, 0x22, 0, 0, 216, 1, 0x10, 0x20, 0x30, 1, 0x50, 0, 215, 1, 9})
	f.Add([]byte{134, 0, 11, 0x10, 0x20, 8, 129, 0, 0xf0, 10, 139, 0, 133, 0, 0x10, 8})
	const limit = 8 << 20
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1<<12 {
			return
		}
		space := mem.New(mem.Config{MaxBytes: limit})
		g := newGuestIn(t, Config{
			Root: root, Writable: true, MaxTasks: 8, MaxTempBytes: 1 << 20,
			Stdin: bytes.NewReader(data), Stdout: io.Discard, Stderr: io.Discard,
		}, space)
		names := []string{"/../secret", "link", "/tmp/x", "/tmp/../link", "../..", "/dev/zero", "/file", "/proc/self/maps"}
		for i, n := range names {
			g.str(g.data+uint64(8+i)*64, n)
		}
		if f := space.Fill(g.data+2048, data[:min(len(data), 1024)]); f != nil {
			t.Fatal(f)
		}
		playCalls(g, data)
		if r := space.Resident(); r > limit {
			t.Fatalf("%d bytes are resident", r)
		}
		if q := g.k.vfs.Free(); q < 0 {
			t.Fatalf("%d bytes of /tmp left", q)
		}
		list, err := os.ReadDir(outer)
		if err != nil || len(list) != 2 {
			t.Fatalf("beside the root: %v %v", list, err)
		}
		if b, err := os.ReadFile(filepath.Join(outer, "secret")); err != nil || string(b) != "outside" {
			t.Fatalf("the file outside holds %q: %v", b, err)
		}
	})
}

// fuzzSkips reports calls that could make host files grow; their limits are the host's.
func fuzzSkips(nr uint64) bool {
	switch nr {
	case 46, 45, 47, 68, 70: // can create a sparse file of any size
		return true
	}
	return false
}

// playCalls turns bytes into calls: the number, the caller, and one byte per argument that
// stands for an interesting value.
func playCalls(g *guest, data []byte) {
	next := func() byte {
		if len(data) == 0 {
			return 0
		}
		b := data[0]
		data = data[1:]
		return b
	}
	threads := []*thread{g.main}
	for len(data) > 0 {
		nr := uint64(next())
		who := next()
		if who&0x40 != 0 {
			nr += 256
		}
		if th := threads[int(who&7)%len(threads)]; th.State == Runnable {
			var args [6]uint64
			for i := range args {
				args[i] = argument(g, next())
			}
			if fuzzSkips(nr) {
				continue
			}
			out := g.call(th, nr, args[:]...)
			switch out.Action {
			case ExitGroup:
				return
			case Clone:
				threads = append(threads, &thread{out.Child, out.ChildContext})
			}
		}
		g.k.Advance(100)
		if out := g.k.Expire(); out.Action == ExitGroup {
			return
		}
		for _, th := range threads {
			if th.State == Runnable && th.Pending() {
				if out := g.k.Deliver(th.Task, &th.ctx); out.Action == ExitGroup {
					return
				}
			}
		}
	}
}

// argument returns the value that a byte stands for.
func argument(g *guest, b byte) uint64 {
	switch b >> 4 {
	case 8:
		return g.data + uint64(b&15)*64
	case 9:
		return g.data + dataSize - uint64(b&15)
	case 10:
		return 1 << (4 * (b & 15))
	case 11:
		return ^uint64(0) << (4 * (b & 15))
	case 12:
		return stackTop - uint64(b&15)*4096
	case 13:
		return uint64(b&15) * 4096
	case 14:
		return cloneThreadFlags | uint64(b&15)<<19
	case 15:
		return ^uint64(0) - 99 + uint64(b&15) // includes AT_FDCWD
	}
	return uint64(b)
}
