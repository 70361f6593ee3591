package vtable

import (
	"regexp"
	"strings"

	"hindsight/cdr/format"
	"hindsight/mpsim/rv"
)

// destructor matches the linker's names of destructors. The text before the match is the
// class.
var destructor = regexp.MustCompile(`^(_Z.*)D\d+Ev$`)

// class returns the class whose destructor stores its table of virtual functions at pc,
// as the beginning of the linker's names of the class's members. It returns "" if the
// instruction is not such a store.
func (f *finder) class(pc uint64) string {
	c, known := f.classes[pc]
	if !known {
		if m := destructor.FindStringSubmatch(f.linkage(pc)); m != nil && f.storesTable(pc) {
			c = m[1]
		}
		f.classes[pc] = c
	}
	return c
}

// linkage returns the linker's name of the function at pc in the source.
func (f *finder) linkage(pc uint64) string {
	if frames := f.img.Frames(pc); len(frames) > 0 {
		return frames[0].Linkage
	}
	return ""
}

// member returns the linker's name of the constructor or destructor that contains the
// site, or "" if it is in another function.
func (f *finder) member(site format.SiteID) string {
	name := f.linkage(f.trace.Site(site).PC)
	if special.MatchString(name) {
		return name
	}
	return ""
}

// special matches the linker's names of constructors and destructors.
var special = regexp.MustCompile(`^_Z.*(D\d+Ev$|C(\d|I\d)[EI])`)

// sets reports whether the site belongs to a constructor or the destructor of class.
func (f *finder) sets(site format.SiteID, class string) bool {
	rest, ok := strings.CutPrefix(f.linkage(f.trace.Site(site).PC), class)
	return ok && len(rest) > 1 && (rest[0] == 'C' || rest[0] == 'D') && (rest[1] >= '0' && rest[1] <= '9' || rest[1] == 'I')
}

// maxFunction limits the instructions of a function that are examined.
const maxFunction = 1 << 14

// storesTable reports whether the instruction at pc stores an address in a table of
// virtual functions: a constant, or an entry of the global offset table plus 16 or more.
func (f *finder) storesTable(pc uint64) bool {
	fn, ok := f.img.Func(pc)
	if !ok {
		return false
	}
	read := f.img.Reader()
	var regs [64]value
	regs[regGP] = value{constant: f.img.Main.GP, known: f.img.Main.GP != 0}
	for at, n := fn.Addr, 0; at <= pc && n < maxFunction; n++ {
		b := rv.Scan(at, read, 1)
		if len(b.Insts) == 0 {
			return false
		}
		i := b.Insts[0]
		if at == pc {
			return (i.Op == rv.OpSD) && f.isTable(regs[i.Rs2&63])
		}
		if r, ok := i.Dest(); ok {
			regs[r&63] = result(&i, at, &regs)
		}
		at += uint64(i.Len)
	}
	return false
}

const regGP = 3

// value is what is known about a register.
type value struct {
	constant uint64 // added to what was loaded, if anything was
	known    bool
	loaded   bool // from a constant address
}

// result returns what an instruction at pc stores in its register.
func result(i *rv.Inst, pc uint64, regs *[64]value) value {
	if v, ok := i.Static(pc); ok {
		return value{constant: v, known: true}
	}
	from := regs[i.Rs1&63]
	switch {
	case !from.known:
	case i.Op == rv.OpADDI:
		from.constant += uint64(int64(i.Imm))
		return from
	case i.Op == rv.OpLD && !from.loaded:
		return value{known: true, loaded: true}
	}
	return value{}
}

// isTable reports whether a value is the address of a class's virtual functions, which
// follow two words.
func (f *finder) isTable(v value) bool {
	if !v.known || v.loaded {
		return v.known && v.constant >= 16
	}
	s, _, ok := f.img.Object(v.constant)
	return ok && strings.HasPrefix(s.Name, "_ZTV")
}
