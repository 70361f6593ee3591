package report

import (
	"cmp"
	"fmt"
	"regexp"

	"hindsight/analyze/local"
)

// Local is the local variable that contains memory on a stack.
type Local struct {
	Name   string // or "" if only the function is known
	Path   string // the accessed part of it: cache.hits
	Offset uint64 // of the first accessed byte in the variable
	Size   uint64 // size in bytes
	In     Frame  // the function, and the line it had reached
}

// Locals sets the variables of races on stacks. found is what package local or package
// written found about the races from which the report was built. If found knows less
// about a variable than an earlier call, the earlier result stays. Locals must be called
// before a baseline is applied or reports are merged.
func (r *Report) Locals(found []local.Variable, img Image) {
	n := namer{img: img}
	for _, races := range [][]Race{r.Races, r.Suppressed} {
		for i := range races {
			x := &races[i]
			if x.index >= len(found) || found[x.index].PC == 0 {
				continue
			}
			l := &found[x.index]
			if was := x.Location.Local; was != nil && l.Name == "" {
				continue
			}
			frames := n.frames([]uint64{l.PC})
			x.Location.Local = &Local{Name: l.Name, Path: l.Path, Offset: l.Offset, Size: l.Size, In: frames[len(frames)-1]}
		}
	}
	group(r.Races)
}

// text describes it in a sentence.
func (l *Local) text() string {
	switch {
	case l.Name == "":
		return "the frame of " + l.function()
	case l.Path != "":
		return fmt.Sprintf("'%s' in %s", l.Path, l.function())
	case l.Offset != 0:
		return fmt.Sprintf("'%s'+%d in %s", l.Name, l.Offset, l.function())
	}
	return fmt.Sprintf("'%s' in %s", l.Name, l.function())
}

// words is text, for any element, and without names for parts.
func (l *Local) words() string {
	general := *l
	general.Path = index.ReplaceAllStringFunc(cmp.Or(l.Path, l.Name), func(s string) string {
		if s[0] == '[' {
			return "[]"
		}
		return ""
	})
	return general.text()
}

// object returns the variable, whichever part of it was accessed.
func (l *Local) object() string { return l.Name + " in " + l.function() }

// outlined matches what gcc appends to the name of a function for the code of an OpenMP
// region in it.
var outlined = regexp.MustCompile(`\._omp_fn\.[0-9]+$`)

func (l *Local) function() string { return outlined.ReplaceAllString(function(l.In), "") }

// jsonLocal is a Local in the JSON form.
type jsonLocal struct {
	Name     string `json:"name"`
	Path     string `json:"path,omitempty"`
	Offset   uint64 `json:"offset"`
	Size     uint64 `json:"size"`
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
}

func jsonOfLocal(l *Local) *jsonLocal {
	if l == nil {
		return nil
	}
	return &jsonLocal{l.Name, l.Path, l.Offset, l.Size, l.In.Function, l.In.File, l.In.Line}
}
