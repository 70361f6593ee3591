package linux

// Calls that send or receive several messages.

// A struct mmsghdr is a struct msghdr followed by the number of bytes sent or received.
const (
	batchBytes  = 64
	batchLength = headerBytes
	maxBatch    = 1024
)

// batch is a call that sends or receives several messages.
type batch struct {
	c     call   // the original call
	n     uint64 // maximum number of messages
	done  uint64
	flags uint64
	wait  bool
	part  int64                      // bytes sent of the current message
	short bool                       // the last message was only partly sent
	one   func(*batch, uint64) int64 // transfers the message at an address, without waiting
	// first says that one message is enough.
	first bool
	// expired reports whether the time to wait for messages is over. nil means that there
	// is no limit.
	expired func() bool
}

// sendmmsg is sendmmsg(fd, messages, n, flags).
func (c *call) sendmmsg() int64 {
	b := &batch{c: *c, n: min(uint64(uint32(c.arg[2])), maxBatch), flags: c.arg[3], one: (*batch).send}
	return c.inBatches(b)
}

// recvmmsg is recvmmsg(fd, messages, n, flags, timeout). As in Linux, the timeout is
// checked only when a message has arrived.
func (c *call) recvmmsg() int64 {
	const waitForOne = 0x1_0000
	b := &batch{c: *c, n: min(uint64(uint32(c.arg[2])), maxBatch), flags: c.arg[3] &^ waitForOne, one: (*batch).receive, first: c.arg[3]&waitForOne != 0}
	if timeout := c.arg[4]; timeout != 0 {
		var w Wait
		if e := c.until(&w, timeout); e != 0 {
			return e
		}
		k := c.Kernel
		b.expired = func() bool {
			left := w.Deadline - min(k.now, w.Deadline)
			_ = k.putTime(timeout, left, 1)
			return left == 0
		}
	}
	return c.inBatches(b)
}

// inBatches transfers as many messages as possible, and waits if it must.
func (c *call) inBatches(b *batch) int64 {
	f, _, e := c.socketOf(int32(c.arg[0]), b.flags)
	if e != 0 || b.n == 0 {
		return e
	}
	b.wait = f.flags&openNonblock == 0
	n, ok := b.try()
	if ok || !b.wait {
		return n
	}
	s := blockState{restart: true, retry: b.try}
	s.partial = func() int64 { return int64(b.done) }
	return c.sleepIO(Wait{Kind: WaitPipe, FD: int(int32(c.arg[0]))}, f, s)
}

// try continues with the messages. It reports false if it must wait for one.
func (b *batch) try() (int64, bool) {
	for b.done < b.n {
		addr := b.c.arg[1] + b.done*batchBytes
		n := b.one(b, addr)
		switch {
		case n == -EAGAIN && b.done == 0:
			return n, false
		case n == -EAGAIN:
			return int64(b.done), b.first
		case n < 0 && b.done > 0:
			return int64(b.done), true
		case n < 0:
			return n, true
		}
		if f := b.c.space.PutUint32(addr+batchLength, uint32(n)); f != nil {
			return b.c.fault(f), true
		}
		b.done++
		if b.short || b.expired != nil && b.expired() {
			break
		}
	}
	return int64(b.done), true
}

// send sends a message, or the rest of one that did not fit into a stream.
func (b *batch) send(addr uint64) int64 {
	h, e := b.c.header(addr)
	if e != 0 {
		return e
	}
	whole := sum(h.bufs)
	if b.part > 0 {
		h.bufs, h.control = skip(h.bufs, uint64(b.part)), control{}
	}
	n := b.c.sendMessage(&h, b.flags|messageDontWait)
	if n < 0 {
		return n
	}
	b.part += n
	if b.part < whole && b.wait {
		return -EAGAIN
	}
	b.short = b.part < whole
	n, b.part = b.part, 0
	return n
}

func (b *batch) receive(addr uint64) int64 {
	return b.c.receiveMessage(addr, b.flags|messageDontWait)
}
