package format

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"hindsight/mpsim/image"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

// Object is a shared object that the program of a trace loaded.
type Object struct {
	Path string // as the program saw it
	Base uint64 // what to add to the addresses in the file
	Late bool   // loaded by dlopen and not at the start
	Data []byte // the content of the file
}

const (
	MaxObjects    = 1 << 12
	MaxObjectPath = 1 << 12
	// Flags.
	lateObject   = 1
	StoredObject = 2 // its content is in an ImageStore
	MainObject   = 4 // the executable
	objectFlags  = lateObject | StoredObject | MainObject

	MaxObjectBytes = 1 << 30
)

// EncodeObject encodes the part of a shared object's block that precedes the content.
func EncodeObject(m *event.Image, flags uint64) []byte {
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

// PartialObject is a shared object of which some blocks may be missing.
type PartialObject struct {
	Object
	Flags uint64
	Size  uint64
	Sum   [sha256.Size]byte
}

// DecodeObject reads the first block of a shared object.
func DecodeObject(b []byte) (o PartialObject, err error) {
	p := wire.Payload{Rest: b}
	o.Base = p.Max(image.MaxAddress, "base of a shared object")
	o.Flags = p.Max(objectFlags, "flags of a shared object")
	o.Late = o.Flags&lateObject != 0
	o.Size = p.Max(MaxImage, "size of a shared object")
	copy(o.Sum[:], p.Take(sha256.Size))
	o.Path = string(p.Take(p.Max(MaxObjectPath, "path of a shared object")))
	if p.Err != nil {
		return PartialObject{}, p.Err
	}
	return o, o.Take(p.Rest)
}

var errObjectSize = fmt.Errorf("shared object longer than it says: %w", tracefmt.ErrMalformed)

// Take adds a part of the content.
func (o *PartialObject) Take(part []byte) error {
	if uint64(len(o.Data)+len(part)) > o.Size {
		return errObjectSize
	}
	o.Data = append(o.Data, part...)
	return nil
}

// Whole returns an error if content is missing or damaged.
func (o *PartialObject) Whole() error {
	if uint64(len(o.Data)) != o.Size || sha256.Sum256(o.Data) != o.Sum {
		return fmt.Errorf("content of shared object %q: %w", o.Path, tracefmt.ErrMalformed)
	}
	return nil
}

// MaxImage limits the ELF file of a trace, in bytes.
const MaxImage = 256 << 20
