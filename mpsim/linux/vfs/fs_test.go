package vfs

import (
	"os"
	"path/filepath"
	"testing"

	"hindsight/mpsim/mem"
)

func newFS(t *testing.T, cfg Config) *FS {
	t.Helper()
	cfg.Space = mem.New(mem.Config{})
	if cfg.Changing == nil {
		cfg.Changing = func(string) *Node { return nil }
	}
	v, err := New(&cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

func content(t *testing.T, v *FS, p string) (string, int64) {
	t.Helper()
	f, e := v.Open(p, 0, 0)
	if e != 0 {
		return "", e
	}
	defer f.Close()
	r, ok := f.(Regular)
	if !ok {
		t.Fatalf("%s is not a regular file", p)
	}
	b := make([]byte, r.Size())
	n, e := r.ReadAt(b, 0)
	return string(b[:n]), e
}

// TestTree fills the tree as a kernel does, and reads it.
func TestTree(t *testing.T) {
	v := newFS(t, Config{})
	calls := 0
	v.Add("/proc/self/stat", Generated(v.Inode(), func() string { calls++; return string(rune('0' + calls)) }))
	v.Add("/proc/self/exe", Link("/bin/program"))
	v.Add("/bin/program", ReadOnly(0o755, []byte("code")))
	v.Alias("/proc", "self", "1000")
	for _, want := range []string{"1", "2"} { // generated at each open
		if got, e := content(t, v, "/proc/1000/stat"); got != want || e != 0 {
			t.Errorf("%q, error %d, want %q", got, -e, want)
		}
	}
	if got, e := content(t, v, "/proc/self/exe"); got != "code" || e != 0 {
		t.Errorf("%q, error %d", got, -e)
	}
	if to, e := v.Readlink("/proc/1000/exe"); to != "/bin/program" || e != 0 {
		t.Errorf("a link to %q, error %d", to, -e)
	}
	if _, e := v.Readlink("/bin/program"); e != -EINVAL {
		t.Errorf("readlink of a file: error %d", -e)
	}
	if _, e := v.Open("/bin/program", OpenWriteOnly, 0); e != -EACCES {
		t.Errorf("writing a read-only file: error %d", -e)
	}
}

// TestAnonymous checks that content without a name is released with its last reference.
func TestAnonymous(t *testing.T) {
	v := newFS(t, Config{MaxBytes: 1 << 20})
	f := v.OpenAnonymous(0o777).(Regular)
	if n, e := f.WriteAt(make([]byte, 1000), 0); n != 1000 || e != 0 {
		t.Fatalf("%d bytes, error %d", n, -e)
	}
	if v.Free() == 1<<20 || !Changeable(f) {
		t.Errorf("%d bytes are free, changeable %v", v.Free(), Changeable(f))
	}
	f.Close()
	if v.Free() != 1<<20 {
		t.Errorf("%d bytes are free after closing", v.Free())
	}
}

// TestHostIsReadOnly checks that the guest's writes do not reach the host, and that Save
// writes them elsewhere.
func TestHostIsReadOnly(t *testing.T) {
	root, out := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a"), []byte("host"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, e := newFS(t, Config{Root: root}).Open("/a", OpenWriteOnly, 0); e != -EROFS {
		t.Errorf("without Writable: error %d", -e)
	}
	v := newFS(t, Config{Root: root, Writable: true, MaxBytes: 1 << 20})
	f, e := v.Open("/a", OpenWriteOnly, 0)
	if e != 0 {
		t.Fatalf("error %d", -e)
	}
	if _, e := f.(Regular).WriteAt([]byte("guest"), 0); e != 0 {
		t.Fatalf("error %d", -e)
	}
	f.Close()
	if err := v.Written().Save(out, false); err != nil {
		t.Fatal(err)
	}
	for dir, want := range map[string]string{root: "host", out: "guest"} {
		if b, err := os.ReadFile(filepath.Join(dir, "a")); string(b) != want {
			t.Errorf("%q, %v, want %q", b, err, want)
		}
	}
	if got, _ := content(t, v, "/a"); got != "guest" {
		t.Errorf("the guest reads %q", got)
	}
}
