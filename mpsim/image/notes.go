package image

import (
	"debug/dwarf"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
)

// Notes is what the text of a program's source files says about atomic accesses and the
// debug information does not. The trace contains it, because the files may be gone or
// changed when the trace is examined.
type Notes struct {
	Files []FileNotes `json:"files"`
}

// FileNotes is about one source file, the first of a unit, or about a header of the program.
type FileNotes struct {
	Name string `json:"name"` // as line tables have it
	// Settled says that every atomic access in the file's own text is on one of Lines, i.e.
	// no macro or type can hide another one.
	Settled bool         `json:"settled,omitempty"`
	Lines   []LineNotes  `json:"lines,omitempty"`
	Orders  []OrderNotes `json:"orders,omitempty"`
	// Accesses are in no particular order.
	Accesses []AccessNotes `json:"accesses,omitempty"`
}

// AccessNotes is the place of the name of an operation that loads or stores atomically, or
// of a macro that contains one. Line and column are counted from 1, columns in bytes.
type AccessNotes struct {
	Line   int         `json:"line"`
	Column int         `json:"column"`
	Kinds  AccessKinds `json:"kinds"`
}

// AccessKinds are what an operation does, a set. The numbers are part of the format.
type AccessKinds uint8

const (
	AtomicLoad  AccessKinds = 1
	AtomicStore AccessKinds = 2
	AtomicOther AccessKinds = 4 // something that may be atomic, of a macro
)

// OrderNotes are the memory orders of a compare-and-swap, or of a fence, which has one
// order. Line and Column say where its name begins, counted from 1, columns in bytes.
// Orders have the numbers that compilers use (relaxed 0 … seq_cst 5).
type OrderNotes struct {
	Line    int   `json:"line"`
	Column  int   `json:"column"`
	Success uint8 `json:"success"`
	Failure uint8 `json:"failure"`
}

// LineNotes is about the lines From to To, inclusive, counted from 1.
type LineNotes struct {
	From int      `json:"from"`
	To   int      `json:"to"`
	Kind NoteKind `json:"kind"`
}

// NoteKind says what some lines contain. The numbers are part of the file format.
type NoteKind uint8

const (
	NoteAtomic    NoteKind = 1 // an atomic operation, and possibly other accesses
	NoteLoad      NoteKind = 2 // a statement that loads atomically, and nothing else
	NoteStore     NoteKind = 3 // a statement that stores atomically, and nothing else
	NoteReduction NoteKind = 4 // an OpenMP directive with a reduction
	NoteWriteBack NoteKind = 5 // an OpenMP directive with simd or task that names no variable to write back
)

// maxOrder is the largest number of a memory order, seq_cst.
const maxOrder = 5

// Encode returns the payload of a notes block.
func (n *Notes) Encode() ([]byte, error) { return json.Marshal(n) }

// DecodeNotes reads what Encode wrote.
func DecodeNotes(payload []byte) (*Notes, error) {
	n := new(Notes)
	if err := json.Unmarshal(payload, n); err != nil {
		return nil, fmt.Errorf("notes on the source: %w", err)
	}
	for _, f := range n.Files {
		for _, o := range f.Orders {
			if o.Line < 1 || o.Success > maxOrder || o.Failure > maxOrder {
				return nil, fmt.Errorf("notes on the source: no memory orders of %s:%d: %d, %d", f.Name, o.Line, o.Success, o.Failure)
			}
		}
	}
	return n, nil
}

// SourceFiles returns the first source file of each unit in the debug information, under
// the name used in line tables.
func (m *Image) SourceFiles() []string {
	d := m.lockDebug()
	defer d.mu.Unlock()
	var list []string
	for _, u := range d.units {
		name, _ := u.root.Val(dwarf.AttrName).(string)
		dir, _ := u.root.Val(dwarf.AttrCompDir).(string)
		if name != "" {
			list = append(list, joinDir(dir, name))
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// LineFiles returns the files named by line tables, including headers, under those names.
func (m *Image) LineFiles() []string {
	d := m.lockDebug()
	defer d.mu.Unlock()
	names := map[string]bool{}
	for _, u := range d.units {
		off, dir, ok := u.lineProgram()
		if !ok {
			continue
		}
		t, _, _, err := d.readLineFiles(off, dir)
		if err != nil {
			d.note(err)
			continue
		}
		for i := range t.files {
			names[t.file(uint64(i))] = true
		}
	}
	delete(names, "")
	return slices.Sorted(maps.Keys(names))
}

// IsSource reports whether a file is a source file named by line tables. Names are looked
// up in the files that places returns; nil means under the name itself.
func (s *Space) IsSource(file fs.FileInfo, places func(name string) []string) bool {
	if places == nil {
		places = func(name string) []string { return []string{name} }
	}
	for _, m := range s.Images() {
		for _, name := range m.LineFiles() {
			for _, place := range places(name) {
				if info, err := os.Stat(place); err == nil && os.SameFile(info, file) {
					return true
				}
			}
		}
	}
	return false
}
