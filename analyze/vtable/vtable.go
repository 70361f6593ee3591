// Package vtable recognises races that a compiler adds to C++. A destructor begins by
// storing the address of its class's table of virtual functions in the object. The object
// already has that value unless an object of a derived class was destroyed before. The
// source has no such store, and a thread that calls a virtual function meanwhile is
// correct if the destructor waits for it. A destructor that changes the value, as that of
// a base class does, races.
package vtable

import (
	"hindsight/analyze/race"
	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// Unchanged returns the races without those between a read and such a store, as far as
// the first and the last instance of a race show. If only the last instance of a race
// changes the value, that becomes the race's first instance too.
func Unchanged(t *cdr.Trace, img *image.Space, races []race.Race) ([]race.Race, error) {
	f := finder{trace: t, img: img, history: t.Histories(), classes: map[uint64]string{}}
	kept := races[:0:0]
	for _, r := range races {
		silent, err := f.silent(&r.First)
		if err != nil {
			return nil, err
		}
		if silent {
			if silent, err = f.silent(&r.Last); err != nil {
				return nil, err
			}
			if silent {
				continue
			}
			r.First = r.Last
		}
		kept = append(kept, r)
	}
	return kept, nil
}

// finder finds such races in one trace.
type finder struct {
	trace   *cdr.Trace
	img     *image.Space
	history *cdr.Histories
	classes map[uint64]string // by the instruction that stores; see class
}

// silent reports whether one side of an instance is a store that changes nothing, and the
// other a read.
func (f *finder) silent(i *race.Instance) (bool, error) {
	store, read := &i.Later, &i.Earlier
	if !store.Op.Writes() {
		store, read = read, store
	}
	if !store.Op.Plain() || !store.Op.Writes() || !read.Op.Plain() || read.Op.Writes() || store.Size != 8 {
		return false, nil
	}
	class := f.class(store.PC)
	if class == "" {
		return false, nil
	}
	h, err := f.history.Of(store.Thread)
	if err != nil {
		return false, err
	}
	n, err := h.Execution(store.Site, store.Ordinal)
	if err != nil {
		return false, err
	}
	index, err := h.SiteIndex(n, store.Site, store.Ordinal)
	if err != nil {
		return false, err
	}
	if s, ok, err := h.LastStore(n, index, store.Address, 8); err != nil {
		return false, err
	} else if ok && f.member(s.Site) != "" {
		return f.sets(s.Site, class), nil
	}
	return f.madeElsewhere(store, class)
}

// madeElsewhere reports whether other threads stored there, all of them for the class.
func (f *finder) madeElsewhere(store *race.Side, class string) (bool, error) {
	found := false
	for id := range f.trace.Threads() {
		t := event.ThreadID(id)
		if t == store.Thread {
			continue
		}
		h, err := f.history.Of(t)
		if err != nil {
			return false, err
		}
		s, ok, err := h.LastStore(h.Blocks(), 0, store.Address, 8)
		if err != nil {
			return false, err
		}
		if ok && !f.sets(s.Site, class) {
			return false, nil
		}
		found = found || ok
	}
	return found, nil
}
