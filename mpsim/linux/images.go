package linux

import (
	"crypto/sha256"
	"debug/elf"
	"encoding/binary"
	"fmt"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// Shared objects. Each file has its own place in a part of the address space that is
// reserved for shared objects. The place depends on the content of the file. So an
// instruction has the same address in every run, regardless of what was loaded before, and
// also after dlclose and dlopen. In one run no other file is placed there, so an address
// always belongs to the same image.
const (
	sharedLow  = uint64(64) << 30
	sharedHigh = uint64(128) << 30
	sharedUnit = uint64(64) << 20 // places are multiples of it
)

// imageState is what the kernel knows about shared objects.
type imageState struct {
	space *image.Space
	// owners maps the number of a place to the file that has it.
	owners  map[uint64]fileDigest
	started bool
	// last is the content of the last file that was read and cannot change.
	last struct {
		file   vfs.Regular
		data   []byte
		digest fileDigest
	}
}

type fileDigest = [sha256.Size]byte

// Begun reports whether the program's first instruction has run.
func (k *Kernel) Begun() bool { return k.images.started }

// Started tells the kernel that the program's first instruction is about to run. Later
// objects are loaded by the program itself.
func (k *Kernel) Started() { k.images.started = true }

// placeFor returns the place of a shared object that takes length bytes of memory. It
// reports false if the file is not a shared object or all places are taken.
func (k *Kernel) placeFor(f vfs.Regular, length uint64) (addr uint64, ok bool) {
	if length == 0 || length > (sharedHigh-sharedLow)/2 || !isShared(f) {
		return 0, false
	}
	_, digest, e := k.readWhole(f)
	if e != 0 {
		return 0, false
	}
	all := (sharedHigh - sharedLow) / sharedUnit
	n := (length + sharedUnit - 1) / sharedUnit
	first := binary.LittleEndian.Uint64(digest[:]) % all
	for try := range all {
		at := (first + try) % all
		if at+n > all || !k.vacant(at, n, digest) {
			continue
		}
		for i := range n {
			k.images.owners[at+i] = digest
		}
		return sharedLow + at*sharedUnit, true
	}
	return 0, false
}

// vacant reports whether n places, starting at at, are free for a file.
func (k *Kernel) vacant(at, n uint64, digest fileDigest) bool {
	for i := range n {
		if owner, owned := k.images.owners[at+i]; owned && owner != digest {
			return false
		}
	}
	return k.space.Free(sharedLow+at*sharedUnit, n*sharedUnit)
}

// isShared reports whether a file starts like a shared object for RISC-V.
func isShared(f vfs.Regular) bool {
	var head [20]byte
	n, e := f.ReadAt(head[:], 0)
	return e == 0 && n == len(head) && string(head[:4]) == elf.ELFMAG &&
		elf.Type(binary.LittleEndian.Uint16(head[16:])) == elf.ET_DYN &&
		elf.Machine(binary.LittleEndian.Uint16(head[18:])) == elf.EM_RISCV
}

// readWhole reads a file that may be an image.
func (k *Kernel) readWhole(f vfs.Regular) ([]byte, fileDigest, int64) {
	size := f.Size()
	last := &k.images.last
	if last.file == f && int64(len(last.data)) == size {
		return last.data, last.digest, 0
	}
	if size < 0 || size > image.MaxFile {
		return nil, fileDigest{}, -ENOMEM
	}
	if known := k.cfg.Contents.Find(f); known != nil {
		last.file, last.data, last.digest = f, known.Data, known.Digest
		return known.Data, known.Digest, 0
	}
	data := make([]byte, size)
	for done := 0; done < len(data); {
		n, e := f.ReadAt(data[done:], int64(done))
		if e != 0 {
			return nil, fileDigest{}, e
		}
		if n == 0 {
			data = data[:done]
			break
		}
		done += n
	}
	digest := sha256.Sum256(data)
	if !vfs.Changeable(f) {
		last.file, last.data, last.digest = f, data, digest
		k.cfg.Contents.Add(f, data, digest)
	}
	return data, digest, 0
}

// mappedCode is called when a part of a file, from offset off, was mapped as executable at
// addr. This determines the address of the image.
func (k *Kernel) mappedCode(from pager, addr, off uint64) {
	if !isShared(from.file) {
		return
	}
	data, digest, e := k.readWhole(from.file)
	if e != 0 {
		return
	}
	base, ok := baseOf(data, addr, off)
	if !ok {
		return
	}
	for _, m := range k.images.space.Images() {
		if m.Base == base && m.Of(digest) {
			k.renew(m)
			return
		}
	}
	m, err := k.images.space.Shared(data, digest, from.name, base)
	if err != nil {
		return // it is code, but nothing is known about it
	}
	k.addImage(m)
}

// baseOf returns the base address of a file whose part from off is at addr.
func baseOf(data []byte, addr, off uint64) (base uint64, ok bool) {
	progs, err := image.Segments(data)
	if err != nil {
		return 0, false
	}
	for _, p := range progs {
		if elf.ProgFlag(p.Flags)&elf.PF_X != 0 && p.Off&^pageMask == off {
			return addr - p.Vaddr&^pageMask, true
		}
	}
	return 0, false
}

func (k *Kernel) addImage(m *image.Image) {
	if !k.images.space.Add(m, k.images.started) {
		return
	}
	if k.cfg.Loaded != nil {
		k.cfg.Loaded(m)
	}
}

// renew starts a new life of the memory of an image that was unloaded and is loaded again.
func (k *Kernel) renew(m *image.Image) {
	if !k.traced() {
		return
	}
	for i := range m.Segments {
		if s := &m.Segments[i]; s.Write {
			k.cfg.Tracer.Emit(k.acting, event.Event{Kind: event.Renew, Obj: s.Addr, Arg: s.MemSize})
		}
	}
}

// loadLinker loads the dynamic linker that the program requests. It returns nil if there is
// none.
func (k *Kernel) loadLinker(main *image.Image) (*image.Image, error) {
	if main.Interp == "" {
		return nil, nil
	}
	f, e := k.vfs.Open(main.Interp, 0, 0)
	if e != 0 {
		return nil, fmt.Errorf("%w: it is dynamically linked, and its dynamic linker %s is not in its root directory: name a root directory that has it, or link with -static", ErrProgram, main.Interp)
	}
	defer f.Close()
	file, ok := f.(vfs.Regular)
	if !ok || !isShared(file) {
		return nil, fmt.Errorf("%w: its dynamic linker %s is not a shared object", ErrProgram, main.Interp)
	}
	data, digest, e := k.readWhole(file)
	if e != 0 {
		return nil, fmt.Errorf("%w: its dynamic linker %s cannot be read", ErrProgram, main.Interp)
	}
	size, err := image.Size(data)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	base, ok := k.placeFor(file, size)
	if !ok {
		return nil, fmt.Errorf("%w: no room for its dynamic linker %s", ErrProgram, main.Interp)
	}
	m, err := k.images.space.Shared(data, digest, main.Interp, base)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrProgram, err)
	}
	for i := range m.Segments {
		if err := k.loadSegment(&m.Segments[i], main.Interp); err != nil {
			return nil, err
		}
	}
	k.addImage(m)
	return m, nil
}

// mmapPlace returns an address for a mapping whose address the program leaves open.
func (c *call) mmapPlace(hint, length, off uint64, content pager) (uint64, bool) {
	hint &^= pageMask
	if hint >= mem.LowestAddress && hint <= userTop-length && c.space.Free(hint, length) && !inGuard(hint, hint+length) {
		return hint, true
	}
	if content.file != nil && off == 0 {
		if addr, ok := c.placeFor(content.file, length); ok {
			return addr, true
		}
	}
	return c.space.FindFree(length)
}
