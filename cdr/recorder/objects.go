package recorder

import (
	"crypto/sha256"
	"fmt"
	"sync"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// Load implements [event.ImageObserver]: it adds the shared objects to the trace.
func (r *Recorder) Load(images []event.Image) error {
	for i := range images {
		m := &images[i]
		if r.objects >= format.MaxObjects || len(m.Path) > format.MaxObjectPath {
			return r.fail(fmt.Errorf("record: more than %d shared objects, or a path of more than %d bytes", format.MaxObjects, format.MaxObjectPath))
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

// storeObject writes a file to the store, and its name to the trace.
func (r *Recorder) storeObject(m *event.Image, flags uint64) error {
	var err error
	if m.Digest, err = r.opts.Store.Put(m.Data); err != nil {
		return err
	}
	err = r.w.Append(tracefmt.KindObject, r.objects, format.EncodeObject(m, flags|format.StoredObject))
	r.objects++
	return err
}

// PackedObjects holds compressed shared objects for many recordings. Several
// recorders may use it at once.
type PackedObjects struct {
	mu   sync.Mutex
	kept map[[sha256.Size]byte]PackedImage // by the SHA-256 of the content
}

// pack returns the compressed blocks of a shared object. With a nil PackedObjects it
// compresses them each time.
func (p *PackedObjects) pack(m *event.Image) (PackedImage, error) {
	head := format.EncodeObject(m, 0)
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
