package slice

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"

	"hindsight/mpsim/image"
	"hindsight/wet"
)

// The output of a run is not in its trace, but it follows from it: the bytes of a write
// are those of the stores on which it depends or, without a store, those with which the
// program began.

// System calls that write output.
const (
	callWrite  = 64
	callWritev = 66
	maxOutput  = 1 << 20 // bytes of one call that are examined

	standardError = 2 // where print and println write
)

// Output is a system call that wrote output.
type Output struct {
	Call  wet.Instance
	Bytes []byte
	// By is what produced each byte, as an index into Makers. It is -1 if the program
	// began with the byte, or if that is not in the trace.
	By     []int
	Makers []wet.Instance

	open bool // its last byte is not known, so a line may end with it
}

// Put says where a text was written.
type Put struct {
	Call   wet.Instance   // the call that wrote its last byte
	Makers []wet.Instance // the instances that produced its bytes
	Calls  []wet.Instance // the calls that wrote it
}

// FindOutput returns the places where a text was written to a descriptor, in the order of
// the run. What follows the text on its line is included, because a value follows its
// name.
func FindOutput(g Graph, img *image.Space, fd uint64, text string) (puts []Put, err error) {
	if text == "" {
		return nil, fmt.Errorf("no text to look for")
	}
	var all []Output
	var stream []byte
	var ends []int        // of each call in the stream
	cut := map[int]bool{} // where a line may end
	for a, err := range inOrder(g, outputPlaces(g, img), nil) {
		if err != nil {
			return nil, err
		}
		o, ok, err := output(g, img, a.Instance, fd)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		all = append(all, o)
		stream = append(stream, o.Bytes...)
		ends = append(ends, len(stream))
		if o.open {
			cut[len(stream)] = true
		}
	}
	for at := 0; ; {
		n := bytes.Index(stream[at:], []byte(text))
		if n < 0 {
			return puts, nil
		}
		at += n
		end := at + len(text)
		if rest := bytes.IndexByte(stream[end:], '\n'); rest >= 0 && text[len(text)-1] != '\n' {
			end += rest
		} else if rest < 0 {
			end = len(stream)
		}
		for n := at + len(text); n < end && len(cut) > 0; n++ {
			if cut[n] {
				end = n
			}
		}
		puts = append(puts, putAt(all, ends, at, end))
		at++
	}
}

func putAt(all []Output, ends []int, from, to int) (p Put) {
	began := 0
	for n := range all {
		for at := max(from, began); at < min(to, ends[n]); at++ {
			if !slices.Contains(p.Calls, all[n].Call) {
				p.Call = all[n].Call
				p.Calls = append(p.Calls, p.Call)
			}
			if by := all[n].By[at-began]; by >= 0 && !slices.Contains(p.Makers, all[n].Makers[by]) {
				p.Makers = append(p.Makers, all[n].Makers[by])
			}
		}
		began = ends[n]
	}
	return p
}

// outputPlaces returns the system calls of a graph, and the calls that print.
func outputPlaces(g Graph, img *image.Space) (places []place) {
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		last := len(node.Stmts) - 1
		_, calls := conventionOf(img, node.Kind, node.Stmts[last].Inst, node.Callee)
		_, prints := printer(img, node.Kind, node.Callee)
		if calls || prints {
			places = append(places, placesAt(g, wet.Site{Node: wet.NodeID(n), Stmt: uint32(last)}, AllThreads)...)
		}
	}
	slices.SortFunc(places, place.compare)
	return places
}

// output reads what a call wrote. ok is false if it wrote nothing to fd.
func output(g Graph, img *image.Space, call wet.Instance, fd uint64) (o Output, ok bool, err error) {
	node := g.Node(call.Node)
	if what, ok := printer(img, node.Kind, node.Callee); ok {
		if fd != standardError {
			return o, false, nil
		}
		return printed(g, img, call, what)
	}
	at, _ := conventionOf(img, node.Kind, node.Stmts[call.Stmt].Inst, node.Callee)
	var regs [4]uint64
	for n, r := range [...]uint8{at.number, at.first, at.first + 1, at.first + 2} {
		if regs[n], _, err = register(g, call, r); err != nil {
			return o, false, err
		}
	}
	if regs[0] != callWrite && regs[0] != callWritev || regs[1] != fd {
		return o, false, nil
	}
	done, _, err := g.Value(call)
	if err != nil || int64(done) <= 0 {
		return o, false, err
	}
	m, err := readBy(g, call)
	if err != nil {
		return o, false, err
	}
	o = Output{Call: call, Makers: m.makers}
	left := min(done, maxOutput)
	if node.Kind == wet.NodeCall && regs[0] == callWrite {
		m.moved(img, regs[2], left)
	}
	if regs[0] == callWrite {
		m.append(img, &o, regs[2], left)
		o.open = node.Kind == wet.NodeCall && o.By[left-1] < 0 && o.Bytes[left-1] == 0
		return o, true, nil
	}
	for n := uint64(0); n < regs[3] && left > 0; n++ {
		addr, size := m.word(img, regs[2]+16*n), m.word(img, regs[2]+16*n+8)
		size = min(size, left)
		m.append(img, &o, addr, size)
		left -= size
	}
	return o, true, nil
}

// memoryBytes are bytes that an instance read, as far as the graph has them.
type memoryBytes struct {
	values map[uint64]byte
	by     map[uint64]int
	makers []wet.Instance
	order  []uint64 // the addresses of what they wrote, in the order in which it was read
}

// readBy collects what the producers of an instance's memory left.
func readBy(g Graph, i wet.Instance) (*memoryBytes, error) {
	m := &memoryBytes{values: map[uint64]byte{}, by: map[uint64]int{}}
	var writes []at
	for d, err := range g.Deps(i) {
		if err != nil {
			return nil, err
		}
		n := g.Node(d.From.Node)
		if d.Kind != wet.DepMemory || n.Kind != wet.NodePath || !stores(n.Stmts[d.From.Stmt].Inst) {
			continue
		}
		t, err := g.Time(d.From.Thread, d.From.Node, d.From.K)
		if err != nil {
			return nil, err
		}
		if addr, _, ok, err := g.Addr(d.From); err == nil && ok {
			m.order = append(m.order, addr)
		}
		writes = append(writes, at{d.From, t, g.Order(d.From.Thread, t)})
	}
	slices.SortFunc(writes, func(a, b at) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for _, s := range writes {
		w, ok, err := written(g, s)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		for b := range uint64(w.Size) {
			m.by[w.Addr+b] = len(m.makers)
			if w.HasValue {
				m.values[w.Addr+b] = byte(w.Value >> (8 * b))
			}
		}
		m.makers = append(m.makers, s.Instance)
	}
	return m, nil
}

func (m *memoryBytes) at(img *image.Space, addr uint64) byte {
	if v, ok := m.values[addr]; ok {
		return v
	}
	if b := img.Bytes(addr, 1); len(b) == 1 {
		return b[0]
	}
	return 0
}

func (m *memoryBytes) word(img *image.Space, addr uint64) uint64 {
	var b [8]byte
	for n := range b {
		b[n] = m.at(img, addr+uint64(n))
	}
	return binary.LittleEndian.Uint64(b[:])
}

func (m *memoryBytes) append(img *image.Space, o *Output, addr, n uint64) {
	for ; n > 0; addr, n = addr+1, n-1 {
		by, ok := m.by[addr]
		if !ok {
			by = -1
		}
		o.Bytes = append(o.Bytes, m.at(img, addr))
		o.By = append(o.By, by)
	}
}
