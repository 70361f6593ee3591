package gdbstub

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// Options of [Serve].
type Options struct {
	Debugger *debug.Debugger
	// Program is the path under which the debugger finds the program's file.
	Program string
	// Files are the files that the debugger may read by name: the program and its shared
	// objects.
	Files map[string][]byte
	// Monitor answers `monitor` commands. It may move the debugger.
	Monitor func(ctx context.Context, line string) (string, error)
	// Log is called with messages that gdb cannot show; may be nil.
	Log func(text string)
}

// server is a connection.
type server struct {
	Options
	out   io.Writer
	noAck bool

	swb bool // the debugger knows swbreak and hwbreak
	// general and resumed are the threads of Hg and Hc.
	general, resumed event.ThreadID
	chosen           bool // resumed was chosen
	stop             debug.Stop
	atEnd            bool // the end of the run was reported
	listed           []event.ThreadID
	auxv             []byte
	xml              string
	open             map[int][]byte
	sites            []site
}

// Serve serves a debugger until it detaches, the connection ends or ctx is done. Debugger
// must be at the beginning of the run.
func Serve(ctx context.Context, conn io.ReadWriter, o Options) error {
	s := &server{Options: o, out: conn, open: map[int][]byte{}, xml: targetXML()}
	s.general, s.resumed = o.Debugger.Thread, o.Debugger.Thread
	s.stop = debug.Stop{Reason: debug.Stepped, Thread: o.Debugger.Thread}
	s.auxv = s.readAuxv()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in := make(chan message)
	failed := make(chan error, 1)
	go func() {
		r := bufio.NewReader(conn)
		for {
			m, err := readMessage(r)
			if err != nil {
				failed <- err
				return
			}
			select {
			case in <- m:
			case <-ctx.Done():
				return
			}
		}
	}()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("gdb: %w", err)
		case m := <-in:
			if over, err := s.message(ctx, m, in, failed); over || err != nil {
				return err
			}
		}
	}
}

// message answers a message. over says that the debugger has disconnected.
func (s *server) message(ctx context.Context, m message, in <-chan message, failed chan error) (over bool, err error) {
	if m.kind != packetStart {
		return false, nil // a second acknowledgement, or an interrupt while the run is stopped
	}
	if !s.noAck {
		mark := []byte{acknowledge}
		if !m.sum {
			mark[0] = refuse
		}
		if _, err := s.out.Write(mark); err != nil {
			return false, err
		}
		if !m.sum {
			return false, nil
		}
	}
	body := string(m.body)
	if resume, back := s.resumes(body); resume != nil {
		return false, s.run(ctx, resume, back, in, failed)
	}
	reply, known := s.answer(ctx, body)
	switch body {
	case "k", "vKill", "D":
		over = true
	}
	if strings.HasPrefix(body, "vKill") || strings.HasPrefix(body, "D;") {
		over, reply, known = true, []byte("OK"), true
	}
	if body == "k" {
		return true, nil
	}
	if !known {
		reply = nil
	}
	return over, s.send(reply)
}

func (s *server) send(body []byte) error {
	_, err := s.out.Write(appendPacket(nil, body))
	return err
}

// move is a way to go forward or back.
type move func(ctx context.Context) (debug.Stop, error)

// run goes forward or back, until that is done or the debugger interrupts it.
func (s *server) run(ctx context.Context, go_ move, back bool, in <-chan message, failed chan error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		stop debug.Stop
		err  error
	}
	done := make(chan result, 1)
	go func() {
		stop, err := go_(ctx)
		done <- result{stop, err}
	}()
	for {
		select {
		case m := <-in:
			if m.kind == interruptByte {
				cancel()
			}
		case err := <-failed:
			cancel()
			<-done
			failed <- err
			return nil
		case r := <-done:
			if r.err != nil {
				return r.err
			}
			if err := s.beforeWatched(ctx, &r.stop, back); err != nil {
				return err
			}
			s.stop, s.general = r.stop, r.stop.Thread
			return s.send(s.stopReply(back))
		}
	}
}

// beforeWatched goes to where gdb expects a RISC-V to stop that accesses watched memory:
// the access has not been made yet, or has been undone, and gdb steps over it.
func (s *server) beforeWatched(ctx context.Context, st *debug.Stop, back bool) error {
	if st.Reason != debug.Watchpoint {
		return nil
	}
	if back {
		return s.Debugger.Seek(ctx, st.Time+1)
	}
	return s.Debugger.Seek(ctx, st.Time)
}

// Numbers of signals in the protocol, which differ from the target's.
const (
	sigInt  = 2
	sigTrap = 5
)

// signals maps Linux's signals to the protocol's numbers where these differ.
var signals = map[int]int{7: 10, 10: 30, 12: 31, 17: 20, 18: 19, 19: 17, 20: 18, 23: 16, 29: 23, 30: 32, 31: 12}

// stopReply says where and why the run has stopped.
func (s *server) stopReply(back bool) []byte {
	st := &s.stop
	signal, reason := sigTrap, ""
	ended := s.atEnd
	s.atEnd = false
	switch st.Reason {
	case debug.Stepped:
	case debug.Breakpoint:
		if s.swb {
			reason = "swbreak:;"
		}
	case debug.Watchpoint:
		reason = fmt.Sprintf("%s:%x;", watchNames[s.Debugger.Watches[st.Watch].Access], st.Addr)
	case debug.AtBegin:
		reason = "replaylog:begin;"
	case debug.AtEnd:
		s.atEnd = true
		if st.Signal != 0 && !ended && !back {
			signal = st.Signal
			if signals[signal] != 0 {
				signal = signals[signal]
			}
		} else {
			reason = "replaylog:end;"
		}
	case debug.Interrupted:
		signal = sigInt
	}
	return fmt.Appendf(nil, "T%02x%sthread:%x;", signal, reason, threadID(st.Thread))
}

func threadID(t event.ThreadID) uint64 { return uint64(t) + 1 }
