package intent

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// ReadSources reads the source files that the debug information of m names, and the headers
// of the program, if they exist and have not changed since built, the time at which the
// program was built. It returns nil if they contain nothing relevant.
func ReadSources(m *image.Image, built time.Time) *image.Notes {
	names := m.SourceFiles()
	if len(names) > maxSources {
		return nil
	}
	r := sourceReader{built: built, image: m, texts: map[string]*sourceText{}}
	n := new(image.Notes)
	matters := false
	headers := map[string]bool{} // that are noted, or need no notes
	for _, name := range names {
		if !slices.Contains(languages, filepath.Ext(name)) {
			continue
		}
		t := r.read(name)
		if t == nil {
			continue
		}
		files, whole := r.closure(name, t)
		f := image.FileNotes{Name: filepath.Clean(name), Lines: t.notes(), Orders: t.orders, Settled: settled(name, files, whole)}
		if whole && !slices.ContainsFunc(files, func(f includedFile) bool { return f.text == nil || f.elsewhere || f.text.macros }) {
			f.Orders = slices.Concat(f.Orders, t.inMacros)
		}
		macros := macroKinds(files)
		f.Accesses = t.accesses(macros)
		matters = matters || len(f.Lines) > 0 || len(f.Orders) > 0 || len(f.Accesses) > 0 || f.Settled && t.types
		n.Files = append(n.Files, f)
		for _, h := range files[1:] {
			if h.text == nil || headers[h.name] {
				continue
			}
			headers[h.name] = true
			f := image.FileNotes{Name: h.name, Lines: h.text.notes(), Orders: h.text.orders, Accesses: h.text.accesses(macros)}
			if len(f.Lines) > 0 || len(f.Orders) > 0 || len(f.Accesses) > 0 {
				matters = true
				n.Files = append(n.Files, f)
			}
		}
	}
	if !matters {
		return nil
	}
	return n
}

// sourceReader reads each file once.
type sourceReader struct {
	built time.Time
	image *image.Image
	texts map[string]*sourceText
	dirs  []string // see directories
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

// includedFile is a source file, or a header that it includes.
type includedFile struct {
	name string
	text *sourceText // nil: it cannot be read
	// elsewhere says that it was not found beside the file that includes it, but in another
	// directory of the program, where the compiler may have found another one.
	elsewhere bool
}

// settled reports whether none of the files, a source file and those that it includes, can
// hide an atomic access. whole says that these are all.
func settled(name string, files []includedFile, whole bool) bool {
	return whole && !slices.ContainsFunc(files, func(f includedFile) bool {
		return f.text == nil || f.elsewhere || f.text.hides || f.text.types && !isCPlusPlus(name)
	})
}

// closure lists a file and those that it includes, and says whether these are all: there is
// a limit.
func (r *sourceReader) closure(name string, t *sourceText) (files []includedFile, whole bool) {
	files = []includedFile{{name: filepath.Clean(name), text: t}}
	seen := map[string]bool{files[0].name: true}
	for n := 0; n < len(files); n++ {
		if files[n].text == nil {
			continue
		}
		for _, i := range files[n].text.includes {
			f, ok := r.include(filepath.Dir(files[n].name), i)
			if !ok || seen[f.name] {
				continue
			}
			if len(files) == maxIncludes {
				return files, false
			}
			seen[f.name] = true
			files = append(files, f)
		}
	}
	return files, true
}

// include finds a header that a file in dir includes. Its text is nil if it is not found.
// The headers of the system are not read: ok is false then.
func (r *sourceReader) include(dir, name string) (f includedFile, ok bool) {
	name, angled := strings.CutPrefix(name, "<")
	name = filepath.Clean(name)
	at := filepath.Join(dir, name)
	if !angled {
		if t := r.read(at); t != nil || filepath.IsAbs(name) {
			return includedFile{name: at, text: t}, true
		}
	}
	for _, d := range r.directories() {
		// Included names begin at the directory or at one above.
		for above := strings.Count(name, "/"); above >= 0; above-- {
			if t := r.read(filepath.Join(d, name)); t != nil {
				return includedFile{filepath.Join(d, name), t, true}, true
			}
			d = filepath.Dir(d)
		}
	}
	return includedFile{name: at}, !angled
}

// directories lists those of the files that line tables name, without the system's.
func (r *sourceReader) directories() []string {
	if r.dirs == nil && r.image != nil {
		r.dirs = []string{}
		for _, f := range r.image.LineFiles() {
			if d := filepath.Dir(filepath.Clean(f)); !strings.HasPrefix(d, "/usr/") && !slices.Contains(r.dirs, d) {
				r.dirs = append(r.dirs, d)
			}
		}
	}
	return r.dirs
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
		if f := c.file(notes, name); f != nil {
			return place{f, frames[0].Line}
		}
		return p
	})
}

// file finds the notes on a file by its name.
func (c *Code) file(notes *image.Notes, name string) *image.FileNotes {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = map[string]*image.FileNotes{}
		for n := range notes.Files {
			c.files[notes.Files[n].Name] = &notes.Files[n]
		}
	}
	return c.files[name]
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
	lines := remember(c, c.loads, f.Addr, func(uint64) map[*image.FileNotes]*lineSpan { return c.findLoads(f.Addr, c.img.FuncEnd(pc)) })[p.notes]
	return lines != nil && slices.ContainsFunc(p.notes.Lines, func(l image.LineNotes) bool {
		return l.Kind == image.NoteLoad && lines.first <= l.From && l.To <= lines.last && !slices.ContainsFunc(lines.loads, func(n int) bool { return l.From <= n && n <= l.To })
	})
}

// lineSpan is the lines of a function in one file.
type lineSpan struct {
	first, last int
	loads       []int // lines of its loads
}

// findLoads returns the lines of the code between two addresses by file. A function has
// lines of several files if others are inlined into it.
func (c *Code) findLoads(from, to uint64) map[*image.FileNotes]*lineSpan {
	spans := map[*image.FileNotes]*lineSpan{}
	for n := 0; from < to && n < maxFunction; n++ {
		i, ok := c.at(from)
		if !ok {
			break
		}
		if p := c.place(from); p.notes != nil {
			s := spans[p.notes]
			if s == nil {
				s = &lineSpan{first: p.line, last: p.line}
				spans[p.notes] = s
			}
			s.first, s.last = min(s.first, p.line), max(s.last, p.line)
			if access, _, ok := i.Mem(); (ok && access == event.Read || i.Atomic()) && !slices.Contains(s.loads, p.line) {
				s.loads = append(s.loads, p.line)
			}
		}
		from += uint64(i.Len)
	}
	return spans
}

// plain reports whether the source text has no atomic access at this place.
func (p place) plain() bool { return p.notes != nil && p.notes.Settled && !p.noted() && !p.near() }
