package gdbstub

import (
	"encoding/binary"
	"fmt"
	"strings"
)

// Errors of files, with the numbers of the protocol.
const (
	errNoEntry  = 2
	errBadFile  = 9
	errReadOnly = 30
)

// file answers a vFile packet: the debugger reads the program and its shared objects from
// the trace.
func (s *server) file(body string) (reply []byte, known bool) {
	operation, args, _ := strings.Cut(body, ":")
	switch operation {
	case "setfs":
		return []byte("F0"), true
	case "open":
		name, _, _ := strings.Cut(args, ",")
		path, ok := unhex(name)
		data, found := s.Files[string(path)]
		if !ok || !found {
			return fileError(errNoEntry), true
		}
		fd := 0
		for s.open[fd] != nil {
			fd++
		}
		s.open[fd] = data
		return fmt.Appendf(nil, "F%x", fd), true
	case "pread":
		fd, count, rest, ok := twoNumbers(args)
		data := s.open[int(fd&0xffff)]
		if !ok || data == nil || rest == "" {
			return fileError(errBadFile), true
		}
		offset, _, _ := hexNumber(rest[1:])
		data = data[min(offset, uint64(len(data))):]
		data = data[:min(uint64(len(data)), count, maxPacket/2-16)]
		return append(fmt.Appendf(nil, "F%x;", len(data)), data...), true
	case "fstat":
		fd, _, _ := hexNumber(args)
		data := s.open[int(fd&0xffff)]
		if data == nil {
			return fileError(errBadFile), true
		}
		const size, mode, length = 64, 8, 28 // size of the struct, and offsets of its fields
		var st [size]byte
		binary.BigEndian.PutUint32(st[mode:], 0o100444)
		binary.BigEndian.PutUint64(st[length:], uint64(len(data)))
		return append(fmt.Appendf(nil, "F%x;", size), st[:]...), true
	case "close":
		fd, _, _ := hexNumber(args)
		delete(s.open, int(fd&0xffff))
		return []byte("F0"), true
	case "readlink", "unlink", "pwrite":
		return fileError(errReadOnly), true
	}
	return nil, false
}

func fileError(errno int) []byte { return fmt.Appendf(nil, "F-1,%x", errno) }
