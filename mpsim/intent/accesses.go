package intent

import (
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
type define struct {
	name  string
	words []string // of its body
}

// splitWords lists the names and numbers in a text.
func splitWords(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r < 0x80 && !wordByte(byte(r)) })
}

// macroKinds says what the macros of the files access atomically. A macro without such an access has
// the value 0.
func macroKinds(files []includedFile) map[string]image.AccessKinds {
	kinds := map[string]image.AccessKinds{}
	var defines []define
	for _, f := range files {
		if f.text != nil {
			defines = append(defines, f.text.defines...)
		}
	}
	for _, d := range defines {
		kinds[d.name] = 0
	}
	for again := true; again; { // macros contain other macros
		again = false
		for _, d := range defines {
			all := kinds[d.name]
			for _, w := range d.words {
				all |= accessNames[w] | kinds[w]
				if strings.Contains(w, "atomic") || strings.HasPrefix(w, "__sync") {
					all |= image.AtomicOther
				}
			}
			again = again || all != kinds[d.name]
			kinds[d.name] = all
		}
	}
	return kinds
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
		case (c == '{' || c == '}') && len(open) == 0, c == ';' && len(open) == 0:
			open = nil
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
