package intent

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// languages are the extensions of the files that [scanSource] understands: C's, and
// those of C++.
var languages = []string{".c", ".cc", ".cpp", ".cxx", ".c++", ".C"}

func isCPlusPlus(name string) bool { return filepath.Ext(name) != ".c" }

const (
	maxSources    = 4096    // maximum number of files that are read
	maxSourceFile = 4 << 20 // maximum size of a file in bytes
	maxIncludes   = 64      // maximum number of files that one file includes
)

// ReadSources reads the source files that the debug information of m names, if they exist
// and have not changed since built, the time at which the program was built. It returns nil
// if they contain nothing relevant.
func ReadSources(m *image.Image, built time.Time) *image.Notes {
	names := m.SourceFiles()
	if len(names) > maxSources {
		return nil
	}
	r := sourceReader{built: built, texts: map[string]*sourceText{}}
	n := new(image.Notes)
	matters := false
	for _, name := range names {
		if !slices.Contains(languages, filepath.Ext(name)) {
			continue
		}
		t := r.read(name)
		if t == nil {
			continue
		}
		f := image.FileNotes{Name: filepath.Clean(name), Lines: t.notes(), Orders: t.orders}
		f.Settled = r.settled(name, t)
		if !r.within(name, t, func(t *sourceText) bool { return t == nil || t.macros }) {
			f.Orders = slices.Concat(f.Orders, t.inMacros)
		}
		matters = matters || len(f.Lines) > 0 || len(f.Orders) > 0 || f.Settled && t.types
		n.Files = append(n.Files, f)
	}
	if !matters {
		return nil
	}
	return n
}

// sourceReader reads each file once.
type sourceReader struct {
	built time.Time
	texts map[string]*sourceText
}

// read returns nil if the file cannot be read or is newer than the program.
func (r *sourceReader) read(name string) *sourceText {
	name = filepath.Clean(name)
	t, known := r.texts[name]
	if known {
		return t
	}
	if s, err := os.Stat(name); err == nil && s.Mode().IsRegular() && s.Size() <= maxSourceFile && !s.ModTime().After(r.built) {
		if text, err := os.ReadFile(name); err == nil {
			t = scanSource(string(text))
		}
	}
	r.texts[name] = t
	return t
}

// settled reports whether neither the file nor the files that it includes can hide an
// atomic access.
func (r *sourceReader) settled(name string, t *sourceText) bool {
	return !r.within(name, t, func(t *sourceText) bool { return t == nil || t.hides || t.types && !isCPlusPlus(name) })
}

// within reports whether is returns true for the file or for one that it includes. For
// files that cannot be read, is is called with nil.
func (r *sourceReader) within(name string, t *sourceText, is func(*sourceText) bool) bool {
	type file struct {
		dir  string
		text *sourceText
	}
	todo, seen := []file{{filepath.Dir(name), t}}, map[string]bool{filepath.Clean(name): true}
	for len(todo) > 0 && len(seen) <= maxIncludes {
		f := todo[0]
		todo = todo[1:]
		if is(f.text) {
			return true
		}
		for _, i := range f.text.includes {
			at := filepath.Join(f.dir, i)
			if !seen[at] {
				seen[at] = true
				todo = append(todo, file{filepath.Dir(at), r.read(at)})
			}
		}
	}
	return len(todo) > 0
}

// notes returns notes on the lines of the atomic operations and of the relevant directives.
func (t *sourceText) notes() []image.LineNotes {
	var list []image.LineNotes
	for n := range t.statements {
		s := &t.statements[n]
		if s.kind == 0 {
			continue
		}
		kind := s.kind
		if kind != image.NoteReduction && kind != image.NoteWriteBack && t.shared(s) {
			kind = image.NoteAtomic
		}
		list = append(list, image.LineNotes{From: s.from, To: s.to, Kind: kind})
	}
	slices.SortFunc(list, func(a, b image.LineNotes) int { return cmp.Or(a.From-b.From, a.To-b.To, int(a.Kind)-int(b.Kind)) })
	return list
}

// shared reports whether other statements are on some of the lines of s.
func (t *sourceText) shared(s *statement) bool {
	for n := range t.statements {
		if o := &t.statements[n]; o != s && o.from <= s.to && o.to >= s.from {
			return true
		}
	}
	return false
}

// place is the place in the source of the instruction at pc.
type place struct {
	notes *image.FileNotes // nil: nothing is known about the file
	line  int
}

func (c *Code) place(pc uint64) place {
	notes := c.img.Notes
	if notes == nil {
		return place{}
	}
	return remember(c, c.places, pc, func(pc uint64) (p place) {
		frames := c.img.Frames(pc)
		if len(frames) == 0 || frames[0].Line == 0 || !c.img.User(pc) || c.ofCXXLibrary(pc) {
			return p
		}
		name := filepath.Clean(frames[0].File)
		for n := range notes.Files {
			if notes.Files[n].Name == name {
				return place{&notes.Files[n], frames[0].Line}
			}
		}
		return p
	})
}

// noted reports whether the line has a note of one of the kinds, or of any kind if none is
// given.
func (p place) noted(kinds ...image.NoteKind) bool {
	return p.notes != nil && slices.ContainsFunc(p.notes.Lines, func(l image.LineNotes) bool {
		return l.From <= p.line && p.line <= l.To && (len(kinds) == 0 || slices.Contains(kinds, l.Kind))
	})
}

// merged reports whether the function at pc lacks the load of a statement that loads
// atomically. The compiler may have merged it with a plain load into one instruction, on
// the line of either.
func (c *Code) merged(pc uint64) bool {
	p := c.place(pc)
	f, ok := c.img.Func(pc)
	if !ok || p.notes == nil {
		return true
	}
	lines := remember(c, c.loads, f.Addr, func(uint64) *lineSpan { return c.findLoads(f.Addr, c.img.FuncEnd(pc)) })
	return slices.ContainsFunc(p.notes.Lines, func(l image.LineNotes) bool {
		return l.Kind == image.NoteLoad && lines.first <= l.From && l.To <= lines.last && !slices.ContainsFunc(lines.loads, func(n int) bool { return l.From <= n && n <= l.To })
	})
}

// lineSpan is the range of lines of a function.
type lineSpan struct {
	first, last int
	loads       []int // lines of its loads, in order
}

func (c *Code) findLoads(from, to uint64) *lineSpan {
	s := new(lineSpan)
	for n := 0; from < to && n < maxFunction; n++ {
		i, ok := c.at(from)
		if !ok {
			break
		}
		if at, ok := c.img.Statement(from); ok && at.Line > 0 {
			line := int(at.Line)
			if s.first == 0 {
				s.first = line
			}
			s.first, s.last = min(s.first, line), max(s.last, line)
			if access, _, ok := i.Mem(); ok && access == event.Read || i.Atomic() {
				s.loads = append(s.loads, line)
			}
		}
		from += uint64(i.Len)
	}
	slices.Sort(s.loads)
	s.loads = slices.Compact(s.loads)
	return s
}

// plain reports whether the source text has no atomic access at this place.
func (p place) plain() bool { return p.notes != nil && p.notes.Settled && !p.noted() }
