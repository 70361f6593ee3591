package image

import (
	"debug/dwarf"
	"slices"
	"strings"
	"sync"
)

// runtime says where the code of the OpenMP runtime is.
type runtime struct {
	once sync.Once
	body Range    // from the first to the last of its entry points
	odd  []uint64 // its functions outside that range
}

// Runtime reports whether pc is in the code of the OpenMP runtime, libgomp. Its hooks
// report what its calls order, so that its code need not be examined.
//
// An archive's members are linked one after another, so everything between the entry points
// belongs to the runtime. Functions that the compiler puts into other sections (cold and
// start-up code) are recognised by their names.
//
// In a Go program, Runtime applies to the stores by which the program's own code fills the
// buffer of the garbage collector's write barrier, through pointers that gcWriteBarrier
// returns, and to checks for nil pointers.
func (m *Image) Runtime(pc uint64) bool {
	if m.Go() != "" {
		return m.notSource(pc)
	}
	if m.Path != "" && m.shortName() == "libgomp" {
		return m.Exec(pc)
	}
	r := &m.runtime
	r.once.Do(func() { m.findRuntime(r) })
	if pc-r.body.Low < r.body.High-r.body.Low {
		return true
	}
	if len(r.odd) == 0 {
		return false
	}
	s, ok := m.Func(pc)
	if !ok {
		return false
	}
	_, odd := slices.BinarySearch(r.odd, s.Addr)
	return odd
}

func (m *Image) findRuntime(r *runtime) {
	for _, s := range m.Symbols() {
		if outlined(s.Name) || m.User(s.Addr) {
			continue
		}
		switch {
		case strings.HasPrefix(s.Name, "GOMP_"):
			if r.body.High == 0 {
				r.body.Low = s.Addr
			}
			r.body.High = max(r.body.High, s.Addr+s.Size)
		case strings.HasPrefix(s.Name, "gomp_"), strings.HasPrefix(s.Name, "omp_"):
			r.odd = append(r.odd, s.Addr)
		}
	}
	if r.body.High == 0 {
		r.odd = nil
	}
}

// outlined reports whether a function is the body of an OpenMP construct that gcc turned
// into a function.
func outlined(name string) bool { return strings.Contains(name, "._omp_") }

// Outlined returns the functions that gcc generated from the bodies of parallel, teams and
// target regions and of tasks, which the OpenMP runtime calls. With copies, it returns
// those that gcc generated to copy the variables of tasks.
func (m *Image) Outlined(copies bool) []Symbol {
	made := "._omp_fn."
	if copies {
		made = "._omp_cpyfn."
	}
	var all []Symbol
	for _, s := range m.Symbols() {
		if strings.Contains(s.Name, made) && !strings.HasSuffix(s.Name, ".cold") {
			all = append(all, s)
		}
	}
	return all
}

// Passed returns the size in bytes of the structure through which an outlined function
// receives the variables around the construct. It returns 0 if the debug information does
// not say.
func (m *Image) Passed(fn uint64) (size uint64) {
	d := m.lockDebug()
	defer d.mu.Unlock()
	fn -= m.Base
	u := d.unitAt(fn)
	if u == nil {
		return 0
	}
	d.walk(u)
	d.note(guard(func() error {
		for at := u.scopeAt(fn); at >= 0; at = u.scopes[at].parent {
			r := d.data.Reader()
			r.Seek(u.scopes[at].entry)
			e, err := r.Next()
			if err != nil || e == nil {
				return err
			}
			if low, ok := e.Val(dwarf.AttrLowpc).(uint64); !ok || low != fn || e.Tag != dwarf.TagSubprogram {
				continue // a block or an inlined function at its beginning
			}
			return children(r, e, func(e *dwarf.Entry) {
				made, _ := e.Val(dwarf.AttrArtificial).(bool)
				if typ, ok := e.Val(dwarf.AttrType).(dwarf.Offset); ok && made && size == 0 && e.Tag == dwarf.TagFormalParameter {
					size = d.structureBehind(typ)
				}
			})
		}
		return nil
	}))
	return size
}

// structureBehind returns the size of the structure that a type refers to.
func (d *debugInfo) structureBehind(typ dwarf.Offset) uint64 {
	r := d.data.Reader()
	for range maxTypeDepth {
		r.Seek(typ)
		e, err := r.Next()
		if err != nil || e == nil {
			return 0
		}
		if e.Tag == dwarf.TagStructType {
			size, _ := e.Val(dwarf.AttrByteSize).(int64)
			return uint64(max(size, 0))
		}
		var ok bool
		typ, ok = e.Val(dwarf.AttrType).(dwarf.Offset)
		if !ok {
			return 0
		}
	}
	return 0
}
