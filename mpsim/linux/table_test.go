package linux

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestDocumented checks that docs/system-calls.md lists each call once, and that those
// under Absent are exactly the missing ones.
func TestDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/system-calls.md")
	if err != nil {
		t.Fatal(err)
	}
	lists, _, _ := strings.Cut(string(text), "## What differs")
	_, lists, _ = strings.Cut(lists, "## Handled")
	handled, absent, _ := strings.Cut(lists, "## Absent")
	_, absent, _ = strings.Cut(absent, "ENOSYS):") // after the text about clone
	name := regexp.MustCompile("`([a-z0-9_]+)`")
	documented := map[string]string{}
	for section, part := range map[string]string{"handled": handled, "absent": absent} {
		for _, m := range name.FindAllStringSubmatch(part, -1) {
			if documented[m[1]] != "" {
				t.Errorf("%s is listed twice", m[1])
			}
			documented[m[1]] = section
		}
	}
	for nr, e := range table {
		if e.name == "" {
			continue
		}
		want := "handled"
		if e.do == nil || e.name == "rseq" {
			want = "absent"
		}
		if documented[e.name] != want {
			t.Errorf("%d %s: documented as %q, want %q", nr, e.name, documented[e.name], want)
		}
		delete(documented, e.name)
	}
	for name := range documented {
		t.Errorf("%s is no system call of the table", name)
	}
}

// TestAgain tests variants of calls with more flags, which qemu does not have.
func TestAgain(t *testing.T) {
	g := newGuest(t, Config{})
	const openat2, preadv2, pwritev2, fchmodat2, create = 437, 286, 287, 452, 0x42
	name, how := g.str(g.data+8192, "/tmp/again"), g.data+256
	g.words(how, create, 0o600, 0)
	fd := g.must(g.main, openat2, dirfd(), name, how, 24)
	g.want(-EINVAL, g.main, openat2, dirfd(), name, how, 16)
	g.words(how, 0, 0o600, 0)
	g.want(-EINVAL, g.main, openat2, dirfd(), name, how, 24) // a mode, although nothing is created
	g.words(how, 0, 0, 8)
	g.want(-ENOSYS, g.main, openat2, dirfd(), name, how, 24) // RESOLVE_BENEATH
	g.words(how, 0, 0, 2, 0)
	g.must(g.main, openat2, dirfd(), name, how, 32)
	g.words(how, 0, 0, 0, 1)
	g.want(-E2BIG, g.main, openat2, dirfd(), name, how, 32)

	iov := g.words(g.data+512, g.str(g.data+600, "again"), 5)
	g.want(5, g.main, pwritev2, fd, iov, 1, 3, 0, 4)
	g.want(-EOPNOTSUPP, g.main, pwritev2, fd, iov, 1, 3, 0, 64)
	g.want(5, g.main, preadv2, fd, iov, 1, 3, 0, 1)
	g.want(0, g.main, fchmodat2, dirfd(), name, 0o400, 0)
	g.want(-EINVAL, g.main, fchmodat2, dirfd(), name, 0o400, 1)
	g.want(0, g.main, fchmodat2, fd, g.str(g.data+700, ""), 0o600, 0x1000)
}
