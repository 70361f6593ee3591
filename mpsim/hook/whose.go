package hook

import (
	"slices"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// whose distinguishes what belongs to the program from what libraries keep for themselves:
// memory and synchronisation objects (docs/semantics.md, "The program's business"). A
// library's locks and counters order nothing for the program, whichever thread uses them.
//
// There are two possible mistakes. If a library's object is taken for the program's, a race
// is hidden. If the program's object is taken for a library's, a false race is reported. So
// unknown objects count as the program's.
type whose struct {
	img  *image.Space
	code map[uint64]codeKind // by address of an instruction
	// What libraries keep: heap blocks and mappings in order of address, and thread
	// descriptors by the thread pointer at which they end.
	kept        []extent
	descriptors map[uint64][]uint64 // by page
	globals     map[uint64]bool     // by granule: whether a library owns it
	exempt      map[uint64]bool     // granules that are the program's nevertheless
}

type extent struct{ addr, size uint64 }

// codeKind says what a function is.
type codeKind struct {
	name      string
	inLibrary bool // in a system library; neither user nor inLibrary is set for other code without debug information
	user      bool // it has debug information
	hidden    bool // a function of a shared object that others do not know by name
	// forCaller says that it synchronises on an object of its caller.
	forCaller bool
}

// granule is the unit in which objects are tracked.
const granule = 8

// descriptorArea is the maximum number of bytes below a thread pointer that the C library's
// thread descriptor occupies.
const descriptorArea = 4096

func newWhose(img *image.Space) *whose {
	return &whose{img: img, code: map[uint64]codeKind{}, descriptors: map[uint64][]uint64{}, globals: map[uint64]bool{}, exempt: map[uint64]bool{}}
}

// loaded adds an image.
func (o *whose) loaded(m *image.Image) {
	for _, name := range shared {
		if s, ok := m.Lookup(name); ok {
			o.exemptFrom(s.Addr, s.Size)
		}
	}
}

// at returns the function that contains pc.
func (o *whose) at(pc uint64) codeKind {
	k, known := o.code[pc]
	if !known {
		s, ok := o.img.Func(pc)
		k = codeKind{name: s.Name, inLibrary: o.img.Library(pc), user: o.img.User(pc)}
		k.forCaller = forCaller[s.Name]
		if m := o.img.At(pc); !ok && k.inLibrary && m != nil {
			k.hidden = true
			next, ok := m.FuncAfter(pc)
			k.forCaller = ok && pc >= m.FileOf(next.Addr) && forCaller[next.Name]
		}
		o.code[pc] = k
	}
	return k
}

// callers calls yield with site, the instruction that made the call, and the return
// addresses of the calls around it, innermost first.
func callers(t Thread, site uint64, yield func(pc uint64) bool) {
	const deepest = 32
	if !yield(site) {
		return
	}
	for n := range deepest {
		ret, ok := t.Return(n)
		if !ok || !yield(ret-1) {
			return
		}
	}
}

// allocation reports whether the allocator call at site is for a library (kept) or for the
// program. mode records that in the event if the place of the call does not show it.
func (o *whose) allocation(t Thread, site uint64) (kept bool, mode event.Mode) {
	program, first, hidden := false, true, false
	callers(t, site, func(pc uint64) bool {
		k := o.at(pc)
		switch {
		case allocators[k.name]:
			return true
		case !k.inLibrary && hidden && !o.askedFor(pc+1):
			return false
		case !k.inLibrary:
			program, kept = k.user, false
			return false
		}
		kept = true
		hidden = k.hidden
		if hidden {
			return true // a function that has a name decides
		}
		if first && isContainer(k.name) {
			program, kept = true, false
			return false
		}
		first = false
		return handsOver[k.name]
	})
	switch user := o.at(site).user; {
	case program && !user:
		mode = event.Given
	case kept && user:
		mode = event.Kept
	}
	return kept, mode
}

// askedFor reports whether the function that the program calls with return address ret,
// which has jumped to a function without a symbol, returns what it allocates to the
// program.
func (o *whose) askedFor(ret uint64) bool {
	name, ok := o.called(ret)
	return !ok || allocators[name] || handsOver[name] || isContainer(name)
}

// called returns the name of the function that the program calls directly with return
// address ret.
func (o *whose) called(ret uint64) (name string, ok bool) {
	to, ok := o.img.CallTarget(ret)
	if !ok {
		return "", false
	}
	s, _ := o.img.Func(to)
	return strings.TrimSuffix(s.Name, image.StubSuffix), true
}

// ofRequest reports whether the code at site, in a shared C library, locks an object on
// behalf of a request by the program to the library's threads.
func (o *whose) ofRequest(t Thread, site uint64) (is bool) {
	callers(t, site, func(pc uint64) bool {
		switch k := o.at(pc); {
		case k.hidden:
			return true // the function that the program called has a name
		case k.inLibrary:
			is = requests[k.name]
		default:
			name, _ := o.called(pc + 1)
			is = requests[name]
		}
		return false
	})
	return is
}

// allocated records a block or mapping.
func (o *whose) allocated(addr, size uint64, kept bool) {
	o.freed(addr, size)
	if kept {
		i, _ := o.search(addr)
		o.kept = slices.Insert(o.kept, i, extent{addr, max(size, 1)})
	}
}

// freed discards what is known about memory that now has another use.
func (o *whose) freed(addr, size uint64) {
	i, _ := o.search(addr)
	if i > 0 && addr-o.kept[i-1].addr < o.kept[i-1].size {
		i--
	}
	j := i
	for j < len(o.kept) && o.kept[j].addr-addr < max(size, 1) {
		j++
	}
	o.kept = slices.Delete(o.kept, i, j)
	if len(o.exempt) > 0 {
		for g := range o.exempt {
			if g+granule > addr && g-addr < size {
				delete(o.exempt, g)
			}
		}
	}
}

func (o *whose) search(addr uint64) (int, bool) {
	return slices.BinarySearchFunc(o.kept, addr, func(b extent, addr uint64) int {
		switch {
		case b.addr < addr:
			return -1
		case b.addr > addr:
			return 1
		}
		return 0
	})
}

// thread records the descriptor of a thread, which ends at its thread pointer.
func (o *whose) thread(tp uint64) {
	for _, page := range []uint64{(tp - descriptorArea) / descriptorArea, (tp - 1) / descriptorArea} {
		if !slices.Contains(o.descriptors[page], tp) {
			o.descriptors[page] = append(o.descriptors[page], tp)
		}
	}
}

// exemptFrom makes size bytes at addr the program's.
func (o *whose) exemptFrom(addr, size uint64) {
	for g := addr &^ (granule - 1); g < addr+size; g += granule {
		o.exempt[g] = true
	}
}

// private reports whether the object at addr is a library's own.
func (o *whose) private(addr uint64) bool {
	g := addr &^ (granule - 1)
	if o.exempt[g] {
		return false
	}
	for _, tp := range o.descriptors[addr/descriptorArea] {
		if tp-addr-1 < descriptorArea {
			return true
		}
	}
	if i, exact := o.search(addr); exact || i > 0 && addr-o.kept[i-1].addr < o.kept[i-1].size {
		return true
	}
	own, known := o.globals[g]
	if !known {
		own = o.img.Static(addr) && !o.img.UserObject(addr)
		o.globals[g] = own
	}
	return own
}

// silent reports whether a synchronising operation on the object at addr orders nothing for
// the program: a library's code at pc does it to an object that the library keeps for
// itself, and it does not implement a promise of the library. A fence has no object (0).
func (o *whose) silent(pc, addr uint64) bool {
	k := o.at(pc)
	return k.inLibrary && !promised(k.name) && (addr == 0 || o.private(addr))
}

// silent is the same for an instruction that thread t executes. Some functions synchronise
// for their caller.
func (s *State) silent(t event.ThreadID, pc, addr uint64) bool {
	if s.whose.at(pc).forCaller {
		open := s.omp.thread(t).open
		for i := len(open) - 1; i >= 0; i-- {
			if c := open[i]; c.fn.ForCaller {
				return c.kept && s.whose.silent(pc, addr)
			}
		}
	}
	return s.whose.silent(pc, addr)
}

// Location of a stream's lock in glibc: offset of its address, and its size.
const (
	streamLock     = 0x88
	streamLockSize = 16
)

// shareStream makes the lock of a stream the program's.
func (s *State) shareStream(c *Call, stream uint64) {
	if lock, ok := c.Load(stream+streamLock, 8); ok && stream != 0 && s.whose != nil {
		s.whose.exemptFrom(lock, streamLockSize)
	}
}
