package cdr

import (
	"fmt"

	"hindsight/cdr/format"
)

// LookIn names directories in which to look for the files that a trace does not contain
// (Options.Store).
func (t *Trace) LookIn(dirs ...string) {
	for _, dir := range dirs {
		if dir != "" {
			t.stores = append(t.stores, format.ImageStore{Dir: dir})
		}
	}
}

// stored returns the content of an object that is not in the trace.
func (t *Trace) stored(o *format.PartialObject) ([]byte, error) {
	for i := range t.stores {
		if data, ok := t.stores[i].Get(o.Sum, o.Size); ok {
			return data, nil
		}
	}
	name := o.Path
	if name == "" {
		name = t.meta.Program
	}
	return nil, fmt.Errorf("%s: its file %x is in none of the image directories (%w)", name, o.Sum, ErrNotRecorded)
}
