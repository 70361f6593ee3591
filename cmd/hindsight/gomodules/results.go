package main

import (
	"io/fs"
	"slices"
	"strings"
	"time"
)

// verdict is the result of a test.
type verdict string

const (
	absent  verdict = ""
	passed  verdict = "pass"
	failed  verdict = "fail"
	skipped verdict = "skip"
	race    verdict = "race"
	crashed verdict = "crash" // no result was printed
)

// results are the verdicts on the tests of a module, by "package test".
type results struct {
	names    []string // in the order of the output
	verdicts map[string]verdict
	texts    map[string]string // what was printed while the test ran
	elapsed  time.Duration
}

// union returns the names in both, without duplicates.
func (r *results) union(other *results) []string {
	all := slices.Clone(r.names)
	for _, name := range other.names {
		if _, ok := r.verdicts[name]; !ok {
			all = append(all, name)
		}
	}
	return all
}

// readResults reads the output of go test -v, or of hindsight's. The line of a
// package comes after its tests.
func readResults(text string) *results {
	r := &results{verdicts: map[string]verdict{}, texts: map[string]string{}}
	tests := map[string]verdict{} // of the package
	texts := map[string]*strings.Builder{}
	var order []string
	last, current := "", ""
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "=== ") && len(fields) > 2:
			current, _, _ = strings.Cut(fields[2], "/")
			if _, ok := tests[current]; !ok {
				order = append(order, current)
				tests[current] = crashed
				texts[current] = new(strings.Builder)
			}
		case strings.HasPrefix(line, "--- ") && len(fields) > 2:
			last = fields[2]
			tests[last] = worse(tests[last], map[string]verdict{"PASS:": passed, "FAIL:": failed, "SKIP:": skipped}[fields[1]])
		case strings.Contains(line, "race detected during execution of test"):
			if current != "" && tests[current] == crashed { // go test -v prints it before the result line
				last = current
			}
			tests[last] = race
		case (strings.HasPrefix(line, "ok  \t") || strings.HasPrefix(line, "FAIL\t")) && len(fields) > 1:
			for _, name := range order {
				full := fields[1] + " " + name
				r.names = append(r.names, full)
				r.verdicts[full] = tests[name]
				r.texts[full] = texts[name].String()
			}
			clear(tests)
			order, last, current = nil, "", ""
		}
		if b := texts[current]; b != nil {
			b.WriteString(line)
		}
	}
	return r
}

// worse returns the worse verdict of two runs of a test.
func worse(a, b verdict) verdict {
	order := []verdict{absent, crashed, skipped, passed, failed, race} // a run begins as crashed
	if slices.Index(order, a) > slices.Index(order, b) {
		return a
	}
	return b
}

// writable is a file system whose files are writable for their owner. Those in the module
// cache are read only.
type writable struct{ fs.FS }

func (w writable) Open(name string) (fs.File, error) {
	f, err := w.FS.Open(name)
	if err != nil {
		return nil, err
	}
	return writableFile{f}, nil
}

type writableFile struct{ fs.File }

func (f writableFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return writableInfo{info}, err
}

// ReadDir implements [fs.ReadDirFile].
func (f writableFile) ReadDir(n int) ([]fs.DirEntry, error) {
	return f.File.(fs.ReadDirFile).ReadDir(n)
}

type writableInfo struct{ fs.FileInfo }

func (i writableInfo) Mode() fs.FileMode { return i.FileInfo.Mode() | 0o200 }
