package annotate

import (
	"cmp"
	"slices"
	"strings"

	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/wet"
)

// A slice of a text in the output begins in the library that put it out. Every other call
// that printed is near that place too, because all share a buffer and its position. What a
// reader looks for is the call in the program, its arguments, and what made the bytes. Such
// slices are ranked from there.

// insideCost is the distance of a library's statements that a slice began with, if it is
// known where the program called the library. It is more than what leads to the call costs
// in most programs.
const insideCost = 12

// entrySteps limits the instances that are looked at to find an entry.
const entrySteps = 1 << 16

// entry is a statement in the program from which a slice is ranked that began in a library:
// a call, or what made a value of the call.
type entry struct {
	stmt int
	to   int // the statement of the call, or -1
}

// ownFrame returns the innermost frame of an instruction that is in the program's source
// and not in a header of a library. Code without such a frame has its innermost one.
func ownFrame(frames []image.Frame) image.Frame {
	for _, f := range frames {
		if f.Line > 0 && f.File != "" && !systemHeader(f.File) {
			return f
		}
	}
	return frames[0]
}

// systemHeader reports whether a file belongs to the compiler or the system.
func systemHeader(file string) bool {
	return slices.ContainsFunc([]string{"/usr/include/", "/include/c++/", "/usr/lib/gcc"}, func(dir string) bool {
		return strings.Contains(file, dir)
	})
}

// own returns the place of an instance in the program's source. ok is false for code of
// libraries.
func (v *view) own(i wet.Instance) (f image.Frame, ok bool) {
	n := v.Graph().Node(i.Node)
	pc := n.Stmts[i.Stmt].PC
	if n.Kind == wet.NodeStart || n.Kind == wet.NodeSignal || !v.img.User(pc) {
		return f, false
	}
	frames := v.img.Frames(pc)
	if len(frames) == 0 {
		return f, false
	}
	f = ownFrame(frames)
	return f, f.Line > 0 && !systemHeader(f.File)
}

// caller returns the instance in the program that called the library in which an instance
// is. seen has the instances that were passed before; a way that meets one of them ends.
func (v *view) caller(i wet.Instance, seen map[wet.Instance]bool) (wet.Instance, bool) {
	for !seen[i] && len(seen) < entrySteps {
		if _, ok := v.own(i); ok {
			return i, true
		}
		seen[i] = true
		for d, err := range v.Graph().Deps(i) {
			if err != nil {
				return i, false
			}
			if d.Kind == wet.DepControl {
				i = d.From
			}
		}
	}
	return i, false
}

// entries finds where the program entered the library that a backward slice began in. It
// returns nothing if the slice began in the program.
func (v *view) entries() (list []entry) {
	if v.Options().Direction == slice.Forward {
		return nil
	}
	of := map[wet.Site]int{}
	for n := range v.Statements() {
		s := &v.Statements()[n]
		for _, site := range v.Graph().Sites(s.PC) {
			if v.Graph().Node(site.Node).Callee == s.Callee {
				of[site] = n
			}
		}
	}
	at := func(i wet.Instance) (int, bool) {
		n, ok := of[wet.Site{Node: i.Node, Stmt: i.Stmt}]
		return n, ok
	}
	add := func(i wet.Instance, to int) int {
		n, ok := at(i)
		if !ok {
			return -1
		}
		if !slices.ContainsFunc(list, func(e entry) bool { return e.stmt == n }) {
			list = append(list, entry{n, to})
		}
		return n
	}
	taken := map[int]bool{} // what libraries use the register of
	for _, a := range v.arrows {
		if a.Kind == wet.DepRegister && !v.mine(&v.rows[v.of[a.To]]) {
			taken[a.From] = true
		}
	}
	passed, followed := map[wet.Instance]bool{}, map[wet.Instance]bool{}
	last := -1
	for _, i := range v.Criterion() {
		if _, ok := v.own(i); ok {
			return nil
		}
		if call, ok := v.caller(i, passed); ok {
			last = add(call, -1)
			args, err := slice.Arguments(v.Graph(), v.img, []wet.Instance{call})
			if err != nil {
				return nil
			}
			for _, a := range args {
				if n, ok := at(a); ok && taken[n] {
					add(a, last)
				}
			}
		}
		v.made(i, followed, func(by wet.Instance) { add(by, last) })
	}
	slices.SortStableFunc(list, func(a, b entry) int { return cmp.Compare(a.to, b.to) }) // calls first
	return list
}

// made calls f with the instances in the program whose values an instance in a library has,
// through copies and computations of libraries.
func (v *view) made(i wet.Instance, followed map[wet.Instance]bool, f func(wet.Instance)) {
	todo := []wet.Instance{i}
	for len(todo) > 0 && len(followed) < entrySteps {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if followed[i] {
			continue
		}
		followed[i] = true
		if _, ok := v.own(i); ok {
			f(i)
			continue
		}
		n := v.Graph().Node(i.Node)
		for d, err := range v.Graph().Deps(i) {
			if err != nil {
				return
			}
			if d.Kind > wet.DepMemory || n.Kind == wet.NodePath && slice.Relate(n.Stmts[i.Stmt].Inst, d.Kind, d.Reg) != slice.ByValue {
				continue
			}
			todo = append(todo, d.From)
		}
	}
}
