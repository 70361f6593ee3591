package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"hindsight/cdr"
	"hindsight/cmd/internal/cli"
	"hindsight/tracefmt/outfile"
)

// A fault is what a [faultyDisk] does at one of its operations.
type fault int

const (
	noFault    fault = iota
	killed           // half of the operation happens, and nothing after it
	powerCut         // the same, and what was not synced is lost
	ioError          // it fails once, with EIO
	diskFull         // every write from then on fails with ENOSPC after half of it
	shortWrite       // half is written, without an error
)

var faultNames = [...]string{"none", "killed", "power cut", "EIO", "ENOSPC", "short write"}

var errDead = errors.New("the process is dead")

// faultyDisk is the disk, with a fault at operation number at.
type faultyDisk struct {
	fault  fault
	at, n  int
	failed bool
	open   []*faultyFile
}

// next counts an operation and reports whether it is the faulty one.
func (d *faultyDisk) next() (now bool, err error) {
	d.n++
	switch {
	case d.n < d.at || d.fault == noFault:
		return false, nil
	case d.n == d.at:
		d.failed = true
		return true, nil
	case d.fault == killed || d.fault == powerCut:
		return false, errDead
	}
	return false, nil
}

// simple is an operation that happens entirely or not at all.
func (d *faultyDisk) simple(do func() error) error {
	now, err := d.next()
	switch {
	case err != nil:
		return err
	case now && d.fault == ioError:
		return syscall.EIO
	case now && (d.fault == killed || d.fault == powerCut):
		return errDead
	}
	return do()
}

func (d *faultyDisk) OpenFile(name string, flag int, perm fs.FileMode) (h outfile.Handle, err error) {
	err = d.simple(func() error {
		f, err := os.OpenFile(name, flag, perm)
		if err == nil {
			file := &faultyFile{File: f, disk: d, path: name}
			d.open = append(d.open, file)
			h = file
		}
		return err
	})
	return h, err
}

func (d *faultyDisk) Rename(from, to string) error {
	return d.simple(func() error {
		for _, f := range d.open {
			if f.path == from {
				f.path = to
			}
		}
		return os.Rename(from, to)
	})
}

func (d *faultyDisk) Remove(name string) error {
	return d.simple(func() error { return os.Remove(name) })
}

// end is the end of the process and, depending on the fault, of power.
func (d *faultyDisk) end(t *testing.T) {
	for _, f := range d.open {
		f.Close()
		if d.fault != powerCut || f.synced == f.written {
			continue
		}
		if err := os.Truncate(f.path, f.synced); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
	}
}

type faultyFile struct {
	*os.File
	disk            *faultyDisk
	path            string
	written, synced int64
}

func (f *faultyFile) Write(b []byte) (n int, err error) {
	now, err := f.disk.next()
	d := f.disk
	switch {
	case err != nil:
		return 0, err
	case now && d.fault == ioError:
		return 0, syscall.EIO
	case now && d.fault != noFault || d.failed && d.fault == diskFull:
		n, err = f.File.Write(b[:len(b)/2])
		switch d.fault {
		case killed, powerCut:
			err = errDead
		case diskFull:
			err = syscall.ENOSPC
		}
	default:
		n, err = f.File.Write(b)
	}
	f.written += int64(n)
	return n, err
}

func (f *faultyFile) Sync() error {
	return f.disk.simple(func() error { f.synced = f.written; return nil })
}
func (f *faultyFile) Truncate(n int64) error {
	return f.disk.simple(func() error { f.written = n; return f.File.Truncate(n) })
}
func (f *faultyFile) Chmod(m fs.FileMode) error {
	return f.disk.simple(func() error { return f.File.Chmod(m) })
}

// faultPoints is the number of operations at which each fault is tried, spread evenly
// over those of the command. HINDSIGHT_FAULTS changes it (make faults).
func faultPoints() int {
	if n, err := strconv.Atoi(os.Getenv("HINDSIGHT_FAULTS")); err == nil {
		return n
	}
	return 3
}

// TestFaults makes every command that writes a file meet every fault. Afterwards the
// file's name must lead to the old file, or to the new one as far as it can be read, and
// the command must have failed.
func TestFaults(t *testing.T) {
	t.Chdir(t.TempDir())
	prog := exampleFile(t, "race_wrong_lock")
	if err := os.Rename(prog, "program"); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"run", "-o", "in.hst", "program"}, {"run", "--record", "wet", "-o", "in.wet.hst", "program"}, {"run", "--seed", "2", "-o", "two.hst", "program"},
		{"export", "-o", "in.std", "in.hst"}, {"traces", "-o", "in.raw", "program"}, {"pack", "-o", "in.hpk", "in.raw"},
	} {
		command(t.Context(), t, args...)
	}
	for _, args := range [][]string{
		{"run", "--epoch-memory", "4K", "-o", "out", "program"}, {"run", "--keep", "shared", "-o", "out", "program"}, {"wet", "-o", "out", "in.hst"},
		{"import", "-o", "out", "in.std"}, {"export", "-o", "out", "in.hst"},
		{"races", "-o", "out", "in.hst"}, {"races", "--format", "json", "-o", "out", "in.hst"}, {"races", "--format", "sarif", "-o", "out", "in.hst"},
		{"diff", "-o", "out", "in.hst", "two.hst"}, {"slice", "--race", "R1", "--format", "html", "-o", "out", "in.wet.hst"},
		{"query", "-o", "out", "in.wet.hst", "cf"}, {"traces", "-o", "out", "program"}, {"pack", "-o", "out", "in.raw"}, {"unpack", "-o", "out", "in.hpk"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) { meetFaults(t, args) })
	}
}

func meetFaults(t *testing.T, args []string) {
	disk := &faultyDisk{}
	if err := runOn(t, disk, args); err != nil {
		t.Fatal(err)
	}
	disk.end(t)
	whole, err := os.ReadFile("out")
	if err != nil {
		t.Fatal(err)
	}
	operations := disk.n
	points := min(faultPoints(), operations)
	for f := killed; f <= shortWrite; f++ {
		for i := range points {
			at := 1 + (i*operations+int(f))/points%operations
			os.Remove("out")
			os.Remove("out" + outfile.Partial)
			old := ""
			if (i+int(f))%2 == 0 {
				old = "the file of before"
				if err := os.WriteFile("out", []byte(old), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			disk := &faultyDisk{fault: f, at: at}
			err := runOn(t, disk, args)
			disk.end(t)
			if !disk.failed {
				continue // without an old file there is one operation less
			}
			checkAfterFault(t, err, faultNames[f], at, old, whole)
		}
	}
}

// runOn runs a command that writes to disk.
func runOn(t *testing.T, disk outfile.FS, args []string) error {
	root := newRoot(cli.Streams{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
	root.SetArgs(args)
	err := root.ExecuteContext(outfile.On(t.Context(), disk))
	var status cli.ExitStatus
	if errors.As(err, &status) {
		return nil // a status of the guest, or of races
	}
	return err
}

func checkAfterFault(t *testing.T, failed error, name string, at int, old string, whole []byte) {
	t.Helper()
	got, err := os.ReadFile("out")
	switch {
	case errors.Is(err, fs.ErrNotExist) && old == "" && failed != nil:
		return
	case err != nil:
		t.Errorf("%s at operation %d: %v, after %v", name, at, err, failed)
	case old != "" && string(got) == old && failed != nil:
	case bytes.Equal(got, whole):
	case failed == nil:
		t.Errorf("%s at operation %d: the command ended well, and the file is another", name, at)
	default:
		tr, err := cdr.Open("out")
		if err != nil {
			t.Errorf("%s at operation %d: neither the old nor the new file is there, after %v: %v", name, at, failed, err)
			return
		}
		defer tr.Close()
		if err := tr.Verify(); err != nil || tr.Info().Epochs == 0 || tr.Info().Complete {
			t.Errorf("%s at operation %d: %d epochs, complete: %v, %v", name, at, tr.Info().Epochs, tr.Info().Complete, err)
		}
	}
	if left, _ := filepath.Glob("out" + outfile.Partial); len(left) > 0 && name != "killed" && name != "power cut" && name != "EIO" {
		t.Errorf("%s at operation %d: %s is left", name, at, left)
	}
}

// TestOutputsGoThroughOutfile checks that commands create all files with package outfile,
// except temporary ones.
func TestOutputsGoThroughOutfile(t *testing.T) {
	temporary := map[string]bool{"gdb.go": true}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "_test.go") || temporary[name] {
			continue
		}
		for _, call := range []string{"os.Create(", "os.OpenFile(", "os.WriteFile(", "os.Rename("} {
			if strings.Contains(string(text), call) {
				t.Errorf("%s calls %s…): outputs are written by package outfile", name, call)
			}
		}
	}
}
