package std

import (
	"bytes"
	"fmt"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/tracefmt"
)

// Imported returns the names that reports use for an imported run.
type Imported struct{ names Names }

// ImportedNames returns the names of an imported run, or nil if the trace is of a
// program.
func ImportedNames(t *cdr.Trace) (*Imported, error) {
	var f *Imported
	for x, err := range t.Extras(tracefmt.KindNames) {
		if err != nil {
			return nil, err
		}
		if f == nil {
			f = &Imported{}
		}
		if err := f.names.Add(bytes.Clone(x.Payload)); err != nil {
			return nil, err
		}
	}
	return f, nil
}

func location(pc uint64) string { return fmt.Sprintf("loc %d", pc) }

// Func implements report.Image.
func (f *Imported) Func(pc uint64) (image.Symbol, bool) {
	return image.Symbol{Name: location(pc), Addr: pc, Size: 1}, true
}

// Lookup implements report.Image.
func (f *Imported) Lookup(string) (image.Symbol, bool) { return image.Symbol{}, false }

// Object implements report.Image.
func (f *Imported) Object(addr uint64) (image.Symbol, uint64, bool) {
	name, start, ok := f.names.Variable(addr)
	return image.Symbol{Name: name, Addr: start, Size: 8}, addr - start, ok
}

// ObjectPathSize implements report.Image.
func (f *Imported) ObjectPathSize(addr, _ uint64) string {
	name, start, _ := f.names.Variable(addr)
	if addr > start {
		return fmt.Sprintf("%s+%d", name, addr-start)
	}
	return name
}

// TLSPath implements report.Image.
func (f *Imported) TLSPath(uint64, uint64) string { return "" }

// TLSObject implements report.Image.
func (f *Imported) TLSObject(uint64, uint64) (image.Symbol, uint64, bool) {
	return image.Symbol{}, 0, false
}

// User implements report.Image.
func (f *Imported) User(uint64) bool { return true }

// Frames returns no frame for a call that the text does not contain, because a thread
// begins nowhere.
func (f *Imported) Frames(pc uint64) []image.Frame { return []image.Frame{{Function: location(pc)}} }
