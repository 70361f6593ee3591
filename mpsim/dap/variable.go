package dap

import (
	"context"
	"fmt"
	"strings"

	godap "github.com/google/go-dap"

	"hindsight/mpsim/debug"
)

// expansion is what a client can expand. count 0 means all entries from start on.
type expansion func(start, count int) []godap.Variable

// maxExpanded bounds the number of entries shown at once.
const maxExpanded = 10000

// plainList returns an expansion that is always shown completely.
func plainList(list func() []godap.Variable) expansion {
	return func(int, int) []godap.Variable { return list() }
}

// expandable returns the reference of an expansion.
func (s *server) expandable(e expansion) int {
	s.shown = append(s.shown, e)
	return len(s.shown)
}

func (s *server) variables(a *godap.VariablesArguments) []godap.Variable {
	if a.VariablesReference < 1 || a.VariablesReference > len(s.shown) {
		return []godap.Variable{}
	}
	return append([]godap.Variable{}, s.shown[a.VariablesReference-1](max(a.Start, 0), max(a.Count, 0))...)
}

func (s *server) shownVariables(list []debug.Variable) (all []godap.Variable) {
	for i := range list {
		all = append(all, s.shownVariable(&list[i]))
	}
	return all
}

// shownVariable returns a variable for the client, which may expand it if it has parts.
func (s *server) shownVariable(v *debug.Variable) godap.Variable {
	out := godap.Variable{Name: v.Name, Value: s.debug.Text(v), Type: v.Type.Shape().Name, EvaluateName: v.Path}
	if v.Addr != 0 && v.Bits == 0 {
		out.MemoryReference = reference(v.Addr)
	}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = s.parts(v)
	return out
}

// parts returns the reference to the parts of a variable, or 0 if it has none.
func (s *server) parts(v *debug.Variable) (reference, members, elements int) {
	members, elements = s.debug.Parts(v)
	if members+elements == 0 {
		return 0, 0, 0
	}
	whole := *v
	return s.expandable(func(start, count int) (all []godap.Variable) {
		end := members + elements
		if count > 0 {
			end = min(end, start+count)
		}
		for n := start; n < min(end, start+maxExpanded); n++ {
			part := s.debug.Part(&whole, n)
			all = append(all, s.shownVariable(&part))
		}
		return all
	}), members, elements
}

// evaluate evaluates an expression or executes a command of the console.
func (s *server) evaluate(ctx context.Context, a *godap.EvaluateArguments) (any, error) {
	text := strings.TrimSpace(a.Expression)
	word, _, _ := strings.Cut(text, " ")
	switch word {
	case "when", "goto", "lastwrite", "race", "help":
		out, err := s.debug.Do(ctx, s.resolved(text, a.FrameId))
		if err != nil {
			return nil, err
		}
		s.shown, s.frames = nil, nil
		return godap.EvaluateResponseBody{Result: strings.TrimSuffix(out, "\n")}, nil
	}
	v, err := s.debug.Evaluate(s.frameOrTop(a.FrameId), text)
	if err != nil {
		return nil, err
	}
	shown := s.shownVariable(&v)
	out := godap.EvaluateResponseBody{Result: shown.Value, Type: shown.Type, MemoryReference: shown.MemoryReference}
	out.VariablesReference, out.NamedVariables, out.IndexedVariables = shown.VariablesReference, shown.NamedVariables, shown.IndexedVariables
	return out, nil
}

// frameOrTop returns a frame by its number. If there is none, it returns the innermost
// frame of the thread in which the run has stopped, or nil.
func (s *server) frameOrTop(id int) *debug.Frame {
	if f := s.frame(id); f != nil {
		return f
	}
	if all := s.debug.Stack(s.debug.Thread); len(all) > 0 {
		return &all[0]
	}
	return nil
}

// resolved replaces the variable in a lastwrite command by its address and size.
func (s *server) resolved(text string, frame int) string {
	name, ok := strings.CutPrefix(text, "lastwrite ")
	if !ok {
		return text
	}
	if v, err := s.debug.Evaluate(s.frameOrTop(frame), strings.TrimSpace(name)); err == nil && v.Addr != 0 {
		return fmt.Sprintf("lastwrite %#x %d", v.Addr, max(v.Size, 1))
	}
	return text
}
