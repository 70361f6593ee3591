package cdr

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"sync"

	"hindsight/mpsim/image"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

// Object is a shared object that the program of a trace loaded.
type Object struct {
	Path string // as the program saw it
	Base uint64 // added to every address of the file
	Late bool   // loaded by the program when it ran (dlopen), not with it
	Data []byte // the file
}

const (
	maxObjects    = 1 << 12
	maxObjectPath = 1 << 12
	// Flags.
	lateObject   = 1
	storedObject = 2 // its content is in an ImageStore
	mainObject   = 4 // the executable
	objectFlags  = lateObject | storedObject | mainObject

	maxObjectBytes = 1 << 30
)

// Load implements [event.ImageObserver]: the shared objects become part of the
// trace.
func (r *Recorder) Load(images []event.Image) error {
	for i := range images {
		m := &images[i]
		if r.objects >= maxObjects || len(m.Path) > maxObjectPath {
			return r.fail(fmt.Errorf("record: more than %d shared objects, or a path of more than %d bytes", maxObjects, maxObjectPath))
		}
		if r.opts.Store != nil {
			if err := r.storeObject(m, 0); err != nil {
				return r.fail(err)
			}
			continue
		}
		blocks, err := r.opts.Objects.pack(m)
		if err != nil {
			return r.fail(err)
		}
		for _, b := range blocks {
			if err := r.w.AppendPacked(tracefmt.KindObject, r.objects, b); err != nil {
				return r.fail(err)
			}
		}
		r.objects++
	}
	return nil
}

// storeObject puts a file into the store, and its name into the trace.
func (r *Recorder) storeObject(m *event.Image, flags uint64) error {
	var err error
	if m.Digest, err = r.opts.Store.Put(m.Data); err != nil {
		return err
	}
	err = r.w.Append(tracefmt.KindObject, r.objects, encodeObject(m, flags|storedObject))
	r.objects++
	return err
}

// PackedObjects keeps shared objects as they are compressed, for many recordings. It
// may be used by several recorders at once.
type PackedObjects struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]PackedImage // by the contents of the first block
}

// pack makes the blocks of a shared object. A nil PackedObjects keeps nothing.
func (p *PackedObjects) pack(m *event.Image) (PackedImage, error) {
	head := encodeObject(m, 0)
	if p == nil {
		return PackImage(append(head, m.Data...))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	key := sha256.Sum256(head)
	if blocks, ok := p.kept[key]; ok {
		return blocks, nil
	}
	blocks, err := PackImage(append(head, m.Data...))
	if p.kept == nil {
		p.kept = map[[sha256.Size]byte]PackedImage{}
	}
	p.kept[key] = blocks
	return blocks, err
}

// encodeObject encodes what precedes the content of a shared object.
func encodeObject(m *event.Image, flags uint64) []byte {
	if m.Late {
		flags |= lateObject
	}
	b := binary.AppendUvarint(nil, m.Base)
	b = binary.AppendUvarint(b, flags)
	b = binary.AppendUvarint(b, uint64(len(m.Data)))
	b = append(b, m.Digest[:]...)
	b = binary.AppendUvarint(b, uint64(len(m.Path)))
	return append(b, m.Path...)
}

// object is a shared object as its blocks tell it, of which parts may be missing.
type object struct {
	Object
	flags uint64
	size  uint64
	sum   [sha256.Size]byte
}

// decodeObject reads the first block of a shared object.
func decodeObject(b []byte) (o object, err error) {
	p := wire.Payload{Rest: b}
	o.Base = p.Max(image.MaxAddress, "base of a shared object")
	o.flags = p.Max(objectFlags, "flags of a shared object")
	o.Late = o.flags&lateObject != 0
	o.size = p.Max(maxImage, "size of a shared object")
	copy(o.sum[:], p.Take(sha256.Size))
	o.Path = string(p.Take(p.Max(maxObjectPath, "path of a shared object")))
	if p.Err != nil {
		return object{}, p.Err
	}
	return o, o.take(p.Rest)
}

var errObjectSize = fmt.Errorf("shared object longer than it says: %w", tracefmt.ErrMalformed)

// take adds a part of the content.
func (o *object) take(part []byte) error {
	if uint64(len(o.Data)+len(part)) > o.size {
		return errObjectSize
	}
	o.Data = append(o.Data, part...)
	return nil
}

// whole says what is wrong with the content.
func (o *object) whole() error {
	if uint64(len(o.Data)) != o.size || sha256.Sum256(o.Data) != o.sum {
		return fmt.Errorf("content of shared object %q: %w", o.Path, tracefmt.ErrMalformed)
	}
	return nil
}

// Objects returns the shared objects that the program loaded, in order.
func (t *Trace) Objects() ([]Object, error) {
	list, err := t.objects()
	var shared []Object
	for i := range list {
		if list[i].flags&mainObject == 0 {
			shared = append(shared, list[i].Object)
		}
	}
	return shared, err
}

// objects are those of all object blocks, the executable too if it is one.
func (t *Trace) objects() ([]object, error) {
	var list []object
	total := 0
	for _, h := range t.r.Blocks() {
		if h.Kind != tracefmt.KindObject {
			continue
		}
		total += int(h.Raw)
		if total > maxObjectBytes {
			return nil, corrupt(h, fmt.Errorf("shared objects of more than %d bytes: %w", maxObjectBytes, tracefmt.ErrMalformed))
		}
		if err := t.read(h, func(b []byte) error {
			switch n := int(h.Thread); {
			case n == len(list) && n < maxObjects:
				o, err := decodeObject(b)
				list = append(list, o)
				return err
			case n == len(list)-1 && n >= 0:
				return list[n].take(b)
			}
			return fmt.Errorf("shared object %d: %w", h.Thread, tracefmt.ErrMalformed)
		}); err != nil {
			return nil, err
		}
	}
	for i := range list {
		o := &list[i]
		if o.flags&storedObject != 0 && len(o.Data) == 0 {
			var err error
			if o.Data, err = t.stored(o); err != nil {
				return nil, err
			}
		}
		if err := o.whole(); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// storedImage is the executable of a trace that keeps it apart; nil: of one that has
// none.
func (t *Trace) storedImage() ([]byte, error) {
	list, err := t.objects()
	for i := range list {
		if list[i].flags&mainObject != 0 {
			return list[i].Data, nil
		}
	}
	return nil, err
}

// Space is the program as it stood in memory: the executable, and the shared
// objects that it loaded.
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
	objects, err := t.Objects()
	if err != nil {
		return nil, err
	}
	for i := range objects {
		o := &objects[i]
		m, err := image.ParseShared(o.Data, o.Path, o.Base)
		if err != nil {
			return nil, err
		}
		if !space.Add(m, o.Late) {
			return nil, fmt.Errorf("shared object %q at 0x%x: where another one is: %w", o.Path, o.Base, tracefmt.ErrMalformed)
		}
	}
	return space, nil
}

// executable is the executable alone, in a space of its own.
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

// UseProgram says that the executable of the run is that of program, so that it
// need not be read from the trace. It is for many traces of one program.
func (t *Trace) UseProgram(program *image.Space) { t.known = program }
