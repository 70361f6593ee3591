package linux

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
)

func dirfd() uint64 { return ^uint64(99) } // AT_FDCWD

// open opens a path and returns the descriptor or a negative error number.
func (g *guest) open(name string, flags uint64) int64 {
	g.t.Helper()
	return g.do(g.main, 56, dirfd(), g.str(g.data+3*mem.PageSize, name), flags, 0o644)
}

// slurp reads a file to its end.
func (g *guest) slurp(name string) (string, int64) {
	g.t.Helper()
	fd := g.open(name, 0)
	if fd < 0 {
		return "", fd
	}
	defer g.do(g.main, 57, uint64(fd))
	var out strings.Builder
	for {
		n := g.do(g.main, 63, uint64(fd), g.data, 4096)
		if n <= 0 {
			return out.String(), n
		}
		out.WriteString(g.bytes(g.data, int(n)))
	}
}

func TestRootContainsEverything(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "root")
	for path, text := range map[string]string{
		"secret": "outside", "root/in/file": "inside", "root/top": "top", "rootless": "outside too",
	} {
		p := filepath.Join(outer, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{
		"abs": filepath.Join(outer, "secret"), "up": "../secret", "in/upup": "../../secret",
		"dir": "..", "ok": "in/file", "in/back": "../top", "loop": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	g := newGuest(t, Config{Root: root})
	for name, want := range map[string]string{
		"/in/file": "inside", "in/../in/file": "inside", "/../../in/file": "inside",
		"/ok": "inside", "/in/back": "top", "//in///file": "inside",
	} {
		if got, e := g.slurp(name); e != 0 || got != want {
			t.Errorf("%s: %q, error %d", name, got, -e)
		}
	}
	for _, name := range []string{
		"/abs", "/up", "/in/upup", "/dir/secret", "/../secret", "../secret", "in/../../secret",
		"/in/file/", "/loop", "/none", outer + "/secret", "/dir", "/../rootless",
	} {
		if got, e := g.slurp(name); e >= 0 {
			t.Errorf("%s: read %q", name, got)
		}
	}
	// Nothing can be written.
	for _, flags := range []uint64{vfs.OpenWriteOnly, vfs.OpenReadWrite, vfs.OpenCreate | vfs.OpenWriteOnly, vfs.OpenTrunc} {
		if fd := g.open("/in/file", flags); fd != -EROFS {
			t.Errorf("open with flags %#o: %d", flags, fd)
		}
	}
	if fd := g.open("/new", vfs.OpenCreate|vfs.OpenWriteOnly); fd != -EROFS {
		t.Errorf("creating: %d", fd)
	}
	g.want(-EROFS, g.main, 35, dirfd(), g.str(g.data, "/in/file"), 0)
	g.want(-EROFS, g.main, 34, dirfd(), g.str(g.data, "/newdir"), 0o755)
	if b, err := os.ReadFile(filepath.Join(root, "in/file")); err != nil || string(b) != "inside" {
		t.Fatalf("%q %v", b, err)
	}
}

// TestScratch checks that with Writable the guest can write anywhere and then sees what it
// wrote, that the root does not change, and that what was written can be saved.
func TestScratch(t *testing.T) {
	outer := t.TempDir()
	root, over := filepath.Join(outer, "root"), filepath.Join(outer, "over")
	for path, text := range map[string]string{
		"secret": "outside", "root/old": "old", "root/in/file": "inside", "root/in/other": "other", "root/full/x": "x",
		"root/shown": "below", "over/shown": "above",
	} {
		p := filepath.Join(outer, path)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("../secret", filepath.Join(root, "up")); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	g := newGuest(t, Config{Root: root, Writable: true, Over: over})
	write := func(name, text string, flags uint64) {
		t.Helper()
		fd := g.open(name, flags)
		if fd < 0 {
			t.Fatalf("%s: error %d", name, -fd)
		}
		g.str(g.data, text)
		g.want(int64(len(text)), g.main, 64, uint64(fd), g.data, uint64(len(text)))
		g.must(g.main, 57, uint64(fd))
	}
	reads := func(name, want string) {
		t.Helper()
		if got, e := g.slurp(name); e != 0 || got != want {
			t.Errorf("%s: %q, error %d; want %q", name, got, -e, want)
		}
	}
	rename := func(from, to string) int64 {
		return g.do(g.main, 276, dirfd(), g.str(g.data, from), dirfd(), g.str(g.data+64, to), 0)
	}
	unlink := func(name string, flags uint64) int64 {
		return g.do(g.main, 35, dirfd(), g.str(g.data, name), flags)
	}
	reads("/shown", "above")
	write("/old", "OL", vfs.OpenWriteOnly)
	reads("/old", "OLd")
	write("/in/new", "fresh", vfs.OpenCreate|vfs.OpenWriteOnly)
	write("/in/file", "!", vfs.OpenWriteOnly|vfs.OpenTrunc)
	reads("/in/file", "!")
	reads("/in/other", "other")
	if fd := g.open("/old", vfs.OpenCreate|vfs.OpenExcl|vfs.OpenWriteOnly); fd != -EEXIST {
		t.Errorf("exclusive: %d", fd)
	}
	if fd := g.open("/none/new", vfs.OpenCreate|vfs.OpenWriteOnly); fd != -ENOENT {
		t.Errorf("in no directory: %d", fd)
	}
	if fd := g.open("/up", vfs.OpenWriteOnly|vfs.OpenTrunc); fd >= 0 {
		t.Error("wrote through a link that leads out")
	}
	for _, c := range []struct {
		what      string
		got, want int64
	}{
		{"rmdir of a full one", unlink("/full", 0x200), -ENOTEMPTY},
		{"unlink of a directory", unlink("/full", 0), -EISDIR},
		{"mkdir of what is there", g.do(g.main, 34, dirfd(), g.str(g.data, "/full"), 0o755), -EEXIST},
		{"mkdir", g.do(g.main, 34, dirfd(), g.str(g.data, "/d"), 0o755), 0},
		{"rename of the host's", rename("/in/other", "/d/moved"), 0},
		{"rename of a directory", rename("/full", "/d/full"), -EXDEV},
		{"rename onto a directory", rename("/d/moved", "/full"), -EISDIR},
		{"unlink of the host's", unlink("/full/x", 0), 0},
		{"rmdir of an emptied one", unlink("/full", 0x200), 0},
		{"unlink of what was there", unlink("/in/other", 0), -ENOENT},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.what, c.got, c.want)
		}
	}
	reads("/d/moved", "other")
	out := filepath.Join(outer, "out")
	if err := g.k.Written().Save(out, false); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"old": "OLd", "in/new": "fresh", "in/file": "!", "d/moved": "other"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(b) != want {
			t.Errorf("saved %s: %q %v", name, b, err)
		}
	}
	for _, name := range []string{"shown", "in/other", "full", "tmp"} {
		if _, err := os.Stat(filepath.Join(out, name)); err == nil {
			t.Errorf("%s was saved", name)
		}
	}
	after, err := os.ReadDir(root)
	if b, _ := os.ReadFile(filepath.Join(root, "old")); err != nil || len(before) != len(after) || string(b) != "old" {
		t.Errorf("the root changed: %v %q", after, b)
	}
	if b, _ := os.ReadFile(filepath.Join(outer, "secret")); string(b) != "outside" {
		t.Fatalf("the file outside is %q", b)
	}
}

func TestNoRootNoHost(t *testing.T) {
	g := newGuest(t, Config{Args: []string{"/bin/prog", "x"}})
	for _, name := range []string{"/etc/passwd", "/etc/localtime", "/proc/self/environ", "/home", "/dev/sda", "/proc/1/maps"} {
		if fd := g.open(name, 0); fd != -ENOENT {
			t.Errorf("%s: %d", name, fd)
		}
	}
	if got, _ := g.slurp("/proc/self/exe"); got != "\x7fELF of the test" {
		t.Errorf("exe: %q", got)
	}
	if n := g.do(g.main, 78, dirfd(), g.str(g.data, "/proc/self/exe"), g.data+100, 100); n != 5 || g.bytes(g.data+100, 5) != "/prog" {
		t.Errorf("readlink of exe: %d", n)
	}
	if got, _ := g.slurp("/proc/self/maps"); !strings.Contains(got, "[stack]") || !strings.Contains(got, "r-xp") {
		t.Errorf("maps: %q", got)
	}
	if got, _ := g.slurp("/sys/devices/system/cpu/online"); got != "0-7\n" {
		t.Errorf("online: %q", got)
	}
	if got, e := g.slurp("/dev/null"); got != "" || e != 0 {
		t.Errorf("null: %q %d", got, e)
	}
	if fd := g.open("/new", vfs.OpenCreate|vfs.OpenWriteOnly); fd != -EACCES {
		t.Errorf("creating in /: %d", fd)
	}
	g.want(-EAFNOSUPPORT, g.main, 198, 16, 3, 0)
}

func TestTemporaryFiles(t *testing.T) {
	g := newGuest(t, Config{MaxTempBytes: 1 << 20})
	fd := uint64(g.open("/tmp/a", vfs.OpenCreate|vfs.OpenExcl|vfs.OpenReadWrite))
	if int64(fd) < 0 {
		t.Fatal("create", int64(fd))
	}
	if r := g.open("/tmp/a", vfs.OpenCreate|vfs.OpenExcl|vfs.OpenReadWrite); r != -EEXIST {
		t.Fatalf("create again: %d", r)
	}
	g.str(g.data, "0123456789")
	g.want(10, g.main, 64, fd, g.data, 10)
	g.want(4, g.main, 68, fd, g.data, 4, 8)
	if got, _ := g.slurp("/tmp/a"); got != "012345670123" {
		t.Fatalf("content %q", got)
	}
	g.want(-ENOSPC, g.main, 46, fd, 2<<20)
	g.must(g.main, 34, dirfd(), g.str(g.data, "/tmp/d"), 0o755)
	g.must(g.main, 276, dirfd(), g.str(g.data, "/tmp/a"), dirfd(), g.str(g.data+64, "/tmp/d/b"), 0)
	g.want(-ENOTEMPTY, g.main, 35, dirfd(), g.str(g.data, "/tmp/d"), 0x200)
	g.want(-EINVAL, g.main, 276, dirfd(), g.str(g.data, "/tmp/d"), dirfd(), g.str(g.data+64, "/tmp/d/e"), 0)
	d := uint64(g.open("/tmp/d", vfs.OpenDirectory))
	n := g.must(g.main, 61, d, g.data, 4096)
	if names := g.bytes(g.data, int(n)); !strings.Contains(names, "b\x00") {
		t.Fatalf("directory %q", names)
	}
	g.want(0, g.main, 61, d, g.data, 4096)
	g.must(g.main, 35, dirfd(), g.str(g.data, "/tmp/d/b"), 0)
	// The file exists until it is closed; then its bytes are free again.
	g.want(3, g.main, 67, fd, g.data, 3, 0)
	g.must(g.main, 57, fd)
	if g.k.vfs.Free() != 1<<20 {
		t.Fatalf("%d bytes of quota, want all", g.k.vfs.Free())
	}
}

func TestStandardStreams(t *testing.T) {
	var out, errs bytes.Buffer
	g := newGuest(t, Config{Stdin: strings.NewReader("line one\nline two\n"), Stdout: &out, Stderr: &errs})
	g.want(12, g.main, 63, 0, g.data, 12)
	if got := g.bytes(g.data, 12); got != "line one\nlin" {
		t.Fatalf("read %q", got)
	}
	g.want(6, g.main, 63, 0, g.data, 4096)
	g.want(0, g.main, 63, 0, g.data, 4096)
	g.str(g.data, "outerr")
	iov := g.words(g.data+64, g.data, 3, g.data+3, 3)
	g.want(6, g.main, 66, 1, iov, 2)
	g.want(3, g.main, 64, 2, g.data+3, 3)
	if out.String() != "outerr" || errs.String() != "err" {
		t.Fatalf("wrote %q %q", out.String(), errs.String())
	}
	g.want(-EBADF, g.main, 64, 0, g.data, 3)
	g.want(-EBADF, g.main, 63, 1, g.data, 3)
	g.want(-EFAULT, g.main, 64, 1, 0x8000, 3)
	g.want(-EBADF, g.main, 64, 9, g.data, 3)
	g.want(-ENOTTY, g.main, 29, 1, 0x5401, g.data)
	g.want(-ESPIPE, g.main, 62, 1, 0, 0)
	// A write that reaches unmapped memory returns the number of bytes before it.
	g.want(8, g.main, 64, 1, g.data+dataSize-8, 100)

	g = newGuest(t, Config{Stdin: strings.NewReader("one\ntwo\n"), StdinLines: true})
	g.want(4, g.main, 63, 0, g.data, 100)
	g.want(4, g.main, 63, 0, g.data, 100)
}

func TestPipesBlock(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	g.must(g.main, 59, g.data, 0)
	r, w := uint64(g.get32(g.data)), uint64(g.get32(g.data+4))
	buf := g.data + mem.PageSize
	g.blocks(a, 63, r, buf, 10)
	if a.Wait.Kind != WaitPipe || a.Wait.FD != int(r) {
		t.Fatalf("waits for %+v", a.Wait)
	}
	g.str(g.data+64, "hello")
	g.want(5, g.main, 64, w, g.data+64, 5)
	g.woken(a)
	if a.result() != 5 || g.bytes(buf, 5) != "hello" {
		t.Fatalf("read %d %q", a.result(), g.bytes(buf, 5))
	}
	// A write larger than the pipe waits for the reader, in parts.
	const big = 40 * mem.PageSize
	at := g.must(g.main, 222, 0, big, 3, mapPrivate|mapAnonymous, ^uint64(0), 0)
	g.blocks(a, 64, w, at, big)
	var got uint64
	for a.State == Blocked {
		got += g.must(g.main, 63, r, buf, 8*mem.PageSize)
	}
	g.woken(a)
	if a.result() != big {
		t.Fatalf("wrote %d", a.result())
	}
	for got < big {
		got += g.must(g.main, 63, r, buf, 8*mem.PageSize)
	}
	// poll reports the pipe and its end.
	g.put32(g.data, uint32(r))
	g.put32(g.data+4, pollIn)
	g.blocks(a, 73, g.data, 1, 0, 0)
	g.must(g.main, 57, w)
	g.woken(a)
	if a.result() != 1 || g.get32(g.data+4)>>16 != pollHup {
		t.Fatalf("poll gave %d, events %#x", a.result(), g.get32(g.data+4)>>16)
	}
	g.want(0, g.main, 63, r, buf, 10)
	g.want(0, g.main, 57, r)
	g.want(-EBADF, g.main, 57, r)

	// Writing without a reader: SIGPIPE, or EPIPE if that is ignored.
	g.words(g.data+1024, sigIgnore, 0, 0)
	g.must(g.main, 134, SIGPIPE, g.data+1024, 0, 8)
	g.must(g.main, 59, g.data, 0)
	g.must(g.main, 57, uint64(g.get32(g.data)))
	g.want(-EPIPE, g.main, 64, uint64(g.get32(g.data+4)), g.data, 1)
}

func TestDescriptors(t *testing.T) {
	var out bytes.Buffer
	g := newGuest(t, Config{Stdout: &out})
	g.want(3, g.main, 23, 1)
	g.want(10, g.main, 24, 1, 10, 0)
	g.want(4, g.main, 25, 1, 0, 0)
	g.want(5, g.main, 25, 1, 1030, 0)
	g.want(1, g.main, 25, 5, 1, 0)
	g.must(g.main, 57, 1)
	g.str(g.data, "x")
	g.want(1, g.main, 64, 10, g.data, 1)
	g.want(-EINVAL, g.main, 24, 3, 3, 0)
	g.want(3, g.main, 24, 10, 3, 0)
	if out.String() != "x" {
		t.Fatalf("wrote %q", out.String())
	}
	n := int64(0)
	for ; n < 2*maxFiles; n++ {
		if g.do(g.main, 23, 0) == -EMFILE {
			break
		}
	}
	if n == 0 || n > maxFiles {
		t.Fatalf("%d descriptors", n)
	}
}

func TestEventFD(t *testing.T) {
	g := newGuest(t, Config{})
	a := g.spawn()
	fd := g.must(g.main, 19, 0, 0)
	g.blocks(a, 63, fd, g.data, 8)
	g.words(g.data+8, 3)
	g.want(8, g.main, 64, fd, g.data+8, 8)
	g.woken(a)
	if g.get64(g.data) != 3 {
		t.Fatalf("read %d", g.get64(g.data))
	}
}
