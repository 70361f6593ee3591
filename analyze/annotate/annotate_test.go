package annotate

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hindsight/mpsim/rv"
)

func TestSources(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	write("lib/a.c", "deep\r\ntwo\n")
	write("a.c", "shallow\n")
	write("binary.c", "\xff\xfe")
	absolute := write("c.c", "one\ntwo")
	for _, c := range []struct {
		name string
		dirs []string
		want []string
	}{
		{"/build/lib/a.c", nil, nil},
		{"/build/lib/a.c", []string{dir}, []string{"deep", "two"}},
		{"/build/other/a.c", []string{dir}, []string{"shallow"}},
		{"./././a.c", []string{dir}, []string{"shallow"}},
		{absolute, nil, []string{"one", "two"}},
		{"/build/binary.c", []string{dir}, nil},
		{dir, nil, nil},
		{"", []string{dir}, nil},
	} {
		s := Sources{Dirs: c.dirs}
		if got := s.Lines(c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s in %q: %q, want %q", c.name, c.dirs, got, c.want)
		}
	}
}

func TestValueText(t *testing.T) {
	integer, double, single := rv.Inst{Op: rv.OpADD, Rd: 1}, rv.Inst{Op: rv.OpFADDD, Rd: 1}, rv.Inst{Op: rv.OpFADDS, Rd: 1}
	minus := int64(-3)
	for _, c := range []struct {
		inst rv.Inst
		v    uint64
		want string
	}{
		{integer, 0, "0"}, {integer, uint64(minus), "-3"}, {integer, 1 << 32, "0x100000000"}, {integer, 1<<32 - 1, "4294967295"},
		{double, 0x3ff8000000000000, "1.5"}, {single, 0xffffffff3fc00000, "1.5"},
	} {
		if got := valueText(c.inst, c.v); got != c.want {
			t.Errorf("%v %#x: %s, want %s", c.inst.Op, c.v, got, c.want)
		}
	}
}

func TestRegisterName(t *testing.T) {
	for r, want := range map[uint8]string{0: "zero", 1: "ra", 10: "a0", 31: "t6", 32: "f0", 63: "f31"} {
		if got := registerName(r); got != want {
			t.Errorf("register %d: %s, want %s", r, got, want)
		}
	}
}

// FuzzDOTQuote checks that no text can end the string that contains it.
func FuzzDOTQuote(f *testing.F) {
	for _, s := range []string{"", `a"b`, `\`, "x\ny", "\x00\x1b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		q := dotQuote(s)
		if !strings.HasPrefix(q, `"`) || !strings.HasSuffix(q, `\l"`) {
			t.Fatalf("%q", q)
		}
		for i := 1; i < len(q)-1; i++ {
			switch {
			case q[i] == '\\':
				i++
				if i == len(q)-1 {
					t.Fatalf("%q: the last quote is escaped", q)
				}
			case q[i] == '"' || q[i] < ' ':
				t.Fatalf("%q: byte %d", q, i)
			}
		}
	})
}
