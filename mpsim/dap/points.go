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

// points are what the client wants the run to stop for: addresses of code by source
// file, by name of function and by address, and memory.
type points struct {
	lines        map[string][]uint64
	functions    []uint64
	instructions []uint64
	data         []mpsim.Watched
}

// arm tells the debugger what to stop for.
func (s *server) arm() {
	s.debug.Breaks = map[uint64]bool{}
	add := func(pcs []uint64) {
		for _, pc := range pcs {
			s.debug.Breaks[pc] = true
		}
	}
	for _, pcs := range s.points.lines {
		add(pcs)
	}
	add(s.points.functions)
	add(s.points.instructions)
	s.debug.Watches = s.points.data
}

// lines sets the breakpoints of a source file.
func (s *server) lines(a *godap.SetBreakpointsArguments) any {
	name := a.Source.Path
	if name == "" {
		name = a.Source.Name
	}
	var all []uint64
	out := []godap.Breakpoint{}
	img := s.debug.Journal().Image()
	for _, b := range a.Breakpoints {
		pcs, at := img.LineCode(name, b.Line)
		all = append(all, pcs...)
		p := godap.Breakpoint{Verified: len(pcs) > 0, Line: at, Source: &a.Source}
		if len(pcs) == 0 {
			p.Line, p.Message = b.Line, "no code of the program comes from here"
		}
		out = append(out, p)
	}
	if s.points.lines == nil {
		s.points.lines = map[string][]uint64{}
	}
	s.points.lines[name] = all
	s.arm()
	return godap.SetBreakpointsResponseBody{Breakpoints: out}
}

// functions sets the breakpoints at functions: where their first line after the prologue
// begins.
func (s *server) functions(a *godap.SetFunctionBreakpointsArguments) any {
	s.points.functions = nil
	out := []godap.Breakpoint{}
	for _, b := range a.Breakpoints {
		pc, ok := s.debug.Body(b.Name)
		p := godap.Breakpoint{Verified: ok}
		if ok {
			s.points.functions = append(s.points.functions, pc)
			p.InstructionReference = reference(pc)
		} else {
			p.Message = fmt.Sprintf("the program has no function %s", b.Name)
		}
		out = append(out, p)
	}
	s.arm()
	return godap.SetFunctionBreakpointsResponseBody{Breakpoints: out}
}

// instructions sets the breakpoints at instructions.
func (s *server) instructions(a *godap.SetInstructionBreakpointsArguments) any {
	s.points.instructions = nil
	out := []godap.Breakpoint{}
	for _, b := range a.Breakpoints {
		pc, err := strconv.ParseUint(b.InstructionReference, 0, 64)
		p := godap.Breakpoint{Verified: err == nil}
		if err == nil {
			s.points.instructions = append(s.points.instructions, pc+uint64(b.Offset))
		} else {
			p.Message = err.Error()
		}
		out = append(out, p)
	}
	s.arm()
	return godap.SetInstructionBreakpointsResponseBody{Breakpoints: out}
}

// watchable says what is to be watched when a variable is.
func (s *server) watchable(a *godap.DataBreakpointInfoArguments) any {
	out := godap.DataBreakpointInfoResponseBody{Description: a.Name + " is not in memory"}
	addr, size := uint64(0), uint64(8)
	if v, ok := s.debug.Variable(s.frame(a.FrameId), a.Name); ok {
		addr, size = v.Addr, v.Size
	} else if n, err := strconv.ParseUint(a.Name, 0, 64); err == nil {
		addr = n
	}
	if addr == 0 && a.VariablesReference > 0 { // a variable of a frame's scope
		for _, v := range s.variables(a.VariablesReference) {
			if v.Name == a.Name && v.MemoryReference != "" {
				addr, _ = strconv.ParseUint(v.MemoryReference, 0, 64)
			}
		}
	}
	if addr != 0 {
		out.DataId, out.Description = fmt.Sprintf("%#x,%d", addr, size), fmt.Sprintf("%s (%d bytes at %#x)", a.Name, size, addr)
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
		p := godap.Breakpoint{Verified: err == nil && err2 == nil && size > 0}
		if p.Verified {
			access := map[godap.DataBreakpointAccessType]mem.Access{"read": mem.Read, "readWrite": mem.Read | mem.Write}[b.AccessType]
			if access == 0 {
				access = mem.Write
			}
			s.points.data = append(s.points.data, mpsim.Watched{Addr: addr, Size: size, Access: access})
		} else {
			p.Message = fmt.Sprintf("%q names no memory", b.DataId)
		}
		out = append(out, p)
	}
	s.arm()
	return godap.SetDataBreakpointsResponseBody{Breakpoints: out}
}

// moves is how a request wants the run to go on or back.
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
