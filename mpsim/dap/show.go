package dap

import (
	"context"
	"encoding/base64"
	"fmt"
	"path"
	"strconv"

	godap "github.com/google/go-dap"

	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// shownFrame is a frame that the client knows by its number. For an inlined call, it is the
// frame of the function around it.
type shownFrame struct {
	thread event.ThreadID
	frame  debug.Frame
}

// question answers a request while the run is stopped.
func (s *server) question(ctx context.Context, r godap.RequestMessage) (body any, err error) {
	switch r := r.(type) {
	case *godap.SetBreakpointsRequest:
		return s.lines(&r.Arguments), nil
	case *godap.SetFunctionBreakpointsRequest:
		return s.functions(&r.Arguments), nil
	case *godap.SetInstructionBreakpointsRequest:
		return s.instructions(&r.Arguments), nil
	case *godap.DataBreakpointInfoRequest:
		return s.watchable(&r.Arguments), nil
	case *godap.SetDataBreakpointsRequest:
		return s.data(&r.Arguments), nil
	case *godap.SetExceptionBreakpointsRequest:
		return s.exceptions(&r.Arguments), nil
	case *godap.ThreadsRequest:
		return s.threads(), nil
	case *godap.StackTraceRequest:
		return s.stack(&r.Arguments)
	case *godap.ScopesRequest:
		return s.scopes(&r.Arguments)
	case *godap.VariablesRequest:
		return godap.VariablesResponseBody{Variables: s.variables(&r.Arguments)}, nil
	case *godap.EvaluateRequest:
		return s.evaluate(ctx, &r.Arguments)
	case *godap.ReadMemoryRequest:
		return s.memory(&r.Arguments)
	case *godap.ExceptionInfoRequest:
		return s.exception()
	case *godap.ModulesRequest:
		return s.modules(&r.Arguments), nil
	case *godap.LoadedSourcesRequest:
		return s.sources(), nil
	case *godap.SourceRequest:
		return source(&r.Arguments)
	case *godap.PauseRequest:
		return nil, nil
	}
	return nil, fmt.Errorf("hindsight has no %q", r.GetRequest().Command)
}

func (s *server) threads() any {
	all := []godap.Thread{}
	for _, h := range s.debug.Threads() {
		all = append(all, godap.Thread{Id: threadID(h.ID()), Name: s.debug.Title(h.ID())})
	}
	return godap.ThreadsResponseBody{Threads: all}
}

// stack returns the calls of a thread. Inlined calls have frames of their own.
func (s *server) stack(a *godap.StackTraceArguments) (any, error) {
	t := event.ThreadID(a.ThreadId - 1)
	if s.debug.Replay.Thread(t) == nil {
		return nil, fmt.Errorf("there is no thread %d at this time", a.ThreadId)
	}
	img := s.debug.Journal().Image()
	all := []godap.StackFrame{}
	for _, f := range s.debug.Stack(t) {
		places := img.Frames(f.Code())
		if len(places) == 0 {
			s.frames = append(s.frames, shownFrame{t, f})
			all = append(all, godap.StackFrame{Id: len(s.frames), Name: reference(f.PC), InstructionPointerReference: reference(f.PC)})
		}
		for _, at := range places {
			s.frames = append(s.frames, shownFrame{t, f})
			shown := godap.StackFrame{Id: len(s.frames), Name: at.Function, Line: at.Line, InstructionPointerReference: reference(f.PC)}
			if at.File != "" {
				shown.Source = &godap.Source{Name: path.Base(at.File), Path: path.Clean(at.File)}
			}
			all = append(all, shown)
		}
	}
	total := len(all)
	return godap.StackTraceResponseBody{StackFrames: page(all, a.StartFrame, a.Levels), TotalFrames: total}, nil
}

// frame returns a frame by its number, or nil.
func (s *server) frame(id int) *debug.Frame {
	if id < 1 || id > len(s.frames) {
		return nil
	}
	return &s.frames[id-1].frame
}

func (s *server) scopes(a *godap.ScopesArguments) (any, error) {
	f := s.frame(a.FrameId)
	if f == nil {
		return nil, fmt.Errorf("there is no frame %d", a.FrameId)
	}
	thread := s.frames[a.FrameId-1].thread
	scope := func(name, hint string, list func() []godap.Variable) godap.Scope {
		return godap.Scope{Name: name, PresentationHint: hint, VariablesReference: s.expandable(plainList(list)), Expensive: hint == ""}
	}
	return godap.ScopesResponseBody{Scopes: []godap.Scope{
		scope("Locals", "locals", func() []godap.Variable { return s.shownVariables(s.debug.Locals(f)) }),
		scope("Registers", "registers", func() []godap.Variable { return s.registers(f, thread) }),
		scope("Globals", "", func() []godap.Variable { return s.shownVariables(s.debug.Globals()) }),
	}}, nil
}

// registers returns the registers of a frame. For a caller, only some are known.
func (s *server) registers(f *debug.Frame, t event.ThreadID) []godap.Variable {
	all := []godap.Variable{{Name: "pc", Value: reference(f.PC), EvaluateName: "$pc"}}
	for i, v := range f.X {
		name := debug.IntegerNames[i]
		all = append(all, godap.Variable{Name: name, Value: fmt.Sprintf("%#x", v), EvaluateName: "$" + name})
	}
	if h := s.debug.Replay.Thread(t); h != nil && h.PC == f.PC {
		for i, v := range h.F {
			all = append(all, godap.Variable{Name: debug.FloatNames[i], Value: fmt.Sprintf("%#x", v)})
		}
	}
	return all
}

func reference(addr uint64) string { return fmt.Sprintf("%#x", addr) }

// maxRead bounds the number of bytes of memory that one request reads.
const maxRead = 1 << 20

func (s *server) memory(a *godap.ReadMemoryArguments) (any, error) {
	addr, err := strconv.ParseUint(a.MemoryReference, 0, 64)
	if err != nil || a.Count < 0 {
		return nil, fmt.Errorf("%q is not an address", a.MemoryReference)
	}
	addr += uint64(a.Offset)
	data := s.debug.Memory(addr, min(a.Count, maxRead))
	return godap.ReadMemoryResponseBody{Address: reference(addr), Data: base64.StdEncoding.EncodeToString(data), UnreadableBytes: a.Count - len(data)}, nil
}

// exception describes the signal that ended the run.
func (s *server) exception() (any, error) {
	for _, p := range s.stoppedAt {
		if p.exception != "" {
			return godap.ExceptionInfoResponseBody{ExceptionId: p.exception, BreakMode: "always"}, nil
		}
	}
	if s.stop.Reason != debug.AtEnd || s.stop.Signal == 0 {
		return nil, fmt.Errorf("no signal has ended the run here")
	}
	out := godap.ExceptionInfoResponseBody{ExceptionId: s.debug.Signal(), BreakMode: "unhandled"}
	if f := s.debug.Journal().Fault(); f != nil {
		out.Description = f.Reason
	}
	return out, nil
}
