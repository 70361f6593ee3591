package gdbstub

import (
	"fmt"
	"strings"

	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// libraries returns the list of shared objects in XML. It contains all that the run ever
// loads. So a breakpoint in one of them can be set at the beginning, and the list does not
// change when going back.
func (s *server) libraries() []byte {
	images := s.Debugger.Journal().Image().Images()
	out := fmt.Appendf(nil, `<library-list-svr4 version="1.0" main-lm="%#x">`, debug.Handle(images[0]))
	for _, m := range images[1:] {
		out = fmt.Appendf(out, `<library name="%s" lm="%#x" l_addr="%#x" l_ld="%#x" lmid="0x0"/>`, xmlText(debug.FileName(m)), debug.Handle(m), m.Base, m.Dynamic)
	}
	return append(out, "</library-list-svr4>"...)
}

// threadLocal answers qGetTLSAddr:THREAD,OFFSET,IMAGE: the address of a thread-local
// variable.
func (s *server) threadLocal(args string) []byte {
	who, rest, _ := strings.Cut(args, ",")
	id, _, ok := hexNumber(who)
	offset, from, _, ok2 := twoNumbers(rest)
	if !ok || !ok2 || id == 0 {
		return failure("invalid thread-local variable")
	}
	t := event.ThreadID(id - 1)
	images := s.Debugger.Journal().Image().Images()
	for _, m := range images {
		if debug.Handle(m) != from {
			continue
		}
		block, ok := s.Debugger.ThreadLocals(t, m)
		if !ok {
			return failure("thread T%d has no variables of this kind yet", t)
		}
		return fmt.Appendf(nil, "%x", block+offset)
	}
	return failure("a thread-local variable of a file that the run does not load")
}
