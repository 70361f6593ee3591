package slice

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/wet"
)

// Target is what a specification names.
type Target struct {
	Text string   // as it was given
	PCs  []uint64 // instructions that were executed, ascending
	// Addr and Size are a variable in memory, in bytes; Size is 0 when the target
	// is code.
	Addr, Size uint64
	Name       string // of the variable or function, as the source has it; "" if unknown
}

// SpecError says that a specification names nothing, or more than one thing.
type SpecError struct {
	Spec       string
	Reason     string
	Candidates []string // that can be asked for instead, best first
}

func (e *SpecError) Error() string {
	if len(e.Candidates) == 0 {
		return fmt.Sprintf("%s: %s", e.Spec, e.Reason)
	}
	return fmt.Sprintf("%s: %s; there is: %s", e.Spec, e.Reason, strings.Join(e.Candidates, ", "))
}

// maxCandidates bounds the list of an error.
const maxCandidates = 12

// Resolver finds what specifications name in a program. It is used by one
// goroutine.
type Resolver struct {
	img   *image.Space
	g     Graph // that the index was made of
	lines map[lineKey][]uint64
	files []string
	pcs   []uint64 // executed, ascending
}

type lineKey struct {
	file string // path
	line int
}

// NewResolver makes a resolver for a program.
func NewResolver(img *image.Space) *Resolver { return &Resolver{img: img} }

// index lists the executed instructions by their place in the source.
func (r *Resolver) index(g Graph) {
	if r.g == g && r.lines != nil {
		return
	}
	r.g, r.lines, r.files, r.pcs = g, map[lineKey][]uint64{}, nil, nil
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		if node.Kind != wet.NodePath {
			continue
		}
		for _, s := range node.Stmts {
			r.pcs = append(r.pcs, s.PC)
		}
	}
	slices.Sort(r.pcs)
	r.pcs = slices.Compact(r.pcs)
	for _, pc := range r.pcs {
		frames := r.img.Frames(pc)
		if len(frames) == 0 || frames[0].File == "" {
			continue
		}
		key := lineKey{frames[0].File, frames[0].Line}
		r.lines[key] = append(r.lines[key], pc)
		r.files = append(r.files, key.file)
	}
	slices.Sort(r.files)
	r.files = slices.Compact(r.files)
}

var (
	lineSpec   = regexp.MustCompile(`^(.+):(\d+)(?::([^:].*))?$`)
	offsetSpec = regexp.MustCompile(`^(.+)\+(0[xX][0-9a-fA-F]+|\d+)$`)
)

// Resolve finds what a specification names: file.c:42, file.c:42:name (a
// variable that the line accesses), a function, a variable, symbol+8, or 0x and
// an address. The error is a *SpecError.
func (r *Resolver) Resolve(g Graph, spec string) (*Target, error) {
	r.index(g)
	spec = strings.TrimSpace(spec)
	t := &Target{Text: spec}
	if hex, ok := strings.CutPrefix(strings.ToLower(spec), "0x"); ok {
		addr, err := strconv.ParseUint(hex, 16, 64)
		if err != nil {
			return nil, &SpecError{Spec: spec, Reason: "this is no address"}
		}
		return orError(t, r.address(t, addr))
	}
	if m := lineSpec.FindStringSubmatch(spec); m != nil {
		line, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, &SpecError{Spec: spec, Reason: "this is no line"}
		}
		return orError(t, r.line(g, t, m[1], line, m[3]))
	}
	s, err := r.symbol(spec, spec)
	if err != nil {
		m := offsetSpec.FindStringSubmatch(spec)
		if m == nil {
			return nil, err
		}
		offset, err := strconv.ParseUint(m[2], 0, 64)
		if err != nil {
			return nil, &SpecError{Spec: spec, Reason: "this is no offset"}
		}
		if s, err = r.symbol(spec, m[1]); err != nil {
			return nil, err
		}
		if s.Size > 0 && offset >= s.Size {
			return nil, &SpecError{Spec: spec, Reason: fmt.Sprintf("%s has %d bytes", s.Demangled(), s.Size)}
		}
		return orError(t, r.address(t, s.Addr+offset))
	}
	return orError(t, r.whole(t, s))
}

func orError(t *Target, err error) (*Target, error) {
	if err != nil {
		return nil, err
	}
	return t, nil
}

// whole makes a symbol the target.
func (r *Resolver) whole(t *Target, s image.Symbol) error {
	t.Name = s.Demangled()
	if s.Kind == image.ObjectSymbol {
		t.Addr, t.Size = s.Addr, max(s.Size, 1)
		return nil
	}
	end := r.img.FuncEnd(s.Addr)
	from, _ := slices.BinarySearch(r.pcs, s.Addr)
	to, _ := slices.BinarySearch(r.pcs, end)
	if to <= from {
		return &SpecError{Spec: t.Text, Reason: "the function was not executed, or only as a hidden call"}
	}
	t.PCs = slices.Clone(r.pcs[from:to])
	return nil
}

// address makes what is at an address the target.
func (r *Resolver) address(t *Target, addr uint64) error {
	if !r.img.Exec(addr) {
		t.Addr, t.Size, t.Name = addr, r.width(addr), r.img.ObjectPath(addr)
		return nil
	}
	at, executed := slices.BinarySearch(r.pcs, addr)
	if executed {
		t.PCs = []uint64{addr}
		if s, ok := r.img.Func(addr); ok {
			t.Name = s.Demangled()
		}
		return nil
	}
	var near []string
	for n := max(0, at-2); n < min(len(r.pcs), at+2); n++ {
		near = append(near, fmt.Sprintf("%#x", r.pcs[n]))
	}
	return &SpecError{t.Text, "no instruction was executed there", near}
}

// width returns how many bytes the part of a variable has that is at addr, at most 8 and
// 1 where nothing is known.
func (r *Resolver) width(addr uint64) uint64 {
	s, off, ok := r.img.Object(addr)
	if !ok {
		return 1
	}
	one := r.img.ObjectPathSize(addr, 1)
	for size := uint64(8); size > 1; size /= 2 {
		if off+size <= s.Size && addr%size == 0 && r.img.ObjectPathSize(addr, size) == one {
			return size
		}
	}
	return 1
}

// symbol finds the function or variable with a name: the linker's, or as the
// source has it. Of several images the first that has one counts, as for the
// dynamic linker.
func (r *Resolver) symbol(spec, name string) (image.Symbol, error) {
	var found []image.Symbol
	var names []string
	for _, m := range r.img.Images() {
		if len(found) > 0 {
			break
		}
		for _, s := range slices.Concat(m.Symbols(), m.Objects()) {
			d := s.Demangled()
			names = append(names, d)
			if s.Name != name && d != name && !strings.HasPrefix(d, name+"(") {
				continue
			}
			if !slices.ContainsFunc(found, func(f image.Symbol) bool { return f.Addr == s.Addr && f.Kind == s.Kind }) {
				found = append(found, s)
			}
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		if s, ok := r.img.Lookup(name); ok && s.Kind == image.TLSSymbol {
			return s, &SpecError{Spec: spec, Reason: "each thread has one of its own; give an address"}
		}
		return image.Symbol{}, &SpecError{spec, "no function or variable of that name", similar(name, names)}
	}
	// One that every file can see goes before those that only theirs can.
	var global []image.Symbol
	for _, s := range found {
		if s.Global {
			global = append(global, s)
		}
	}
	if len(global) == 1 {
		return global[0], nil
	}
	var which []string
	for _, s := range found {
		which = append(which, strings.TrimSpace(fmt.Sprintf("%#x (%s %s)", s.Addr, s.Demangled(), s.File)))
	}
	return image.Symbol{}, &SpecError{spec, fmt.Sprintf("%d symbols have that name", len(found)), clip(which)}
}

func clip(list []string) []string { return list[:min(len(list), maxCandidates)] }

// similar orders the names that are like one, best first.
func similar(name string, names []string) []string {
	type scored struct {
		name  string
		score int
	}
	var list []scored
	low := strings.ToLower(name)
	for _, n := range names {
		other := strings.ToLower(n)
		score := distance(low, other)
		if strings.Contains(other, low) && len(low) > 1 {
			score = min(score, 2)
		}
		if score <= max(2, len(name)/3) {
			list = append(list, scored{n, score})
		}
	}
	slices.SortFunc(list, func(a, b scored) int { return cmp.Or(cmp.Compare(a.score, b.score), cmp.Compare(a.name, b.name)) })
	var out []string
	for _, s := range list {
		if !slices.Contains(out, s.name) && len(out) < maxCandidates {
			out = append(out, s.name)
		}
	}
	return out
}

// distance returns how many letters have to be put in, left out or changed.
func distance(a, b string) int {
	if len(a) > len(b)+8 || len(b) > len(a)+8 {
		return len(a) + len(b)
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// line makes a line the target, or what it does to a variable.
func (r *Resolver) line(g Graph, t *Target, file string, line int, name string) error {
	var match []string
	for _, f := range r.files {
		if f == file || path.Base(f) == file || strings.HasSuffix(f, "/"+strings.TrimPrefix(path.Clean(file), "./")) {
			match = append(match, f)
		}
	}
	switch {
	case len(match) == 0:
		var bases []string
		for _, f := range r.files {
			bases = append(bases, path.Base(f))
		}
		slices.Sort(bases)
		bases = slices.Compact(bases)
		if near := similar(path.Base(file), bases); len(near) > 0 {
			bases = near
		}
		if !r.img.HasDebug() {
			return &SpecError{Spec: t.Text, Reason: "the program has no line numbers: compile it with -g"}
		}
		return &SpecError{t.Text, "nothing was executed of a file of that name", clip(bases)}
	case len(match) > 1 && !slices.Contains(match, file):
		var which []string
		for _, f := range match {
			if len(r.lines[lineKey{f, line}]) > 0 {
				which = append(which, f)
			}
		}
		if len(which) > 1 {
			for n := range which {
				which[n] = fmt.Sprintf("%s:%d", which[n], line)
			}
			return &SpecError{t.Text, "several files have that name", clip(which)}
		}
		if len(which) == 1 {
			match = which
		}
	}
	full := match[0]
	if slices.Contains(match, file) {
		full = file
	}
	pcs := r.lines[lineKey{full, line}]
	if len(pcs) == 0 {
		return &SpecError{t.Text, "nothing was executed on that line", r.near(full, line)}
	}
	t.PCs = slices.Clone(pcs)
	if name == "" {
		return nil
	}
	return r.variable(g, t, name)
}

// near lists the executed lines of a file that are nearest to one.
func (r *Resolver) near(file string, line int) []string {
	var lines []int
	for k := range r.lines {
		if k.file == file {
			lines = append(lines, k.line)
		}
	}
	gap := func(l int) int { return max(l-line, line-l) }
	slices.SortFunc(lines, func(a, b int) int { return cmp.Or(cmp.Compare(gap(a), gap(b)), cmp.Compare(a, b)) })
	lines = lines[:min(len(lines), 4)]
	slices.Sort(lines)
	var out []string
	for _, l := range lines {
		out = append(out, fmt.Sprintf("%s:%d", path.Base(file), l))
	}
	return out
}
