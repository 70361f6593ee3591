package linux

import (
	"encoding/binary"

	"hindsight/mpsim/linux/vfs"
)

// buffer is a range of guest memory.
type buffer struct{ addr, n uint64 }

// one returns the single buffer of read and write.
func one(addr, n uint64) []buffer { return []buffer{{addr, min(n, maxRW)}} }

// iovecs reads the buffers of readv and writev.
func (c *call) iovecs(addr, count uint64) ([]buffer, int64) {
	if count > maxIovs {
		return nil, -EINVAL
	}
	raw := make([]byte, 16*count)
	if f := c.space.Read(addr, raw); f != nil {
		return nil, c.fault(f)
	}
	bufs := make([]buffer, count)
	left := uint64(maxRW)
	for i := range bufs {
		n := binary.LittleEndian.Uint64(raw[16*i+8:])
		if int64(n) < 0 {
			return nil, -EINVAL
		}
		n = min(n, left)
		left -= n
		bufs[i] = buffer{binary.LittleEndian.Uint64(raw[16*i:]), n}
	}
	return bufs, 0
}

// copyOut fills up to n bytes at addr by calling from for one piece after another, until a
// piece is short.
func (k *Kernel) copyOut(addr, n uint64, from func(p []byte) (int, int64)) int64 {
	buf := make([]byte, min(n, ioChunk))
	var done uint64
	for done < n {
		p := buf[:min(n-done, ioChunk)]
		// Check first that the bytes can be stored, because they cannot be read a second
		// time.
		if f := k.space.Check(addr+done, uint64(len(p)), writeAccess); f != nil {
			ok := f.Addr - (addr + done)
			if ok == 0 || ok > uint64(len(p)) {
				if done > 0 {
					break
				}
				return k.fault(f)
			}
			p = p[:ok]
		}
		m, e := from(p)
		if e != 0 {
			if done > 0 {
				break
			}
			return e
		}
		if f := k.space.Write(addr+done, p[:m]); f != nil {
			return k.fault(f)
		}
		done += uint64(m)
		if m < len(p) || m < len(buf) && done < n {
			break
		}
	}
	return int64(done)
}

// copyOutAll fills n bytes at addr. It returns 0 or an error number.
func (k *Kernel) copyOutAll(addr, n uint64, fill func(p []byte)) int64 {
	buf := make([]byte, min(n, ioChunk))
	for n > 0 {
		p := buf[:min(n, ioChunk)]
		fill(p)
		if f := k.space.Write(addr, p); f != nil {
			return k.fault(f)
		}
		addr, n = addr+uint64(len(p)), n-uint64(len(p))
	}
	return 0
}

// copyIn passes up to n bytes at addr to the function to, in pieces, until it takes only
// part of one.
func (k *Kernel) copyIn(addr, n uint64, to func(p []byte) (int, int64)) int64 {
	buf := make([]byte, min(n, ioChunk))
	var done uint64
	for done < n {
		p := buf[:min(n-done, ioChunk)]
		fault := k.space.Peek(addr+done, p)
		if fault != nil {
			ok := fault.Addr - (addr + done)
			if ok == 0 || ok > uint64(len(p)) {
				if done > 0 {
					break
				}
				return k.fault(fault)
			}
			p = p[:ok]
		}
		m, e := to(p)
		if e != 0 {
			if done > 0 {
				break
			}
			return e
		}
		k.space.Tell(addr+done, uint64(m), readAccess)
		k.keep()
		done += uint64(m)
		if m < len(p) || fault != nil {
			break
		}
	}
	return int64(done)
}

// scatter reads into the buffers in turn until one is short.
func (k *Kernel) scatter(bufs []buffer, from func(p []byte) (int, int64)) int64 {
	return eachBuffer(bufs, func(b buffer) int64 { return k.copyOut(b.addr, b.n, from) })
}

// gather writes from the buffers in turn until one is taken only in part.
func (k *Kernel) gather(bufs []buffer, to func(p []byte) (int, int64)) int64 {
	return eachBuffer(bufs, func(b buffer) int64 { return k.copyIn(b.addr, b.n, to) })
}

// eachBuffer moves the bytes of the buffers until one is moved only in part. It returns the
// number of bytes moved, or the error of the first buffer.
func eachBuffer(bufs []buffer, move func(buffer) int64) int64 {
	var done int64
	for _, b := range bufs {
		if b.n == 0 {
			continue
		}
		n := move(b)
		if n < 0 {
			if done > 0 {
				break
			}
			return n
		}
		done += n
		if n < int64(b.n) {
			break
		}
	}
	return done
}

// readFile implements all calls that read. at is the offset; if it is negative, the
// description's own offset is used.
func (c *call) readFile(fd int32, bufs []buffer, at int64) int64 {
	f, e := c.files.get(fd)
	if e != 0 {
		return e
	}
	if !f.readable() {
		return -EBADF
	}
	switch file := f.file.(type) {
	case vfs.Regular:
		pos := &f.offset
		if at >= 0 {
			pos = &at
		} else if f.cell != 0 {
			c.reads(f.cell)
		}
		return c.scatter(bufs, func(p []byte) (int, int64) {
			n, e := file.ReadAt(p, *pos)
			c.moved(file, *pos, n, readAccess)
			*pos += int64(n)
			return n, e
		})
	case stream:
		if at >= 0 {
			return -ESPIPE
		}
		if _, ok := file.(*socket); ok {
			return c.receive(fd, bufs, 0, 0, 0, 0)
		}
		return c.readStream(fd, f, file, bufs)
	}
	return -EISDIR
}

// readStream reads what is available, and waits if there is nothing.
func (c *call) readStream(fd int32, f *openFile, s stream, bufs []buffer) int64 {
	k := c.Kernel
	try := func() int64 {
		return k.scatter(bufs, func(p []byte) (int, int64) { return k.readFrom(s, p) })
	}
	n := try()
	if n != -EAGAIN || f.flags&openNonblock != 0 {
		return n
	}
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, blockState{
		restart: true,
		retry: func() (int64, bool) {
			n := try()
			return n, n != -EAGAIN
		},
	})
}

// writeFile implements all calls that write.
func (c *call) writeFile(fd int32, bufs []buffer, at int64) int64 {
	f, e := c.files.get(fd)
	if e != 0 {
		return e
	}
	if !f.writable() {
		return -EBADF
	}
	switch file := f.file.(type) {
	case vfs.Regular:
		pos := &f.offset
		if at >= 0 {
			pos = &at
		} else if f.flags&openAppend != 0 {
			f.offset = file.Size()
		} else if f.cell != 0 {
			c.reads(f.cell)
		}
		return c.gather(bufs, func(p []byte) (int, int64) {
			n, e := file.WriteAt(p, *pos)
			c.moved(file, *pos, n, writeAccess)
			*pos += int64(n)
			return n, e
		})
	case stream:
		if at >= 0 {
			return -ESPIPE
		}
		if _, ok := file.(*socket); ok {
			return c.send(fd, bufs, 0, nil)
		}
		return c.writeStream(fd, f, file, bufs)
	}
	return -EISDIR
}

// writeStream writes everything, and waits for room if it must.
func (c *call) writeStream(fd int32, f *openFile, s stream, bufs []buffer) int64 {
	k, t, unsignalled := c.Kernel, c.t, c.unsignalled
	var done int64
	// try reports whether there is a result.
	try := func() (int64, bool) {
		n := k.gather(bufs, func(p []byte) (int, int64) { return k.writeTo(s, p) })
		if n > 0 {
			done += n
			bufs = skip(bufs, uint64(n))
		}
		switch {
		case n == -EPIPE:
			if !unsignalled {
				k.sendTask(t, siginfo{sig: SIGPIPE, code: codeUser})
			}
			fallthrough
		case n < 0 && n != -EAGAIN:
			if done > 0 {
				return done, true
			}
			return n, true
		case len(bufs) == 0:
			return done, true
		}
		return 0, false
	}
	bufs = skip(bufs, 0)
	for range 2 {
		if n, ok := try(); ok {
			return n
		}
	}
	if f.flags&openNonblock != 0 {
		if done > 0 {
			return done
		}
		return -EAGAIN
	}
	b := blockState{restart: true, retry: try}
	b.partial = func() int64 { return done }
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(fd)}, f, b)
}

// skip drops the first n bytes of the buffers, and empty buffers.
func skip(bufs []buffer, n uint64) []buffer {
	for len(bufs) > 0 && bufs[0].n <= n {
		n -= bufs[0].n
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs = append([]buffer{{bufs[0].addr + n, bufs[0].n - n}}, bufs[1:]...)
	}
	return bufs
}

func (c *call) read() int64  { return c.readFile(int32(c.arg[0]), one(c.arg[1], c.arg[2]), -1) }
func (c *call) write() int64 { return c.writeFile(int32(c.arg[0]), one(c.arg[1], c.arg[2]), -1) }

func (c *call) pread() int64 {
	if int64(c.arg[3]) < 0 {
		return -EINVAL
	}
	return c.readFile(int32(c.arg[0]), one(c.arg[1], c.arg[2]), int64(c.arg[3]))
}

func (c *call) pwrite() int64 {
	if int64(c.arg[3]) < 0 {
		return -EINVAL
	}
	return c.writeFile(int32(c.arg[0]), one(c.arg[1], c.arg[2]), int64(c.arg[3]))
}

func (c *call) readv() int64   { return c.vector(c.readFile, -1) }
func (c *call) writev() int64  { return c.vector(c.writeFile, -1) }
func (c *call) preadv() int64  { return c.vector(c.readFile, int64(c.arg[3])) }
func (c *call) pwritev() int64 { return c.vector(c.writeFile, int64(c.arg[3])) }

func (c *call) vector(do func(int32, []buffer, int64) int64, at int64) int64 {
	if at < -1 {
		return -EINVAL
	}
	if _, e := c.files.get(int32(c.arg[0])); e != 0 {
		return e
	}
	bufs, e := c.iovecs(c.arg[1], c.arg[2])
	if e != 0 {
		return e
	}
	return do(int32(c.arg[0]), bufs, at)
}
