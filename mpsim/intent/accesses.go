package intent

import (
	"maps"
	"slices"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/tracefmt/event"
)

// The line table has the column at which an expression begins. So the place of a plain load
// or store may be that of the name of a builtin function, or of a macro that contains one:
// then the access is the atomic one.

// accessNames are the operations that load or store atomically.
var accessNames = map[string]image.AccessKinds{
	"__atomic_load": image.AtomicLoad, "__atomic_load_n": image.AtomicLoad, "__c11_atomic_load": image.AtomicLoad,
	"atomic_load": image.AtomicLoad, "atomic_load_explicit": image.AtomicLoad,
	"__atomic_store": image.AtomicStore, "__atomic_store_n": image.AtomicStore, "__c11_atomic_store": image.AtomicStore,
	"atomic_store": image.AtomicStore, "atomic_store_explicit": image.AtomicStore,
	"__atomic_clear": image.AtomicStore, "atomic_flag_clear": image.AtomicStore, "atomic_flag_clear_explicit": image.AtomicStore,
}

const (
	maxAccesses = 1 << 16 // of a file
	maxAround   = 64      // parentheses around an access that are looked at, from outside
)

// define is the definition of a macro.
type define struct{ name, body string }

// readDefine reads the text of a #define after that word.
func readDefine(text string) define {
	text = strings.TrimLeft(text, " \t\\\r\n")
	n := 0
	for n < len(text) && wordByte(text[n]) {
		n++
	}
	return define{text[:n], text[n:]}
}

// splitWords lists the names and numbers in a text.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !wordByte(byte(r)) })
}

// mentionsAtomics reports whether a text has a word that atomic operations contain.
func mentionsAtomics(text string) bool {
	return strings.Contains(text, "atomic") || strings.Contains(text, "__sync")
}

// macroKinds says what the macros of the files access atomically. A macro without such an
// access has the value 0. The result is nil if no file mentions atomic operations.
func macroKinds(files []includedFile) map[string]image.AccessKinds {
	if !slices.ContainsFunc(files, func(f includedFile) bool { return f.text != nil && f.text.atomics }) {
		return nil
	}
	kinds := map[string]image.AccessKinds{}
	var uses []define
	for _, f := range files {
		if f.text == nil {
			continue
		}
		for _, d := range f.text.defines {
			kinds[d.name] |= 0 // it is a macro, whatever it does
			if mentionsAtomics(d.body) {
				for _, w := range splitWords(d.body) {
					kinds[d.name] |= accessNames[w]
					if mentionsAtomics(w) {
						kinds[d.name] |= image.AtomicOther
					}
				}
			}
			uses = append(uses, d)
		}
	}
	for again := slices.ContainsFunc(slices.Collect(maps.Values(kinds)), func(k image.AccessKinds) bool { return k > 0 }); again; { // macros contain other macros
		again = false
		for _, d := range uses {
			all := kinds[d.name]
			for _, w := range splitWords(d.body) {
				all |= kinds[w]
			}
			again = again || all != kinds[d.name]
			kinds[d.name] = all
		}
	}
	return kinds
}

// accesses is findAccesses for a text that may have some.
func (t *sourceText) accesses(macros map[string]image.AccessKinds) []image.AccessNotes {
	if t.atomics {
		return findAccesses(t.text, macros)
	}
	for name, kinds := range macros {
		if kinds > 0 && strings.Contains(t.text, name) {
			return findAccesses(t.text, macros)
		}
	}
	return nil
}

// findAccesses lists the places of atomic loads and stores in a text without comments. In
// the line table, an access in the arguments of a macro has the place of the macro. So
// each macro around an access is such a place too.
func findAccesses(text string, macros map[string]image.AccessKinds) []image.AccessNotes {
	type name struct {
		image.AccessNotes
		macro bool
	}
	var (
		list        []image.AccessNotes
		open        []name // before the parentheses that are open
		last        name   // the name just before
		line, begin = 1, 0 // of the line
	)
	for n := 0; n < len(text) && len(list) < maxAccesses; {
		c := text[n]
		switch {
		case c == '\n':
			line, begin = line+1, n+1
		case c == '#' && strings.TrimSpace(text[begin:n]) == "":
			for n < len(text) && (text[n] != '\n' || text[n-1] == '\\') {
				if text[n] == '\n' {
					line, begin = line+1, n+1
				}
				n++
			}
			open, last = nil, name{}
			continue
		case c == '(':
			open = append(open, last)
		case c == ')' && len(open) > 0:
			open = open[:len(open)-1]
		case wordByte(c):
			from := n
			for n < len(text) && wordByte(text[n]) {
				n++
			}
			word := text[from:n]
			kinds, macro := macros[word]
			kinds |= accessNames[word]
			last = name{image.AccessNotes{Line: line, Column: from - begin + 1, Kinds: kinds}, macro || allCapitals(word)}
			if kinds == 0 {
				continue
			}
			list = append(list, last.AccessNotes)
			for _, o := range open[:min(len(open), maxAround)] {
				if o.macro {
					o.Kinds = kinds
					list = append(list, o.AccessNotes)
				}
			}
			continue
		}
		if c > ' ' {
			last = name{}
		}
		n++
	}
	return list
}

// allCapitals reports whether a word is written as macros of headers mostly are, or is
// assert.
func allCapitals(word string) bool {
	return word == "assert" || strings.ToUpper(word) == word && strings.ToLower(word) != word
}

// near reports whether such an operation is on the line.
func (p place) near() bool {
	return p.notes != nil && slices.ContainsFunc(p.notes.Accesses, func(a image.AccessNotes) bool { return a.Line == p.line })
}

// exact reports whether an operation that accesses memory in that way atomically has the
// place of the instruction at pc.
func (c *Code) exact(pc uint64, p place, access event.Access) bool {
	if p.notes == nil || len(p.notes.Accesses) == 0 {
		return false
	}
	at, ok := c.img.Statement(pc)
	if !ok || int(at.Line) != p.line {
		return false
	}
	want := image.AtomicLoad
	if access == event.Write {
		want = image.AtomicStore
	}
	return slices.ContainsFunc(p.notes.Accesses, func(a image.AccessNotes) bool {
		return a.Line == p.line && (a.Column == int(at.Column) || at.Column == 0) && a.Kinds&want != 0
	})
}
