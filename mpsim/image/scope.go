package image

import (
	"cmp"
	"debug/dwarf"
	"fmt"
	"slices"
	"sort"
	"strings"
)

// scope is a function or an inlined copy of one.
type scope struct {
	entry    dwarf.Offset // the entry with its name
	parent   int32        // index of the scope it was inlined into; outside for a function
	depth    int32
	callFile uint64
	callLine int
}

// Values for places that are in no scope.
const (
	outside  = -1 // outside any function
	abstract = -2 // in a function without its own code
)

// scopeSpan is a range of code of a scope.
type scopeSpan struct {
	low, high uint64
	scope     int32
}

// walk reads the entries of a unit once: functions, inlined functions and variables with a
// fixed address.
func (d *debugInfo) walk(u *unit) {
	if u.walked {
		return
	}
	u.walked = true
	if err := guard(func() error { return d.walkEntries(u) }); err != nil {
		d.note(err)
	}
	slices.SortStableFunc(u.spans, func(a, b scopeSpan) int { return cmp.Compare(a.low, b.low) })
	reach := uint64(0)
	for _, s := range u.spans {
		reach = max(reach, s.high)
		u.reach = append(u.reach, reach)
	}
}

// walkEntries walks the tree of entries with an explicit stack, because the nesting may be
// deeper than a goroutine's stack allows.
func (d *debugInfo) walkEntries(u *unit) error {
	r := d.data.Reader()
	r.Seek(u.first)
	var enclosing []int32 // for each open entry: the innermost scope
	last := dwarf.Offset(0)
	for {
		e, err := r.Next()
		if err != nil {
			return err
		}
		if e == nil || e.Offset >= u.end {
			return nil
		}
		if e.Tag == 0 { // the end of a list of children; it has no offset
			if len(enclosing) > 0 {
				enclosing = enclosing[:len(enclosing)-1]
			}
			if len(enclosing) == 0 {
				return nil
			}
			continue
		}
		if e.Offset <= last {
			return fmt.Errorf("%w: entry at %#x does not follow %#x", ErrDebug, e.Offset, last)
		}
		last = e.Offset
		in := int32(outside)
		if len(enclosing) > 0 {
			in = enclosing[len(enclosing)-1]
		}
		enter, self, err := d.visit(u, e, in)
		if err != nil {
			return err
		}
		if !e.Children {
			if len(enclosing) == 0 {
				return nil
			}
			continue
		}
		if sibling, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); !enter && ok && sibling > e.Offset && sibling < u.end {
			r.Seek(sibling)
			last = sibling - 1
			continue
		}
		enclosing = append(enclosing, self)
	}
}

// visit records an entry inside scope in. It reports whether there may be anything of
// interest below it, and returns the scope of its children.
func (d *debugInfo) visit(u *unit, e *dwarf.Entry, in int32) (enter bool, self int32, err error) {
	switch e.Tag {
	case dwarf.TagCompileUnit, dwarf.TagNamespace, dwarf.TagLexDwarfBlock, dwarf.TagModule:
		return true, in, nil
	case dwarf.TagVariable:
		d.addVariable(u, e, in == outside)
		return false, in, nil
	case dwarf.TagStructType, dwarf.TagClassType, dwarf.TagUnionType:
		// Functions of local and unnamed classes, especially of lambda expressions, are
		// defined inside them.
		return in != outside || e.Val(dwarf.AttrName) == nil, in, nil
	case dwarf.TagSubprogram:
		in = outside
	case dwarf.TagInlinedSubroutine:
	default:
		return false, in, nil
	}
	ranges, err := d.rangesOf(e)
	if err != nil {
		return false, in, err
	}
	if len(ranges) == 0 {
		// A declaration, or the abstract form of an inlined function. The latter contains
		// static variables.
		return e.Val(dwarf.AttrDeclaration) == nil, abstract, nil
	}
	s := scope{entry: e.Offset, parent: max(in, outside)}
	if in >= 0 {
		s.depth = u.scopes[in].depth + 1
	}
	if v, ok := e.Val(dwarf.AttrCallFile).(int64); ok {
		s.callFile = uint64(v)
	}
	if v, ok := e.Val(dwarf.AttrCallLine).(int64); ok {
		s.callLine = int(v)
	}
	self = int32(len(u.scopes))
	u.scopes = append(u.scopes, s)
	for _, rg := range ranges {
		if rg[0] < rg[1] {
			u.spans = append(u.spans, scopeSpan{rg[0], rg[1], self})
		}
	}
	return true, self, nil
}

// scopeAt returns the index of the innermost scope that covers pc, or -1.
func (u *unit) scopeAt(pc uint64) int32 {
	best := int32(-1)
	i := sort.Search(len(u.spans), func(i int) bool { return u.spans[i].low > pc }) - 1
	for ; i >= 0 && u.reach[i] > pc; i-- {
		s := u.spans[i]
		if s.high > pc && (best < 0 || u.scopes[s.scope].depth > u.scopes[best].depth) {
			best = s.scope
		}
	}
	return best
}

// functionAt returns the out-of-line function whose code contains an address of the file,
// and its unit.
func (d *debugInfo) functionAt(pc uint64) (u *unit, function dwarf.Offset, ok bool) {
	u = d.unitAt(pc)
	if u == nil {
		return nil, 0, false
	}
	d.walk(u)
	at := u.scopeAt(pc)
	if at < 0 {
		return u, 0, false
	}
	for u.scopes[at].parent >= 0 {
		at = u.scopes[at].parent
	}
	return u, u.scopes[at].entry, true
}

// entryName returns the names of an entry: its own, or those of the entry of which it is an
// instance or the definition. declared is the last entry of that chain, where the source
// declares it.
func (d *debugInfo) entryName(off dwarf.Offset) (name, linkage string, declared dwarf.Offset) {
	r := d.data.Reader()
	for range 8 {
		r.Seek(off)
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		declared = e.Offset
		if name == "" {
			name, _ = e.Val(dwarf.AttrName).(string)
		}
		if linkage == "" {
			linkage, _ = e.Val(dwarf.AttrLinkageName).(string)
		}
		if name != "" && linkage != "" {
			break
		}
		next, ok := e.Val(dwarf.AttrAbstractOrigin).(dwarf.Offset)
		if !ok {
			next, ok = e.Val(dwarf.AttrSpecification).(dwarf.Offset)
			if !ok {
				break
			}
		}
		off = next
	}
	return name, linkage, declared
}

// isCPlusPlus reports whether the unit's language is a version of C++.
func (u *unit) isCPlusPlus() bool {
	switch lang, _ := u.root.Val(dwarf.AttrLanguage).(int64); lang {
	case 0x04, 0x1a, 0x21, 0x2b, 0x3a: // C++98, 11, 14, 17, 20
		return true
	}
	return false
}

// qualified puts the names of the namespaces, classes and functions around an entry of u
// before its name. Compilers emit no linkage name for members of types without linkage,
// such as the function of a lambda expression.
func (d *debugInfo) qualified(u *unit, declared dwarf.Offset, name string) string {
	if declared < u.first || declared >= u.end || !u.isCPlusPlus() {
		return name
	}
	prefix, ok := u.prefixes[declared]
	if !ok {
		prefix = d.enclosing(u, declared)
		if u.prefixes == nil {
			u.prefixes = map[dwarf.Offset]string{}
		}
		u.prefixes[declared] = prefix
	}
	return prefix + name
}

// enclosing reads the unit up to the entry at off, and returns the names of the entries
// around it, each followed by "::".
func (d *debugInfo) enclosing(u *unit, off dwarf.Offset) string {
	r := d.data.Reader()
	r.Seek(u.first)
	var around []*dwarf.Entry
	last := dwarf.Offset(0)
	for {
		e, err := r.Next()
		if err != nil || e == nil || e.Tag != 0 && (e.Offset > off || e.Offset <= last) {
			return ""
		}
		if e.Tag == 0 {
			if len(around) == 0 {
				return ""
			}
			around = around[:len(around)-1]
			continue
		}
		last = e.Offset
		if e.Offset == off {
			return scopeNames(around)
		}
		if !e.Children {
			continue
		}
		if sibling, ok := e.Val(dwarf.AttrSibling).(dwarf.Offset); ok && sibling > e.Offset && sibling <= off {
			r.Seek(sibling)
			last = sibling - 1
			continue
		}
		around = append(around, e)
	}
}

// scopeNames joins the names of namespaces, classes and functions.
func scopeNames(around []*dwarf.Entry) string {
	var b strings.Builder
	for _, e := range around[:min(len(around), maxInlining)] {
		name, _ := e.Val(dwarf.AttrName).(string)
		switch e.Tag {
		case dwarf.TagNamespace:
			if name == "" {
				name = "(anonymous namespace)"
			}
		case dwarf.TagClassType, dwarf.TagStructType, dwarf.TagUnionType:
			if name == "" {
				name = "<lambda>" // an unnamed class that has functions
			}
		case dwarf.TagSubprogram:
		default:
			continue
		}
		if name != "" {
			b.WriteString(name + "::")
		}
	}
	return b.String()
}
