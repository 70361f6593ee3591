package report

import (
	"fmt"

	"hindsight/analyze/written"
)

// Local is the local variable that memory on a stack belongs to.
type Local struct {
	Name   string // "" if only the function is known
	Offset uint64 // in it, of the first byte accessed
	Size   uint64 // bytes of it
	In     Frame  // the function that it is of, where that was
}

// Locals names the variables of races on stacks: found is what package written
// saw of the races that the report was built from. It is to be called before a
// baseline is applied or reports are merged.
func (r *Report) Locals(found []written.Local, img Image) {
	n := namer{img: img}
	for _, races := range [][]Race{r.Races, r.Suppressed} {
		for i := range races {
			x := &races[i]
			if x.index >= len(found) || found[x.index].PC == 0 {
				continue
			}
			l := &found[x.index]
			frames := n.frames([]uint64{l.PC})
			x.Location.Local = &Local{Name: l.Name, Offset: l.Offset, Size: l.Size, In: frames[len(frames)-1]}
		}
	}
}

// text names it in a sentence.
func (l *Local) text() string {
	switch {
	case l.Name == "":
		return "the frame of " + function(l.In)
	case l.Offset != 0:
		return fmt.Sprintf("'%s'+%d in %s", l.Name, l.Offset, function(l.In))
	}
	return fmt.Sprintf("'%s' in %s", l.Name, function(l.In))
}

// jsonLocal is a Local in the JSON form.
type jsonLocal struct {
	Name     string `json:"name"`
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
	return &jsonLocal{l.Name, l.Offset, l.Size, l.In.Function, l.In.File, l.In.Line}
}
