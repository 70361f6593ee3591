package linux

import (
	"bytes"
	"errors"
	"io"
	"syscall"

	"hindsight/mpsim/linux/vfs"
)

// inputStream is standard input.
type inputStream struct {
	r     io.Reader
	lines bool
	eof   bool
}

func (s *inputStream) Stat() vfs.Stat { return vfs.Stat{Mode: vfs.ModeFIFO | 0o600, Ino: 3, Nlink: 1} }
func (s *inputStream) Close()         {}

// read fills p unless the input ends first, however the host's reads are split, so that
// what the guest sees depends only on the content.
func (s *inputStream) read(p []byte) (int, int64) {
	n := 0
	for n < len(p) && !s.eof && s.r != nil {
		to := p[n:]
		if s.lines {
			to = to[:1]
		}
		m, err := s.r.Read(to)
		n += m
		if err != nil {
			s.eof = true
			if err != io.EOF && n == 0 {
				return 0, -EIO
			}
		}
		if s.lines && m > 0 && bytes.IndexByte(to[:m], '\n') >= 0 {
			break
		}
	}
	return n, 0
}

func (s *inputStream) write([]byte) (int, int64)         { return 0, -EBADF }
func (s *inputStream) ready() (read, write, hangup bool) { return true, false, false }

// outputStream is standard output or standard error.
type outputStream struct {
	w   io.Writer
	ino uint64
}

func (s *outputStream) Stat() vfs.Stat {
	return vfs.Stat{Mode: vfs.ModeFIFO | 0o600, Ino: s.ino, Nlink: 1}
}
func (s *outputStream) Close()                   {}
func (s *outputStream) read([]byte) (int, int64) { return 0, -EBADF }
func (s *outputStream) ready() (read, write, hangup bool) {
	return false, true, false
}

func (s *outputStream) write(p []byte) (int, int64) {
	if s.w == nil {
		return len(p), 0
	}
	n, err := s.w.Write(p)
	switch {
	case n > 0:
		return n, 0
	case errors.Is(err, syscall.EPIPE) || errors.Is(err, io.ErrClosedPipe):
		return 0, -EPIPE
	case errors.Is(err, syscall.ENOSPC):
		return 0, -ENOSPC
	case err != nil:
		return 0, -EIO
	}
	return len(p), 0
}

// device is a character device. read returns what fill writes; write discards everything.
type device struct {
	ino, rdev uint64
	fill      func(p []byte) int
}

func (d *device) Stat() vfs.Stat {
	return vfs.Stat{Mode: vfs.ModeChar | 0o666, Ino: d.ino, Nlink: 1, Rdev: d.rdev}
}
func (d *device) Close()                            {}
func (d *device) read(p []byte) (int, int64)        { return d.fill(p), 0 }
func (d *device) write(p []byte) (int, int64)       { return len(p), 0 }
func (d *device) ready() (read, write, hangup bool) { return true, true, false }
