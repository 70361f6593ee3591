package dap

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"path"
	"strconv"
	"strings"

	godap "github.com/google/go-dap"

	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// shownFrame is a frame that the client knows by its number. Of an inlined call it is
// that of the function around it.
type shownFrame struct {
	thread event.ThreadID
	frame  debug.Frame
}

// question answers what is asked while the run stands still.
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
		return nil, nil
	case *godap.ThreadsRequest:
		return s.threads(), nil
	case *godap.StackTraceRequest:
		return s.stack(&r.Arguments)
	case *godap.ScopesRequest:
		return s.scopes(&r.Arguments)
	case *godap.VariablesRequest:
		return godap.VariablesResponseBody{Variables: s.variables(r.Arguments.VariablesReference)}, nil
	case *godap.EvaluateRequest:
		return s.evaluate(ctx, &r.Arguments)
	case *godap.ReadMemoryRequest:
		return s.memory(&r.Arguments)
	case *godap.ExceptionInfoRequest:
		return s.exception()
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

// stack is the calls of a thread; inlined ones have frames of their own.
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
	first := min(max(a.StartFrame, 0), total)
	all = all[first:]
	if a.Levels > 0 {
		all = all[:min(a.Levels, len(all))]
	}
	return godap.StackTraceResponseBody{StackFrames: all, TotalFrames: total}, nil
}

// frame is a frame by its number; nil if there is none.
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
		s.shown = append(s.shown, list)
		return godap.Scope{Name: name, PresentationHint: hint, VariablesReference: len(s.shown), Expensive: hint == ""}
	}
	return godap.ScopesResponseBody{Scopes: []godap.Scope{
		scope("Locals", "locals", func() []godap.Variable { return shownVariables(s.debug.Locals(f)) }),
		scope("Registers", "registers", func() []godap.Variable { return s.registers(f, thread) }),
		scope("Globals", "", func() []godap.Variable { return shownVariables(s.debug.Globals()) }),
	}}, nil
}

func (s *server) variables(reference int) []godap.Variable {
	if reference < 1 || reference > len(s.shown) {
		return []godap.Variable{}
	}
	return append([]godap.Variable{}, s.shown[reference-1]()...)
}

func shownVariables(list []debug.Variable) (all []godap.Variable) {
	for i := range list {
		v := &list[i]
		out := godap.Variable{Name: v.Name, Value: value(v), EvaluateName: v.Name}
		if v.Addr != 0 {
			out.MemoryReference = reference(v.Addr)
		}
		all = append(all, out)
	}
	return all
}

// registers are those of a frame: of a caller, as far as they are known.
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

// shownBytes is how much of a large variable is shown.
const shownBytes = 64

// value is a variable for people: of the size of an integer as one, else its bytes.
func value(v *debug.Variable) string {
	b := v.Data
	if uint64(len(b)) < min(v.Size, shownBytes) {
		return "not in memory"
	}
	switch v.Size {
	case 1:
		return fmt.Sprint(int8(b[0]))
	case 2:
		return fmt.Sprint(int16(binary.LittleEndian.Uint16(b)))
	case 4:
		return fmt.Sprint(int32(binary.LittleEndian.Uint32(b)))
	case 8:
		n := binary.LittleEndian.Uint64(b)
		if n>>32 != 0 && n>>32 != 1<<32-1 { // an address, more likely
			return reference(n)
		}
		return fmt.Sprint(int64(n))
	}
	text := fmt.Sprintf("% x", b[:min(len(b), shownBytes)])
	if v.Size > shownBytes {
		text += " …"
	}
	return text
}

func reference(addr uint64) string { return fmt.Sprintf("%#x", addr) }

// evaluate answers an expression: a command of the console, a register, a variable, an
// element of one ("name[2]" of words of 4 bytes, "name[2]:8" of 8), "&name" or the
// word at an address ("*0x1000").
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
	f := s.frame(a.FrameId)
	if f == nil {
		if all := s.debug.Stack(s.debug.Thread); len(all) > 0 {
			f = &all[0]
		}
	}
	if name, ok := strings.CutPrefix(text, "$"); ok && f != nil {
		if name == "pc" {
			return godap.EvaluateResponseBody{Result: reference(f.PC)}, nil
		}
		for i, v := range f.X {
			if debug.IntegerNames[i] == name || fmt.Sprintf("x%d", i) == name {
				return godap.EvaluateResponseBody{Result: reference(v)}, nil
			}
		}
		return nil, fmt.Errorf("there is no register %s", name)
	}
	v, err := s.expression(f, text)
	if err != nil {
		return nil, err
	}
	out := godap.EvaluateResponseBody{Result: value(&v)}
	if strings.HasPrefix(text, "&") {
		out.Result = reference(v.Addr)
	}
	if v.Addr != 0 {
		out.MemoryReference = reference(v.Addr)
	}
	return out, nil
}

// expression is the memory or register that an expression names.
func (s *server) expression(f *debug.Frame, text string) (v debug.Variable, err error) {
	const word, wide = 4, 8
	if at, ok := strings.CutPrefix(text, "*"); ok {
		addr, err := strconv.ParseUint(at, 0, 64)
		if err != nil {
			return v, fmt.Errorf("%q is no address", at)
		}
		return debug.Variable{Name: text, Addr: addr, Size: wide, Data: s.debug.Memory(addr, wide)}, nil
	}
	name, index, indexed := strings.Cut(strings.TrimPrefix(text, "&"), "[")
	v, ok := s.debug.Variable(f, name)
	if !ok {
		return v, fmt.Errorf("there is no variable %q here; an address is \"*0x…\"", name)
	}
	if !indexed {
		return v, nil
	}
	index, of, sized := strings.Cut(index, "]")
	size := uint64(word)
	if sized && strings.HasPrefix(of, ":") {
		if size, err = strconv.ParseUint(of[1:], 10, 8); err != nil || size == 0 || size > wide {
			return v, fmt.Errorf("%q: want a size from 1 to 8", of)
		}
	}
	n, err := strconv.ParseUint(index, 0, 32)
	if err != nil || v.Addr == 0 || (n+1)*size > v.Size {
		return v, fmt.Errorf("%s has no element %s of %d bytes", name, index, size)
	}
	v.Addr, v.Size = v.Addr+n*size, size
	v.Data = s.debug.Memory(v.Addr, int(size))
	return v, nil
}

// resolved replaces the variable of a lastwrite by its address and size.
func (s *server) resolved(text string, frame int) string {
	name, ok := strings.CutPrefix(text, "lastwrite ")
	if !ok {
		return text
	}
	f := s.frame(frame)
	if f == nil {
		if all := s.debug.Stack(s.debug.Thread); len(all) > 0 {
			f = &all[0]
		}
	}
	if v, err := s.expression(f, strings.TrimSpace(name)); err == nil && v.Addr != 0 {
		return fmt.Sprintf("lastwrite %#x %d", v.Addr, v.Size)
	}
	return text
}

// maxRead bounds what one request reads of memory, in bytes.
const maxRead = 1 << 20

func (s *server) memory(a *godap.ReadMemoryArguments) (any, error) {
	addr, err := strconv.ParseUint(a.MemoryReference, 0, 64)
	if err != nil || a.Count < 0 {
		return nil, fmt.Errorf("%q is no address", a.MemoryReference)
	}
	addr += uint64(a.Offset)
	data := s.debug.Memory(addr, min(a.Count, maxRead))
	return godap.ReadMemoryResponseBody{Address: reference(addr), Data: base64.StdEncoding.EncodeToString(data), UnreadableBytes: a.Count - len(data)}, nil
}

// exception tells of the signal that ended the run.
func (s *server) exception() (any, error) {
	if s.stop.Reason != debug.AtEnd || s.stop.Signal == 0 {
		return nil, fmt.Errorf("no signal has ended the run here")
	}
	out := godap.ExceptionInfoResponseBody{ExceptionId: s.debug.Signal(), BreakMode: "unhandled"}
	if f := s.debug.Journal().Fault(); f != nil {
		out.Description = f.Reason
	}
	return out, nil
}
