package outfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	got, err := os.ReadFile(name)
	if err != nil || string(got) != want {
		t.Errorf("%s holds %q, %v; want %q", name, got, err, want)
	}
}

func create(t *testing.T, name string, opts Options) *File {
	t.Helper()
	f, err := Create(t.Context(), name, opts)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func put(t *testing.T, f *File, text string) {
	t.Helper()
	if _, err := io.WriteString(f, text); err != nil {
		t.Fatal(err)
	}
}

func done(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestCreate checks that the old file stays until the new one is complete or published.
func TestCreate(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "old")
	f := create(t, "a", Options{})
	put(t, f, "ne")
	holds(t, "a", "old")
	done(t, f.Publish())
	holds(t, "a", "ne")
	put(t, f, "w")
	done(t, f.Close())
	holds(t, "a", "new")
	if info, err := os.Stat("a"); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v; that of the old file is 0640", info.Mode(), err)
	}

	f = create(t, "a", Options{})
	put(t, f, "other")
	done(t, f.Discard())
	holds(t, "a", "new")

	f = create(t, "a", Options{})
	put(t, f, "begun")
	done(t, f.Publish())
	done(t, f.Discard())
	holds(t, "a", "begun")
	if left, _ := filepath.Glob("*" + Partial); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	for _, name := range []string{".", "none/a"} {
		if _, err := Create(t.Context(), name, Options{}); err == nil {
			t.Errorf("%s was created", name)
		}
	}
}

// TestLinks checks that a symbolic link stays and that its target is replaced or created.
func TestLinks(t *testing.T) {
	t.Chdir(t.TempDir())
	done(t, os.Mkdir("d", 0o755))
	write(t, "d/a", "old")
	for link, to := range map[string]string{"link": "second", "second": "d/a", "hanging": "d/new", "self": "self"} {
		done(t, os.Symlink(to, link))
	}
	for link, file := range map[string]string{"link": "d/a", "hanging": "d/new"} {
		f := create(t, link, Options{})
		put(t, f, "new")
		done(t, f.Close())
		holds(t, file, "new")
		if _, err := os.Readlink(link); err != nil {
			t.Error(err)
		}
	}
	if _, err := Create(t.Context(), "self", Options{}); err == nil {
		t.Error("a link to itself was created")
	}
}

// TestInputs checks that an input is refused as an output by any name and link.
func TestInputs(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "input")
	done(t, os.Symlink("a", "link"))
	done(t, os.Link("a", "hard"))
	stream, err := os.Open("a")
	done(t, err)
	defer stream.Close()
	for _, name := range []string{"a", "./a", "link", "hard"} {
		for _, opts := range []Options{{Inputs: []string{"", "-", "a"}}, {Inputs: []string{"hard"}}, {Streams: []any{nil, stream}}} {
			if _, err := Create(t.Context(), name, opts); err == nil {
				t.Errorf("%s, an input, became an output", name)
			}
			if err := Check(name, opts); err == nil {
				t.Errorf("%s, an input, may become an output", name)
			}
		}
	}
	write(t, "b"+Partial, "input")
	if _, err := Create(t.Context(), "b", Options{Inputs: []string{"b" + Partial}}); !errors.Is(err, ErrInput) {
		t.Errorf("the temporary file is an input: %v", err)
	}
	for _, name := range []string{"a", "b" + Partial} {
		holds(t, name, "input")
	}
}

// TestBusy checks that two processes cannot write one file, before it has its name or
// after, and that the remains of a killed process do not matter.
func TestBusy(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a"+Partial, strings.Repeat("of one that was killed", 100))
	f := create(t, "a", Options{})
	refused := func(when string) {
		t.Helper()
		if _, err := Create(t.Context(), "a", Options{}); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v", when, err)
		}
	}
	refused("before it has its name")
	put(t, f, "new")
	done(t, f.Publish())
	refused("when it has its name")
	refused("again")
	put(t, f, "er")
	done(t, f.Close())
	holds(t, "a", "newer")
	done(t, create(t, "a", Options{}).Discard())
}

// TestDevices checks that a file that is not regular is written directly.
func TestDevices(t *testing.T) {
	done(t, Write(t.Context(), os.DevNull, Options{Inputs: []string{os.DevNull}}, func(w io.Writer) error {
		_, err := io.WriteString(w, "nothing")
		return err
	}))
	if info, err := os.Stat(os.DevNull); err != nil || info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
}

// TestDistinct checks that two outputs of one command are recognised as one file by any
// name and link, whether it exists or not.
func TestDistinct(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, "a", "old")
	done(t, os.Mkdir("d", 0o755))
	for link, to := range map[string]string{"link": "a", "to-d": "d", "new-link": "d/new"} {
		done(t, os.Symlink(to, link))
	}
	done(t, os.Link("a", "hard"))
	for _, names := range [][]string{{"a", "a"}, {"link", "", "a"}, {"a", "hard"}, {"new", "./new"}, {"d/new", "to-d/new"}, {"d/new", "new-link"}, {"b", "c", "b"}} {
		if err := Distinct(names...); !errors.Is(err, ErrTwice) {
			t.Errorf("%q: %v", names, err)
		}
	}
	for _, names := range [][]string{nil, {"", ""}, {"a", "b"}, {"new", "d/new"}, {os.DevNull, os.DevNull}, {"none/a", "none/b"}, {"a", "a" + Partial}} {
		if err := Distinct(names...); err != nil {
			t.Errorf("%q: %v", names, err)
		}
	}
}
