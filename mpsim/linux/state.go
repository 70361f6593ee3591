package linux

import (
	"hindsight/mpsim/mem"

	"hindsight/mpsim/linux/vfs"
)

// What the kernel stores for the guest is treated as memory, too, at addresses that no
// program uses: bytes in pipes and files, signal handlers, masks, limits. A call that
// changes such state writes there, and a call whose result or effect depends on it reads
// there. A watcher of the space ([mem.Space.Watch]) is told of both.
//
// 	1<<60  cells of 8 bytes: of the process, 1<<12 for each task, one for each signal that was sent
// 	1<<61  bytes of files, pipes and counters, 1<<40 for each

// StateBase is the lowest address of the kernel's own state.
const StateBase = 1 << 60

const (
	processCells = StateBase
	taskCells    = StateBase | 1<<40
	sentCells    = StateBase | 2<<40
	objectCells  = StateBase | 3<<40
	contents     = uint64(1) << 61

	cellBytes   = 8
	contentBits = 40

	// Cells at the end of what is a file's.
	modeCell = 1<<contentBits - cellBytes
	sizeCell = modeCell - cellBytes
)

// Cells of the process. Those of signals and limits are numbered from the first one of
// their kind.
const (
	cellUmask = iota
	cellTimer
	cellCwd
	cellActions
	cellLimits = cellActions + numSigs + 1
)

// Cells of a task.
const (
	cellMask     = iota
	cellName     // two
	cellAltStack = iota + 1
	cellAffinity
	cellsPerTask = 1 << 9
)

func processCell(n int) uint64 { return processCells + uint64(n)*cellBytes }

func (t *Task) cell(n int) uint64 {
	return taskCells + (uint64(t.TID)*cellsPerTask+uint64(n))*cellBytes
}

// reads records that the present call depends on a cell of the kernel's state; writes
// records that it sets the cell.
func (k *Kernel) reads(cell uint64) {
	if cell != 0 {
		k.space.Tell(cell, cellBytes, mem.Read)
	}
}

func (k *Kernel) writes(cell uint64) { k.space.Tell(cell, cellBytes, mem.Write) }

// Acting returns the task on whose behalf the kernel works: the caller, or a task whose
// blocked call can continue. It returns nil if there is none.
func (k *Kernel) Acting() *Task { return k.acting }

// onBehalf runs do on behalf of a task that is not the caller.
func (k *Kernel) onBehalf(t *Task, do func()) {
	before := k.acting
	k.acting = t
	do()
	k.acting = before
}

// CacheBlock is the number of bytes that cbo.zero clears, and the size of a block for
// the other operations on cache blocks.
const CacheBlock = 64

// Zero clears memory for a task, as cbo.zero does.
func (k *Kernel) Zero(t *Task, addr, n uint64) Outcome {
	k.onBehalf(t, func() { _ = k.space.Write(addr, make([]byte, n)) }) // the caller has checked that the memory is writable
	return Outcome{}
}

// content returns the address of the bytes of a file, given its inode number.
func (k *Kernel) content(ino uint64) uint64 {
	if k.contents == nil {
		k.contents = map[uint64]uint64{}
	}
	n, ok := k.contents[ino]
	if !ok {
		n = uint64(len(k.contents))
		k.contents[ino] = n
	}
	return contents + n<<contentBits
}

// moved records that n bytes of a file with offsets, starting at off, were read or written.
// A write that makes the file longer also sets its size.
func (k *Kernel) moved(f vfs.File, off int64, n int, acc mem.Access) {
	if n <= 0 || !k.space.Watched() {
		return
	}
	st := f.Stat()
	k.space.Tell(k.content(st.Ino)+uint64(off)&(1<<contentBits-1), uint64(n), acc)
	if end := off + int64(n); acc&mem.Write != 0 && end == st.Size && end > k.ends[st.Ino] {
		k.sized(st)
	}
}

// sized records that the current call set the size of a file.
func (k *Kernel) sized(st vfs.Stat) {
	if k.ends == nil {
		k.ends = map[uint64]int64{}
	}
	k.ends[st.Ino] = st.Size
	k.writes(k.content(st.Ino) + sizeCell)
}

// cut records that the current call has set the size of a file, which was old. Nobody
// wrote what the file contains after the smaller of the two.
func (k *Kernel) cut(f vfs.File, old int64) {
	if !k.space.Watched() {
		return
	}
	st := f.Stat()
	if old > st.Size {
		k.space.Tell(k.content(st.Ino)+uint64(st.Size), uint64(old-st.Size), 0)
	}
	k.sized(st)
}

// attributes records that the current call reads the size and the mode of a file.
func (k *Kernel) attributes(st vfs.Stat) {
	if k.space.Watched() {
		k.reads(k.content(st.Ino) + sizeCell)
		k.reads(k.content(st.Ino) + modeCell)
	}
}

// newCell returns a cell that no object of the kernel has yet.
func (k *Kernel) newCell() uint64 {
	k.cells++
	return objectCells + k.cells*cellBytes
}

// setMode records that the current call sets the flags of an open file.
func (k *Kernel) setMode(f *openFile) {
	if f.mode == 0 {
		f.mode = k.newCell()
	}
	k.writes(f.mode)
}

// carrier is a stream that passes on what is written to it.
type carrier interface {
	// carried returns the position in the stream's buffer of the next byte to be read or
	// written, and the size of the buffer.
	carried(write bool) (at, size uint64)
}

// passed records that n bytes went through a stream, starting at its previous position.
func (k *Kernel) passed(s stream, at, size uint64, n int, acc mem.Access) {
	if n <= 0 || size == 0 || !k.space.Watched() {
		return
	}
	base := k.content(s.Stat().Ino)
	first := min(uint64(n), size-at)
	k.space.Tell(base+at, first, acc)
	if rest := uint64(n) - first; rest > 0 {
		k.space.Tell(base, rest, acc)
	}
}

// readFrom reads from a stream and records where the bytes come from.
func (k *Kernel) readFrom(s stream, p []byte) (int, int64) {
	var at, size uint64
	if c, ok := s.(carrier); ok {
		at, size = c.carried(false)
	}
	n, e := s.read(p)
	k.passed(s, at, size, n, mem.Read)
	return n, e
}

// writeTo writes to a stream and records where the bytes go.
func (k *Kernel) writeTo(s stream, p []byte) (int, int64) {
	var at, size uint64
	if c, ok := s.(carrier); ok {
		at, size = c.carried(true)
	}
	n, e := s.write(p)
	k.passed(s, at, size, n, mem.Write)
	return n, e
}

// carried implements [carrier].
//
//nolint:unparam // other carriers are of other sizes
func (p *pipeEnd) carried(write bool) (at, size uint64) {
	if write {
		return p.written % pipeBytes, pipeBytes
	}
	return (p.written - uint64(len(p.buf))) % pipeBytes, pipeBytes
}

// offset returns the cell of an open file's position. lseek sets it. That reads and writes
// advance it does not count as a dependence; otherwise each would depend on all earlier
// ones.
func (k *Kernel) offset(f *openFile) uint64 {
	if f.cell == 0 {
		f.cell = k.newCell()
	}
	return f.cell
}

// sent assigns to a signal that is being sent its own cell, which its delivery reads.
func (k *Kernel) sent(i *siginfo) {
	if i.timer {
		i.cell = processCell(cellTimer)
		return
	}
	k.signalsSent++
	i.cell = sentCells + k.signalsSent*cellBytes
	k.writes(i.cell)
}

// delivered records what the delivery of a signal depends on.
func (k *Kernel) delivered(t *Task, i *siginfo) {
	k.reads(processCell(cellActions + i.sig))
	k.reads(t.cell(cellMask))
	k.reads(i.cell)
}
