package report

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"regexp"
	"slices"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
)

// namer names code.
type namer struct {
	img    Image
	stacks Stacks
	golang bool
}

func newNamer(img Image, stacks Stacks) namer {
	p, ok := img.(interface{ Go() string })
	return namer{img: img, stacks: stacks, golang: ok && p.Go() != ""}
}

func (n *namer) accessStack(t event.ThreadID, site replay.SiteID, ordinal uint64) ([]Frame, error) {
	pcs, err := n.stacks.AccessStack(t, site, ordinal)
	if err != nil {
		return nil, fmt.Errorf("call stack of an access of thread %d: %w", t, err)
	}
	return n.frames(pcs), nil
}

func (n *namer) eventStack(t event.ThreadID, index uint64) ([]Frame, error) {
	pcs, err := n.stacks.EventStack(t, index)
	if err != nil {
		return nil, fmt.Errorf("call stack of event %d of thread %d: %w", index, t, err)
	}
	return n.frames(pcs), nil
}

// frames returns the frames of a stack. All addresses but the first are return addresses,
// which may lie after the calling function.
func (n *namer) frames(pcs []uint64) []Frame {
	var out []Frame
	const call, shortCall = 4, 2 // sizes in bytes
	if n.golang && len(pcs) > 1 && (pcs[1] == pcs[0]+call || pcs[1] == pcs[0]+shortCall) {
		pcs = slices.Delete(slices.Clone(pcs), 1, 2) // the function of package sync that made the access
	}
	for i, pc := range pcs {
		at := pc
		if i > 0 && at > 0 {
			at--
		}
		if s, ok := n.img.Func(at); n.golang && ok && trampoline.MatchString(s.Name) {
			continue
		}
		user := n.img.User(at)
		named := n.img.Frames(at)
		for _, f := range named {
			file := clean(f.File)
			out = append(out, Frame{Function: f.Function, File: f.Base(), Path: file, Line: f.Line, PC: pc, User: user, Own: user && !installed.MatchString(file)})
		}
		if len(named) == 0 {
			out = append(out, Frame{PC: pc, User: user, Own: user})
		}
	}
	if n.golang {
		out = aboveRuntime(out)
	}
	return out
}

// trampoline matches the names of code that Go's linker inserts between a call and a
// function that is too far away.
var trampoline = regexp.MustCompile(`-tramp[0-9]+$`)

// aboveRuntime removes the frames of Go's runtime that called a goroutine's first
// function.
func aboveRuntime(stack []Frame) []Frame {
	n := len(stack)
	for n > 0 && !stack[n-1].User {
		n--
	}
	if n == 0 {
		return stack
	}
	return stack[:n]
}

// clean returns a source path without redundant elements, such as the ./ that compilers
// prepend.
func clean(file string) string {
	if file == "" {
		return ""
	}
	return path.Clean(file)
}

// installed matches the files of compilers and libraries. Code that is inlined from them
// is in the user's functions, but the user did not write it.
var installed = regexp.MustCompile(`^/usr/(local/)?(include|lib|share|[^/]+/include)/|/include/c\+\+/`)

// top returns the frame that represents a side of a race: the innermost one in the user's
// own files, or else in the user's functions.
func top(stack []Frame) Frame {
	if i := slices.IndexFunc(stack, func(f Frame) bool { return f.Own }); i >= 0 {
		return stack[i]
	}
	if i := slices.IndexFunc(stack, func(f Frame) bool { return f.User }); i >= 0 {
		return stack[i]
	}
	if len(stack) > 0 {
		return stack[0]
	}
	return Frame{}
}

// index matches the subscripts in the name of a part of a variable.
var index = regexp.MustCompile(`\[[0-9]+\]|\+[0-9]+$`)

// variable names the variable of a race independently of which element was touched first.
func (l *Location) variable() string {
	name := l.Path
	if name == "" {
		name = l.Name
	}
	return l.Kind + " " + index.ReplaceAllString(name, "")
}

// lineKey identifies a pair of source lines and a variable.
type lineKey struct{ a, b, variable string }

// group assigns each race to the first race with the same source lines and the same
// variable.
func group(races []Race) {
	first := map[lineKey]string{}
	for i := range races {
		r := &races[i]
		a, b := r.Accesses[0].place(), r.Accesses[1].place()
		key := lineKey{min(a, b), max(a, b), r.Location.variable()}
		if l := r.Location.Local; l != nil {
			key.variable += " " + index.ReplaceAllString(cmp.Or(l.Path, l.Name), "") + " in " + l.function()
		}
		if _, ok := first[key]; !ok {
			first[key] = r.ID
		}
		r.Group = first[key]
	}
}

// place returns the source line of an access, or its address if the line is unknown.
func (a *Access) place() string {
	if a.Top.Line == 0 {
		return fmt.Sprintf("%s 0x%x", a.Top.Function, a.Top.PC)
	}
	return fmt.Sprintf("%s %s:%d", a.Top.Function, a.Top.Path, a.Top.Line)
}

// fingerprint computes an identifier for each race from what neither an edit elsewhere in
// the program nor another compiler changes: functions, lines counted from the beginning
// of the function, operations, and the variable.
func fingerprint(n *namer, races []Race) {
	seen := map[string]int{}
	for i := range races {
		r := &races[i]
		a, b := n.anchor(&r.Accesses[0]), n.anchor(&r.Accesses[1])
		text := fmt.Sprintf("v1\n%s\n%s\n%s\n", min(a, b), max(a, b), r.Location.variable())
		seen[text]++
		if seen[text] > 1 {
			text += fmt.Sprintf("%d\n", seen[text])
		}
		sum := sha256.Sum256([]byte(text))
		r.Fingerprint = hex.EncodeToString(sum[:12])
	}
}

// anchor identifies a side for its fingerprint.
func (n *namer) anchor(a *Access) string {
	line := 0
	if a.Top.Line > 0 {
		line = a.Top.Line - n.firstLine(a.Top)
	}
	return fmt.Sprintf("%s+%d %s %d", a.Top.Function, line, a.Op, a.Size)
}

// firstLine returns the line on which the function of a frame begins, or 0 if unknown.
func (n *namer) firstLine(f Frame) int {
	for _, at := range n.entries(f) {
		for _, g := range n.img.Frames(at) {
			if g.Function == f.Function && clean(g.File) == f.Path {
				return g.Line
			}
		}
	}
	return 0
}

// entries returns addresses at which the function of a frame may begin. For an inlined
// function, that is its out-of-line copy, if there is one.
func (n *namer) entries(f Frame) (at []uint64) {
	if s, ok := n.img.Func(f.PC); ok {
		at = append(at, s.Addr)
	}
	if s, ok := n.img.Lookup(f.Function); ok {
		at = append(at, s.Addr)
	}
	return at
}
