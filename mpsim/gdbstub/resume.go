package gdbstub

import (
	"context"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/debug"
	"hindsight/mpsim/mem"
	"hindsight/tracefmt/event"
)

// resumes returns what a packet asks the run to do, or nil if it is another packet.
func (s *server) resumes(body string) (go_ move, back bool) {
	d := s.Debugger
	at := s.resumed
	if !s.chosen || d.Replay.Thread(at) == nil {
		at = s.stop.Thread
	}
	switch {
	case body == "bs":
		return func(ctx context.Context) (debug.Stop, error) { return d.StepBack(ctx, at) }, true
	case body == "bc":
		return d.ContinueBack, true
	case body == "c" || strings.HasPrefix(body, "C"):
		return d.Continue, false
	case body == "s" || strings.HasPrefix(body, "S"):
		return func(ctx context.Context) (debug.Stop, error) { return d.Step(ctx, at) }, false
	case strings.HasPrefix(body, "vCont;"):
		return s.vCont(body[len("vCont;"):], at), false
	}
	return nil, false
}

// vCont handles the actions for threads. The recorded run determines which threads run;
// only the thread to step matters.
func (s *server) vCont(actions string, at event.ThreadID) move {
	d := s.Debugger
	for _, action := range strings.Split(actions, ";") {
		action, who, named := strings.Cut(action, ":")
		if action == "" || action[0] == 'c' || action[0] == 'C' {
			continue
		}
		t := at
		if named {
			if id, _, ok := hexNumber(who); ok && id > 0 {
				t = event.ThreadID(id - 1)
			}
		}
		if action[0] == 'r' {
			low, high, _, ok := twoNumbers(action[1:])
			if !ok {
				continue
			}
			return func(ctx context.Context) (debug.Stop, error) {
				return d.StepOut(ctx, t, func(pc uint64) bool { return pc-low >= high-low })
			}
		}
		return func(ctx context.Context) (debug.Stop, error) { return d.Step(ctx, t) }
	}
	return s.arrive
}

// arrive continues. On RISC-V under Linux, gdb steps with a breakpoint on the next
// instruction. So if the selected thread is at a breakpoint after its next instruction, the
// run stops there, and not at the thread's next turn.
func (s *server) arrive(ctx context.Context) (debug.Stop, error) {
	d, t := s.Debugger, s.general
	if len(d.Breaks) == 0 || d.Replay.Thread(t) == nil {
		return d.Continue(ctx)
	}
	st, err := d.Step(ctx, t)
	if err != nil || st.Reason != debug.Stepped {
		return st, err
	}
	if h := d.Replay.Thread(t); h != nil && d.Breaks[h.PC] {
		return d.At(t), nil
	}
	if next, ok := d.Journal().Runs(d.Time()); ok && d.Breaks[d.Replay.Thread(next).PC] {
		return d.At(next), nil
	}
	return d.Continue(ctx)
}

var watchNames = map[mem.Access]string{mem.Write: "watch", mem.Read: "rwatch", mem.Read | mem.Write: "awatch"}

// site is a breakpoint or watchpoint set by the debugger.
type site struct {
	kind       byte // '0' to '4', as in packets
	addr, size uint64
}

// insert sets or removes the breakpoint or watchpoint of a Z or z packet.
func (s *server) insert(set bool, body string) []byte {
	if len(body) < 2 || body[1] != ',' {
		return failure("invalid breakpoint")
	}
	p := site{kind: body[0]}
	var ok bool
	if p.addr, p.size, _, ok = twoNumbers(body[2:]); !ok {
		return failure("invalid breakpoint")
	}
	if p.kind > '4' || p.kind < '0' {
		return nil
	}
	const most = 1 << 20 // maximum number of bytes of a watchpoint
	if p.kind >= '2' && (p.size == 0 || p.size > most || p.addr+p.size < p.addr) {
		return failure("a watchpoint of no size, or of more than a mebibyte")
	}
	at := -1
	for i := range s.sites {
		if s.sites[i] == p {
			at = i
		}
	}
	switch {
	case set && at < 0:
		s.sites = append(s.sites, p)
	case !set && at >= 0:
		s.sites = append(s.sites[:at], s.sites[at+1:]...)
	}
	s.arm()
	return []byte("OK")
}

// arm tells the debugger what to stop for.
func (s *server) arm() {
	d := s.Debugger
	d.Breaks, d.Watches = map[uint64]bool{}, nil
	access := map[byte]mem.Access{'2': mem.Write, '3': mem.Read, '4': mem.Read | mem.Write}
	for _, p := range s.sites {
		if p.kind < '2' {
			d.Breaks[p.addr] = true
		} else {
			d.Watches = append(d.Watches, mpsim.Watched{Addr: p.addr, Size: p.size, Access: access[p.kind]})
		}
	}
}
