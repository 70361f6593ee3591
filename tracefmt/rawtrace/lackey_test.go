package rawtrace

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func toRecords(t testing.TB, text []byte, piece int) []byte {
	t.Helper()
	var out bytes.Buffer
	e := NewLackeyEncoder(&out)
	for rest := text; len(rest) > 0; {
		n := min(piece, len(rest))
		if _, err := e.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func toText(records []byte, piece int) ([]byte, error) {
	var out bytes.Buffer
	d := NewLackeyDecoder(&out)
	for rest := records; len(rest) > 0; {
		n := min(piece, len(rest))
		if _, err := d.Write(rest[:n]); err != nil {
			return out.Bytes(), err
		}
		rest = rest[n:]
	}
	return out.Bytes(), d.Close()
}

func TestLackeyRoundTrip(t *testing.T) {
	for name, text := range map[string]string{
		"empty":     "",
		"typical":   "==12== Lackey\n==12== \nI  0401ab70,3\n S 1fff000758,8\n L 00000000,1\n M ffffffffffff,255\n==12== \n",
		"no end":    "I  0401ab70,3\nI  0401ab",
		"no digits": "I  ,3\nI  0401ab70\nI  0401ab70,\n\n\nI  0401AB70,3\n",
		"odd forms": "I  0401ab70,03\nI  00401ab70,3\nI  401ab70,3\nI  0401ab70,256\nI  1000000000000,3\nI 0401ab70,3\nI  0401ab70,3 \r\n",
		"binary":    "\x00\xff\n\n\x00",
		"long":      strings.Repeat("abcdefg", 3000) + "\nI  0401ab70,3\n",
		"long end":  strings.Repeat("I  0401ab70,3 ", 3000),
	} {
		for _, piece := range []int{1, 7, 100, 1 << 20} {
			got, err := toText(toRecords(t, []byte(text), piece), piece+4)
			if err != nil || string(got) != text {
				t.Errorf("%s in pieces of %d: %v\n%.200q\n%.200q", name, piece, err, got, text)
			}
		}
	}
}

// TestLackeyRecords checks that a line with an access is one record, with the address
// where a predictor looks for it.
func TestLackeyRecords(t *testing.T) {
	b := toRecords(t, []byte("I  0401ab70,3\n S 1fff000758,8\n L 12345678,4\nI  0401ab73,5\n"), 1000)
	want := []Record{
		{0, 0x0401ab70 | 3<<48},
		{0x0401ab70 * 4, 0x1fff000758 | 8<<48 | 2<<56},
		{0x0401ab70*4 + 1, 0x12345678 | 4<<48 | 1<<56},
		{0x0401ab70*4 + 2, 0x0401ab73 | 5<<48},
	}
	if len(b) != len(want)*RecordSize {
		t.Fatalf("%d bytes", len(b))
	}
	for i, w := range want {
		if got := GetRecord(b[i*RecordSize:]); got != w {
			t.Errorf("record %d: %x, want %x", i, got, w)
		}
	}
}

func TestLackeyDamage(t *testing.T) {
	good := toRecords(t, []byte("I  0401ab70,3\n S 1fff000758,8\nend"), 1000)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		bad := bytes.Clone(good)
		bad[rnd.IntN(len(bad))] ^= 1 << rnd.IntN(8)
		if _, err := toText(bad, 50); err != nil && !errors.Is(err, ErrLackey) {
			t.Errorf("%v", err)
		}
	}
	if _, err := toText(good[:len(good)-1], 50); !errors.Is(err, ErrLackey) {
		t.Errorf("cut: %v", err)
	}
	if _, err := toText(append(good, good...), 50); !errors.Is(err, ErrLackey) {
		t.Errorf("twice: %v", err)
	}
}

// TestLackeyReal encodes and decodes the output of the installed Valgrind.
func TestLackeyReal(t *testing.T) {
	valgrind, err := exec.LookPath("valgrind")
	if err != nil {
		t.Skip("valgrind is not installed")
	}
	log := filepath.Join(t.TempDir(), "log")
	if out, err := exec.Command(valgrind, "--tool=lackey", "--trace-mem=yes", "--log-file="+log, "true").CombinedOutput(); err != nil {
		t.Skipf("valgrind does not run here: %v\n%s", err, out)
	}
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	records := toRecords(t, text, 1<<20)
	got, err := toText(records, 1<<20)
	if err != nil || !bytes.Equal(got, text) {
		t.Fatalf("%d bytes became %d, %v", len(text), len(got), err)
	}
	lines := bytes.Count(text, []byte("\n"))
	if n := len(records) / RecordSize; n > lines+lines/10+1000 {
		t.Errorf("%d lines took %d records", lines, n)
	}
}

func FuzzLackey(f *testing.F) {
	f.Add([]byte("==1== x\nI  0401ab70,3\n S 1fff000758,8\n"))
	f.Add([]byte(" M 00000000,1\n L 00,\nI"))
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := toText(toRecords(t, b, 13), 17)
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%q became %q, %v", b, got, err)
		}
		text, err := toText(b, 19) // as records
		if err == nil && len(text) > 32*(len(b)/RecordSize+1) {
			t.Fatalf("%d bytes of records became %d of text", len(b), len(text))
		}
	})
}
