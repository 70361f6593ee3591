package cdr

import (
	"fmt"

	"hindsight/cdr/format"
	"hindsight/mpsim/image"
	"hindsight/tracefmt"
)

// Objects returns the shared objects that the program loaded, in order.
func (t *Trace) Objects() ([]format.Object, error) {
	list, err := t.objects()
	var shared []format.Object
	for i := range list {
		if list[i].Flags&format.MainObject == 0 {
			shared = append(shared, list[i].Object)
		}
	}
	return shared, err
}

// objects returns the objects of all object blocks, including the executable if it is one
// of them.
func (t *Trace) objects() ([]format.PartialObject, error) {
	var list []format.PartialObject
	total := 0
	for _, h := range t.r.Blocks() {
		if h.Kind != tracefmt.KindObject {
			continue
		}
		total += int(h.Raw)
		if total > format.MaxObjectBytes {
			return nil, corrupt(h, fmt.Errorf("shared objects of more than %d bytes: %w", format.MaxObjectBytes, tracefmt.ErrMalformed))
		}
		if err := t.read(h, func(b []byte) error {
			switch n := int(h.Thread); {
			case n == len(list) && n < format.MaxObjects:
				o, err := format.DecodeObject(b)
				list = append(list, o)
				return err
			case n == len(list)-1 && n >= 0:
				return list[n].Take(b)
			}
			return fmt.Errorf("shared object %d: %w", h.Thread, tracefmt.ErrMalformed)
		}); err != nil {
			return nil, err
		}
	}
	for i := range list {
		o := &list[i]
		if o.Flags&format.StoredObject != 0 && len(o.Data) == 0 {
			var err error
			if o.Data, err = t.stored(o); err != nil {
				return nil, err
			}
		}
		if err := o.Whole(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// storedImage returns the executable of a trace that stores it separately, or nil if the
// trace has none.
func (t *Trace) storedImage() ([]byte, error) {
	list, err := t.objects()
	for i := range list {
		if list[i].Flags&format.MainObject != 0 {
			return list[i].Data, nil
		}
	}
	return nil, err
}

// Space returns the program as it was in memory: the executable and the shared objects
// that it loaded.
func (t *Trace) Space() (*image.Space, error) {
	space, err := t.executable()
	if err != nil {
		return nil, err
	}
	for x, err := range t.Extras(tracefmt.KindNotes) {
		if err == nil {
			space.Notes, err = image.DecodeNotes(x.Payload)
		}
		if err != nil {
			return nil, err
		}
	}
	objects, err := t.objects()
	if err != nil {
		return nil, err
	}
	for i := range objects {
		o := &objects[i]
		if o.Flags&format.MainObject != 0 {
			continue
		}
		m, err := space.Shared(o.Data, o.Sum, o.Path, o.Base)
		if err != nil {
			return nil, err
		}
		if !space.Add(m, o.Late) {
			return nil, fmt.Errorf("shared object %q at 0x%x: overlaps another one: %w", o.Path, o.Base, tracefmt.ErrMalformed)
		}
	}
	return space, nil
}

// executable returns the executable alone, in a separate space.
func (t *Trace) executable() (*image.Space, error) {
	if t.known != nil {
		return t.known.Anew(), nil
	}
	elf, err := t.Image()
	if err != nil {
		return nil, err
	}
	if len(elf) == 0 && !t.Info().Complete { // killed before the program was written
		return image.NewSpace(new(image.Image)), nil
	}
	return image.Parse(elf)
}

// UseProgram tells the trace that program holds the executable of the run, so
// that many traces of one program can share it.
func (t *Trace) UseProgram(program *image.Space) { t.known = program }
