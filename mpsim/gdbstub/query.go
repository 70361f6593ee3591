package gdbstub

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"

	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// readOnly says why registers and memory cannot be written, and functions not called.
const readOnly = "the run is recorded: registers and memory are read-only, and functions cannot be called"

// failure is the reply for an error that gdb shows.
func failure(format string, args ...any) []byte {
	return fmt.Appendf(nil, "E."+format, args...)
}

// answer answers a packet that does not move the run. known is false for packets that the
// stub does not support.
func (s *server) answer(ctx context.Context, body string) (reply []byte, known bool) {
	if body == "" {
		return nil, false
	}
	rest := body[1:]
	switch body[0] {
	case '?':
		return s.stopReply(false), true
	case 'g':
		return s.registers(), true
	case 'p':
		return s.oneRegister(rest), true
	case 'm':
		return s.memory(rest), true
	case 'G', 'P':
		return failure(readOnly), true
	case 'M', 'X':
		if _, size, _, _ := twoNumbers(rest); size > 0 && s.Log != nil {
			s.Log(readOnly) // gdb only says that it cannot access the memory
		}
		return failure(readOnly), true
	case 'H':
		return s.choose(rest), true
	case 'T':
		return s.alive(rest), true
	case 'Z', 'z':
		reply := s.insert(body[0] == 'Z', rest)
		return reply, reply != nil
	case 'D':
		return []byte("OK"), true
	case 'q':
		return s.query(ctx, rest)
	case 'Q':
		if rest == "StartNoAckMode" {
			s.noAck = true
			return []byte("OK"), true
		}
	case 'v':
		return s.verbose(rest)
	}
	return nil, false
}

func (s *server) verbose(body string) (reply []byte, known bool) {
	switch {
	case body == "Cont?":
		return []byte("vCont;c;C;s;S;r"), true
	case strings.HasPrefix(body, "File:"):
		return s.file(body[len("File:"):])
	}
	return nil, false
}

// query answers a packet that begins with q.
func (s *server) query(ctx context.Context, body string) (reply []byte, known bool) {
	name, args, _ := strings.Cut(body, ":")
	switch {
	case name == "Supported":
		s.swb = strings.Contains(args, "swbreak+")
		return fmt.Appendf(nil, "PacketSize=%x;QStartNoAckMode+;swbreak+;hwbreak+;vContSupported+;ReverseStep+;ReverseContinue+;"+
			"qXfer:features:read+;qXfer:threads:read+;qXfer:exec-file:read+;qXfer:auxv:read+;qXfer:libraries-svr4:read+", maxPacket), true
	case name == "Xfer":
		return s.transfer(args)
	case name == "C":
		return fmt.Appendf(nil, "QC%x", threadID(s.general)), true
	case name == "Attached":
		return []byte("1"), true // it is not killed when gdb ends
	case name == "Symbol":
		return []byte("OK"), true
	case name == "GetTLSAddr":
		return s.threadLocal(args), true
	case name == "fThreadInfo":
		s.listed = nil
		for _, h := range s.Debugger.Threads() {
			s.listed = append(s.listed, h.ID())
		}
		return s.someThreads(), true
	case name == "sThreadInfo":
		return s.someThreads(), true
	case strings.HasPrefix(name, "ThreadExtraInfo,"):
		id, _, ok := hexNumber(name[len("ThreadExtraInfo,"):])
		if !ok || id == 0 {
			return failure("invalid thread"), true
		}
		return appendHex(nil, []byte(s.Debugger.Title(event.ThreadID(id-1)))...), true
	case strings.HasPrefix(name, "Rcmd,"):
		return s.monitor(ctx, name[len("Rcmd,"):]), true
	}
	return nil, false
}

func (s *server) monitor(ctx context.Context, coded string) []byte {
	line, ok := unhex(coded)
	if !ok {
		return failure("invalid command")
	}
	text := "there are no monitor commands\n"
	if s.Monitor != nil {
		var err error
		if text, err = s.Monitor(ctx, string(line)); err != nil {
			text = err.Error() + "\n"
		}
	}
	// The thread of Hg remains the one that gdb assumes.
	s.stop.Thread = s.Debugger.Thread
	const most = maxPacket/2 - 64
	return appendHex(nil, []byte(text[:min(len(text), most)])...)
}

// someThreads returns the next part of the list of threads.
func (s *server) someThreads() []byte {
	if len(s.listed) == 0 {
		return []byte("l")
	}
	const each = 256
	n := min(len(s.listed), each)
	out := []byte("m")
	for i, id := range s.listed[:n] {
		if i > 0 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, "%x", threadID(id))
	}
	s.listed = s.listed[n:]
	return out
}

// thread returns the thread whose registers and memory are requested.
func (s *server) thread() *mpsim.Hart { return s.Debugger.Replay.Thread(s.general) }

func (s *server) registers() (out []byte) {
	h := s.thread()
	if h == nil {
		return failure("thread T%d does not exist at this time", s.general)
	}
	for n := range uint64(registerCount) {
		v, size := register(h, s.Debugger.Clock(), n)
		out = appendRegister(out, v, size)
	}
	return out
}

func (s *server) oneRegister(body string) []byte {
	n, _, ok := hexNumber(body)
	h := s.thread()
	if !ok || h == nil {
		return failure("thread T%d does not exist at this time", s.general)
	}
	v, size := register(h, s.Debugger.Clock(), n)
	if size == 0 {
		return failure("there is no register %d", n)
	}
	return appendRegister(nil, v, size)
}

func (s *server) memory(body string) []byte {
	addr, size, _, ok := twoNumbers(body)
	if !ok {
		return failure("invalid address")
	}
	data := make([]byte, min(size, maxPacket/2-16))
	n := s.Debugger.Space().Content(addr, data)
	if n == 0 && size > 0 {
		return []byte("E0e") // EFAULT
	}
	return appendHex(nil, data[:n]...)
}

// choose selects the thread of an H packet.
func (s *server) choose(body string) []byte {
	if body == "" {
		return failure("invalid thread")
	}
	to, chosen := s.stop.Thread, false
	if who := body[1:]; who != "0" && who != "-1" && who != "" {
		id, _, ok := hexNumber(who)
		if !ok || id == 0 || s.Debugger.Replay.Thread(event.ThreadID(id-1)) == nil {
			return failure("there is no such thread at this time")
		}
		to, chosen = event.ThreadID(id-1), true
	}
	if body[0] == 'c' {
		s.resumed, s.chosen = to, chosen
	} else {
		s.general = to
	}
	return []byte("OK")
}

func (s *server) alive(body string) []byte {
	id, _, ok := hexNumber(body)
	if !ok || id == 0 || s.Debugger.Replay.Thread(event.ThreadID(id-1)) == nil {
		return []byte("E01")
	}
	return []byte("OK")
}

// transfer answers qXfer:OBJECT:read:ANNEX:OFFSET,LENGTH.
func (s *server) transfer(args string) (reply []byte, known bool) {
	parts := strings.SplitN(args, ":", 4)
	if len(parts) != 4 || parts[1] != "read" {
		return nil, false
	}
	offset, length, _, ok := twoNumbers(parts[3])
	if !ok {
		return failure("invalid range"), true
	}
	var all []byte
	switch parts[0] {
	case "features":
		if parts[2] != "target.xml" {
			return []byte("E00"), true
		}
		all = []byte(s.xml)
	case "threads":
		all = s.threads()
	case "exec-file":
		all = []byte(s.Program)
	case "auxv":
		all = s.auxv
	case "libraries-svr4":
		all = s.libraries()
	default:
		return nil, false
	}
	if offset >= uint64(len(all)) {
		return []byte("l"), true
	}
	all = all[offset:]
	length = min(length, maxPacket/2-16)
	if uint64(len(all)) <= length {
		return append([]byte("l"), all...), true
	}
	return append([]byte("m"), all[:length]...), true
}

// threads returns the list of threads in XML.
func (s *server) threads() []byte {
	out := []byte("<?xml version=\"1.0\"?><threads>")
	for _, h := range s.Debugger.Threads() {
		out = fmt.Appendf(out, `<thread id="%x" name="%s">%s</thread>`, threadID(h.ID()), xmlText(s.Debugger.Title(h.ID())), xmlText(s.where(h)))
	}
	return append(out, "</threads>"...)
}

// where says what a thread is doing.
func (s *server) where(h *mpsim.Hart) string {
	next, ok := s.Debugger.Journal().Next(h.ID(), s.Debugger.Time())
	switch {
	case !ok:
		return "runs no more"
	case next == s.Debugger.Time():
		return "runs next"
	}
	return fmt.Sprintf("runs at %d", next)
}

var xmlEscapes = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;")

// xmlText escapes a text for XML, without characters that XML cannot represent.
func xmlText(text string) string {
	return xmlEscapes.Replace(strings.Map(func(r rune) rune {
		if r < ' ' || r == 0xfffd {
			return '?'
		}
		return r
	}, text))
}

// readAuxv reads the auxiliary vector that is on the program's stack at the beginning. From
// it the debugger learns where a position-independent program is.
func (s *server) readAuxv() []byte {
	const word, maxWords = 8, 1 << 16
	h := s.Debugger.Replay.Thread(s.Debugger.Thread)
	if h == nil || s.Debugger.Time() != 0 {
		return nil
	}
	at := h.X[2]
	read := func() (v uint64, ok bool) {
		var b [word]byte
		ok = s.Debugger.Space().Content(at, b[:]) == word
		at += word
		return binary.LittleEndian.Uint64(b[:]), ok
	}
	argc, ok := read()
	if !ok || argc > maxWords {
		return nil
	}
	at += (argc + 1) * word
	for n := 0; ; n++ { // the environment
		v, ok := read()
		if !ok || n > maxWords {
			return nil
		}
		if v == 0 {
			break
		}
	}
	var out []byte
	for n := 0; n < maxWords; n++ {
		key, ok := read()
		value, ok2 := read()
		if !ok || !ok2 {
			return nil
		}
		out = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(out, key), value)
		if key == 0 {
			break
		}
	}
	return out
}
