package std

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"

	"hindsight/tracefmt/event"
)

// Limits of a text, so that it cannot claim all memory.
const (
	maxLine    = 1 << 12 // bytes
	maxThreads = 1 << 15
	maxNames   = 1 << 24 // variables and locks
	maxCode    = 1 << 19 // locations of reads, and separately of writes
)

// The addresses of the objects of an imported run. Variables and locks take 8 bytes each,
// in the order in which the text first names them.
const (
	firstVariable = 0x1_0000_0000
	firstLock     = 0x8_0000_0000
)

// batchLength is the largest number of blocks in a batch.
const batchLength = 1 << 12

// ErrTooLarge is wrapped by errors about texts with too many names.
var ErrTooLarge = errors.New("more than an import takes")

// Import reads an STD text and passes the run that it describes to an observer, which it
// finishes. Each access is a separate block whose address is the access's location.
// Before it finishes the observer, Import adds the names of variables and locks to names,
// which must be empty.
//
// Threads are numbered in the order in which the text names them. A thread ends where it
// is first joined. It is an error if a thread that was joined has an event, if a lock is
// taken while another thread holds it, or if a thread releases a lock that it does not
// hold. Taking a lock again is counted and has no other effect.
func Import(ctx context.Context, r io.Reader, to event.Observer, names *Names) error {
	return newImporter(to, names).read(ctx, r)
}

func newImporter(to event.Observer, names *Names) *importer {
	return &importer{to: to, names: names, threads: map[string]event.ThreadID{}, variables: map[string]uint64{}, locks: map[string]uint64{}, owners: map[uint64]hold{}, blocks: map[codeKey]event.BlockID{}}
}

func (m *importer) read(ctx context.Context, r io.Reader) error {
	scan := bufio.NewScanner(r)
	scan.Buffer(make([]byte, 0, maxLine), maxLine)
	number := 0
	for scan.Scan() {
		number++
		if number&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return err
			}
		}
		text := bytes.TrimSpace(scan.Bytes())
		if len(text) == 0 {
			continue
		}
		l, err := ParseLine(text)
		if err == nil {
			err = m.take(&l)
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := scan.Err(); err != nil {
		return fmt.Errorf("line %d: %w", number+1, err)
	}
	if err := m.settle(); err != nil {
		return err
	}
	if err := m.flush(); err != nil {
		return err
	}
	var insts uint64
	for _, t := range m.state {
		insts += t.insts
	}
	return m.to.Finish(event.Outcome{Threads: len(m.state), Insts: insts})
}

// Names are the names in a text, by what an import converted them to.
type Names struct {
	Threads   []string // by thread
	Variables []string // in order of address
	Locks     []string
}

// Variable returns the name of the variable at an address, and the offset of the address
// from its start.
func (n *Names) Variable(addr uint64) (name string, start uint64, ok bool) {
	for _, list := range []struct {
		first uint64
		names []string
	}{{firstVariable, n.Variables}, {firstLock, n.Locks}} {
		if i := (addr - list.first) / 8; addr >= list.first && i < uint64(len(list.names)) {
			return list.names[i], list.first + 8*i, true
		}
	}
	return "", 0, false
}

type importer struct {
	to        event.Observer
	names     *Names
	threads   map[string]event.ThreadID
	state     []threadState
	variables map[string]uint64 // addresses
	locks     map[string]uint64
	owners    map[uint64]hold // by lock
	blocks    map[codeKey]event.BlockID
	batch     event.Batch
	open      openAccess
}

// hold says which thread holds a lock, and how often it has taken it again since.
type hold struct {
	owner event.ThreadID
	again int
}

type codeKey struct {
	location uint64
	write    bool
	size     uint8 // bytes
}

type threadState struct {
	begun, ended bool
	forked       bool
	parent       event.ThreadID
	insts        uint64
}

func (m *importer) take(l *Line) error {
	t, err := m.thread(l.Thread)
	if err != nil {
		return err
	}
	if l.Op != Read && l.Op != Write || m.open.on && !m.extends(t, l) {
		if err := m.settle(); err != nil {
			return err
		}
	}
	if m.state[t].ended {
		return fmt.Errorf("%w: thread %s acts after it was joined", ErrSyntax, l.Thread)
	}
	if err := m.turn(t); err != nil {
		return err
	}
	switch l.Op {
	case Read, Write:
		return m.access(t, l)
	case Acquire, Release:
		return m.lock(t, l)
	case Begin, End:
		return nil
	}
	other, err := m.thread(l.Operand)
	if err != nil {
		return err
	}
	if other == t {
		return fmt.Errorf("%w: thread %s forks or joins itself", ErrSyntax, l.Thread)
	}
	if l.Op == Fork {
		if s := &m.state[other]; s.begun || s.forked {
			return fmt.Errorf("%w: thread %s is forked after it has started", ErrSyntax, l.Operand)
		}
		m.state[other].forked, m.state[other].parent = true, t
		return m.event(event.Event{Kind: event.Create, PC: l.Location, Obj: uint64(other)})
	}
	if !m.state[other].ended {
		if err := m.turn(other); err != nil {
			return err
		}
		if err := m.event(event.Event{Kind: event.ThreadEnd}); err != nil {
			return err
		}
		m.state[other].ended = true
		if err := m.turn(t); err != nil {
			return err
		}
	}
	return m.event(event.Event{Kind: event.Join, PC: l.Location, Obj: uint64(other)})
}

// thread numbers a thread.
func (m *importer) thread(name []byte) (event.ThreadID, error) {
	if t, ok := m.threads[string(name)]; ok {
		return t, nil
	}
	if len(m.state) == maxThreads {
		return 0, fmt.Errorf("%w: %d threads", ErrTooLarge, maxThreads)
	}
	t := event.ThreadID(len(m.state))
	m.threads[string(name)] = t
	m.names.Threads = append(m.names.Threads, string(name))
	m.state = append(m.state, threadState{})
	return t, nil
}

// turn makes the batch one of thread t, and begins t if necessary.
func (m *importer) turn(t event.ThreadID) error {
	if m.batch.Thread != t || len(m.batch.Blocks) >= batchLength {
		if err := m.flush(); err != nil {
			return err
		}
		m.batch.Thread = t
	}
	if s := &m.state[t]; !s.begun {
		s.begun = true
		return m.event(event.Event{Kind: event.ThreadStart, Obj: uint64(s.parent)})
	}
	return nil
}

func (m *importer) flush() error {
	b := &m.batch
	if len(b.Blocks) == 0 && len(b.Events) == 0 {
		return nil
	}
	m.state[b.Thread].insts += b.Insts
	err := m.to.Batch(b)
	b.Reset()
	return err
}

func (m *importer) event(e event.Event) error {
	e.At = uint32(len(m.batch.Blocks))
	m.batch.Events = append(m.batch.Events, e)
	m.batch.Insts++
	if len(m.batch.Events) < batchLength {
		return nil
	}
	return m.flush()
}

// openAccess is an access to which more lines may belong.
type openAccess struct {
	on       bool
	thread   event.ThreadID
	location uint64
	write    bool
	sized    bool   // the name says where in its granule the variable is
	slot     uint64 // where the granule is
	lo, hi   uint64 // bytes in the granule
}

// sized has the parts of the name of a variable that an export wrote: which bytes of
// which granule it is, and the name of the granule.
func sized(name []byte) (granule []byte, lo, hi uint64, ok bool) {
	at, rest, ok := bytes.Cut(name, []byte{':'})
	if !ok || len(at) < 2 || at[0] != 'V' && at[0] != 'F' || len(rest) == 0 || rest[0] < '1' || rest[0] > '8' || len(rest) > 1 && rest[1] != '.' && rest[1] != '~' {
		return nil, 0, 0, false
	}
	addr, err := strconv.ParseUint(string(at[1:]), 16, 64)
	lo = addr & 7
	hi = lo + uint64(rest[0]-'0')
	if err != nil || hi > 8 {
		return nil, 0, 0, false
	}
	granule = strconv.AppendUint(append([]byte(nil), at[0]), addr-lo, 16)
	return append(granule, rest[1:]...), lo, hi, true
}

// slot returns where a variable is, and which bytes it takes there.
func (m *importer) slot(name []byte) (slot, lo, hi uint64, isSized bool, err error) {
	granule, lo, hi, isSized := sized(name)
	if !isSized {
		granule, lo, hi = name, 0, 8
	}
	key := string(granule)
	if isSized {
		key += ":" // so that no variable of another text has it
	}
	slot, err = address(m.variables, &m.names.Variables, firstVariable, key, granule)
	return slot, lo, hi, isSized, err
}

// extends reports whether a line is a part of the open access: a further piece of the
// same granule.
func (m *importer) extends(t event.ThreadID, l *Line) bool {
	o := &m.open
	if !o.sized || o.thread != t || o.location != l.Location || o.write != (l.Op == Write) {
		return false
	}
	slot, lo, _, isSized, err := m.slot(l.Operand)
	return err == nil && isSized && slot == o.slot && lo >= o.hi
}

// access begins an access, or adds a line to the open one.
func (m *importer) access(t event.ThreadID, l *Line) error {
	slot, lo, hi, isSized, err := m.slot(l.Operand)
	if err != nil {
		return err
	}
	if m.open.on {
		m.open.hi = hi
		return nil
	}
	m.open = openAccess{true, t, l.Location, l.Op == Write, isSized, slot, lo, hi}
	return nil
}

// settle passes on the open access.
func (m *importer) settle() error {
	o := m.open
	if !o.on {
		return nil
	}
	m.open.on = false
	key := codeKey{o.location, o.write, uint8(o.hi - o.lo)}
	id, ok := m.blocks[key]
	if !ok {
		if len(m.blocks) == maxCode {
			return fmt.Errorf("%w: %d locations", ErrTooLarge, maxCode)
		}
		id = event.BlockID(len(m.blocks))
		site := event.Site{PC: o.location, Size: key.size}
		if key.write {
			site.Access = event.Write
		}
		block := event.Block{ID: id, PC: o.location, Bytes: 4, Insts: 1, Sites: []event.Site{site}}
		if err := m.to.Define([]event.Block{block}); err != nil {
			return err
		}
		m.blocks[key] = id
	}
	if err := m.turn(o.thread); err != nil {
		return err
	}
	m.batch.Blocks, m.batch.Addrs = append(m.batch.Blocks, id), append(m.batch.Addrs, o.slot+o.lo)
	m.batch.Insts++
	return nil
}

// address returns the address for a key. If the key is new, it gets the name.
func address(known map[string]uint64, names *[]string, first uint64, key string, name []byte) (uint64, error) {
	addr, ok := known[key]
	if !ok {
		if len(*names) == maxNames {
			return 0, fmt.Errorf("%w: %d names", ErrTooLarge, maxNames)
		}
		addr = first + 8*uint64(len(*names))
		known[key] = addr
		*names = append(*names, string(name))
	}
	return addr, nil
}

func (m *importer) lock(t event.ThreadID, l *Line) error {
	addr, err := address(m.locks, &m.names.Locks, firstLock, string(l.Operand), l.Operand)
	if err != nil {
		return err
	}
	h, held := m.owners[addr]
	kind := event.MutexLock
	switch {
	case l.Op == Acquire && held && h.owner == t:
		h.again++
		m.owners[addr] = h
		return nil
	case l.Op == Acquire && held:
		return fmt.Errorf("%w: lock %s is acquired by thread %s while thread %s holds it", ErrSyntax, l.Operand, l.Thread, m.names.Threads[h.owner])
	case l.Op == Acquire:
		m.owners[addr] = hold{owner: t}
	case !held || h.owner != t:
		return fmt.Errorf("%w: lock %s is released by thread %s, which does not hold it", ErrSyntax, l.Operand, l.Thread)
	case h.again > 0:
		h.again--
		m.owners[addr] = h
		return nil
	default:
		kind = event.MutexUnlock
		delete(m.owners, addr)
	}
	return m.event(event.Event{Kind: kind, PC: l.Location, Obj: addr})
}
