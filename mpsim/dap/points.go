package dap

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"hindsight/mpsim"
	"hindsight/mpsim/debug"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// points are what the client wants the run to stop for.
type points struct {
	lines        map[string][]*point // by source file
	functions    []*point
	instructions []*point
	exceptions   []*point
	data         []*point
}

// all returns the breakpoints on code.
func (p *points) all() (all []*point) {
	for _, list := range p.lines {
		all = append(all, list...)
	}
	all = append(all, p.functions...)
	all = append(all, p.instructions...)
	return append(all, p.exceptions...)
}

// arm tells the debugger what to stop for.
func (s *server) arm() {
	s.debug.Breaks = map[uint64]bool{}
	for _, p := range s.points.all() {
		for _, pc := range p.pcs {
			s.debug.Breaks[pc] = true
		}
	}
	s.debug.Watches = nil
	for _, p := range s.points.data {
		s.debug.Watches = append(s.debug.Watches, p.watched)
	}
	s.debug.Hold = s.holds
}

// lines sets the breakpoints of a source file.
func (s *server) lines(a *godap.SetBreakpointsArguments) any {
	name := a.Source.Path
	if name == "" {
		name = a.Source.Name
	}
	var all []*point
	out := []godap.Breakpoint{}
	img := s.debug.Journal().Image()
	for _, b := range a.Breakpoints {
		pcs, at := img.LineCode(name, b.Line)
		p := &point{pcs: pcs}
		shown := godap.Breakpoint{Verified: len(pcs) > 0, Line: at, Source: &a.Source}
		if len(pcs) == 0 {
			shown.Line, shown.Message = b.Line, "no code of the program comes from here"
		}
		p.stopIf(&shown, b.Condition, b.HitCondition)
		p.log = b.LogMessage
		all = append(all, s.numbered(p, &shown))
		out = append(out, shown)
	}
	if s.points.lines == nil {
		s.points.lines = map[string][]*point{}
	}
	s.points.lines[name] = all
	s.arm()
	return godap.SetBreakpointsResponseBody{Breakpoints: out}
}

// functions sets the breakpoints on functions: where the first line after the prologue
// begins, and where inlined copies begin.
func (s *server) functions(a *godap.SetFunctionBreakpointsArguments) any {
	s.points.functions = nil
	out := []godap.Breakpoint{}
	for _, b := range a.Breakpoints {
		p := &point{pcs: s.debug.Bodies(b.Name)}
		shown := godap.Breakpoint{Verified: len(p.pcs) > 0}
		if shown.Verified {
			shown.InstructionReference = reference(p.pcs[0])
		} else {
			shown.Message = fmt.Sprintf("the program has no function %s", b.Name)
		}
		p.stopIf(&shown, b.Condition, b.HitCondition)
		s.points.functions = append(s.points.functions, s.numbered(p, &shown))
		out = append(out, shown)
	}
	s.arm()
	return godap.SetFunctionBreakpointsResponseBody{Breakpoints: out}
}

// instructions sets the breakpoints on instructions.
func (s *server) instructions(a *godap.SetInstructionBreakpointsArguments) any {
	s.points.instructions = nil
	out := []godap.Breakpoint{}
	for _, b := range a.Breakpoints {
		pc, err := strconv.ParseUint(b.InstructionReference, 0, 64)
		p := &point{}
		shown := godap.Breakpoint{Verified: err == nil}
		if err == nil {
			p.pcs = []uint64{pc + uint64(b.Offset)}
		} else {
			shown.Message = err.Error()
		}
		p.stopIf(&shown, b.Condition, b.HitCondition)
		s.points.instructions = append(s.points.instructions, s.numbered(p, &shown))
		out = append(out, shown)
	}
	s.arm()
	return godap.SetInstructionBreakpointsResponseBody{Breakpoints: out}
}

// exceptionFilters are the exceptions that a client may stop for, with the function that
// raises them.
var exceptionFilters = []struct{ filter, label, function string }{
	{"throw", "C++ exceptions that are thrown", "__cxa_throw"},
	{"panic", "panics of Go", "runtime.gopanic"},
}

// exceptions sets the breakpoints for exceptions. The run always stops at a signal that
// ends it.
func (s *server) exceptions(a *godap.SetExceptionBreakpointsArguments) any {
	s.points.exceptions = nil
	out := []godap.Breakpoint{}
	for _, name := range a.Filters {
		shown := godap.Breakpoint{Message: "there is no such filter"}
		p := &point{exception: name}
		for _, f := range exceptionFilters {
			if f.filter != name {
				continue
			}
			shown.Message = fmt.Sprintf("the program has no function %s", f.function)
			for _, m := range s.debug.Journal().Image().Images() {
				if sym, ok := m.Lookup(f.function); ok {
					p.pcs = append(p.pcs, sym.Addr)
					shown.Verified, shown.Message = true, ""
				}
			}
		}
		s.points.exceptions = append(s.points.exceptions, s.numbered(p, &shown))
		out = append(out, shown)
	}
	s.arm()
	return godap.SetExceptionBreakpointsResponseBody{Breakpoints: out}
}

// watchable returns what to watch for an expression, or for a part of what the client has
// expanded.
func (s *server) watchable(a *godap.DataBreakpointInfoArguments) any {
	out := godap.DataBreakpointInfoResponseBody{Description: a.Name + " is not in memory"}
	addr, size := uint64(0), uint64(8)
	name := a.Name
	if a.VariablesReference > 0 { // a variable of a scope, or a part of one
		for _, v := range s.variables(&godap.VariablesArguments{VariablesReference: a.VariablesReference}) {
			if v.Name == a.Name && v.EvaluateName != "" {
				name = v.EvaluateName
			}
		}
	}
	if v, err := s.debug.Evaluate(s.frameOrTop(a.FrameId), name); err == nil && v.Addr != 0 {
		addr, size = v.Addr, max(v.Size, 1)
	} else if n, err := strconv.ParseUint(a.Name, 0, 64); err == nil {
		addr = n
	}
	if addr != 0 {
		out.DataId, out.Description = fmt.Sprintf("%#x,%d", addr, size), fmt.Sprintf("%s (%d bytes at %#x)", name, size, addr)
		out.AccessTypes = []godap.DataBreakpointAccessType{"write", "read", "readWrite"}
	}
	return out
}

// data sets the data breakpoints.
func (s *server) data(a *godap.SetDataBreakpointsArguments) any {
	s.points.data = nil
	out := []godap.Breakpoint{}
	for _, b := range a.Breakpoints {
		at, n, _ := strings.Cut(b.DataId, ",")
		addr, err := strconv.ParseUint(at, 0, 64)
		size, err2 := strconv.ParseUint(n, 10, 32)
		shown := godap.Breakpoint{Verified: err == nil && err2 == nil && size > 0}
		if shown.Verified {
			access := map[godap.DataBreakpointAccessType]mem.Access{"read": mem.Read, "readWrite": mem.Read | mem.Write}[b.AccessType]
			if access == 0 {
				access = mem.Write
			}
			p := &point{watched: mpsim.Watched{Addr: addr, Size: size, Access: access}}
			p.stopIf(&shown, b.Condition, b.HitCondition)
			s.points.data = append(s.points.data, s.numbered(p, &shown))
		} else {
			shown.Message = fmt.Sprintf("%q names no memory", b.DataId)
		}
		out = append(out, shown)
	}
	s.arm()
	return godap.SetDataBreakpointsResponseBody{Breakpoints: out}
}

// moves returns how a request moves the run.
func (s *server) moves(r godap.RequestMessage) (move func(context.Context) (debug.Stop, error), ok bool) {
	d := s.debug
	thread := func(id int) event.ThreadID { return event.ThreadID(id - 1) }
	switch r := r.(type) {
	case *godap.ContinueRequest:
		return func(ctx context.Context) (debug.Stop, error) { return d.Continue(ctx) }, true
	case *godap.ReverseContinueRequest:
		return func(ctx context.Context) (debug.Stop, error) { return d.ContinueBack(ctx) }, true
	case *godap.NextRequest:
		t, inst := thread(r.Arguments.ThreadId), r.Arguments.Granularity == "instruction"
		return func(ctx context.Context) (debug.Stop, error) {
			if inst {
				return d.Step(ctx, t)
			}
			return d.NextLine(ctx, t, false)
		}, true
	case *godap.StepInRequest:
		t, inst := thread(r.Arguments.ThreadId), r.Arguments.Granularity == "instruction"
		return func(ctx context.Context) (debug.Stop, error) {
			if inst {
				return d.Step(ctx, t)
			}
			return d.NextLine(ctx, t, true)
		}, true
	case *godap.StepOutRequest:
		t := thread(r.Arguments.ThreadId)
		return func(ctx context.Context) (debug.Stop, error) { return d.Finish(ctx, t) }, true
	case *godap.StepBackRequest:
		t, inst := thread(r.Arguments.ThreadId), r.Arguments.Granularity == "instruction"
		return func(ctx context.Context) (debug.Stop, error) {
			if inst {
				return d.StepBack(ctx, t)
			}
			return d.PreviousLine(ctx, t)
		}, true
	}
	return nil, false
}
