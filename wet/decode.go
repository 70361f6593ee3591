package wet

import (
	"fmt"
	"math"
	"sort"

	"hindsight/mpsim/rv"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/wire"
)

// decoder reads a payload.
type decoder struct {
	wire.Payload
	stmts int // of all paths
}

func decode(payload []byte) decoder {
	return decoder{Payload: wire.Payload{Rest: payload}}
}

// loaded is a part of an epoch's labels in memory.
type loaded struct {
	size    uint64
	streams [][]byte
	records []byte
}

func decodePart(payload []byte) (*loaded, error) {
	d := decode(payload)
	p := &loaded{streams: make([][]byte, d.Count(1, "number of streams"))}
	p.size = uint64(len(payload) + 24*len(p.streams))
	lengths := make([]int, len(p.streams))
	for i := range lengths {
		lengths[i] = d.Count(1, "length of a stream")
	}
	for i, n := range lengths {
		p.streams[i] = d.Take(uint64(n))
	}
	p.records = d.Rest
	return p, d.Err
}

// numbers is a sequence that is decoded when it is first used.
type numbers struct {
	n     uint64
	form  uint8
	at    uint32 // formStream: its stream
	base  uint64
	count uint64 // formColumns: runs
	cols  [3]struct {
		at   uint32
		base uint64
	}
	part *loaded

	runs   []run    // formRuns, formColumns
	starts []uint64 // formColumns: numbers before each run
	raw    []uint64 // formStream
	step   *stepper // formStream, in place of raw, for a query that steps
	order  []uint32 // see find
	reach  *runIndex
	sorted int8 // 1: ascending; -1: not ascending; 0: not known yet
}

// maxNumbers limits a sequence that has to be held in memory.
const maxNumbers = 1 << 25

// numbers reads a sequence of at most limit numbers.
func (d *decoder) numbers(p *loaded, limit uint64) *numbers {
	x := &numbers{part: p}
	head := d.Uvarint()
	x.n, x.form = head>>2, uint8(head&3)
	if x.n > limit {
		d.Fail("length of a sequence")
	}
	stream := func() (uint32, uint64) {
		i := d.Uvarint()
		base := uint64(d.Varint())
		if d.Err == nil && i >= uint64(len(p.streams)) {
			d.Fail("number of a stream")
		}
		return uint32(i), base
	}
	switch x.form {
	case formRuns:
		d.runs(x)
	case formStream:
		if x.n > maxNumbers {
			d.Fail("length of a sequence")
		}
		x.at, x.base = stream()
	case formColumns:
		x.count = d.Uvarint()
		if x.count > maxNumbers || x.count > x.n {
			d.Fail("number of runs")
		}
		for i := range x.cols {
			x.cols[i].at, x.cols[i].base = stream()
		}
	default:
		d.Fail("form of a sequence")
	}
	return x
}

func (d *decoder) runs(x *numbers) {
	if x.n == 0 {
		return
	}
	count := d.Count(1, "number of runs")
	if count == 0 || uint64(count) > x.n {
		d.Fail("number of runs")
		return
	}
	x.runs = make([]run, count)
	left, at := x.n, uint64(0)
	for i := range x.runs {
		r := &x.runs[i]
		r.first = at + uint64(d.Varint())
		r.n = left
		if i < count-1 {
			r.n = d.Uvarint() + 1
		}
		if r.n == 0 || r.n > left || r.n == left && i < count-1 {
			d.Fail("length of a run")
			return
		}
		left -= r.n
		if r.n > 1 {
			r.stride = uint64(d.Varint())
		}
		at = r.first + r.stride*r.n
	}
}

// open decodes the sequence, and returns the memory that it took.
func (x *numbers) open() (bytes uint64, err error) {
	switch {
	case x.form == formStream && x.raw == nil:
		x.raw, err = x.part.stream(x.at, x.n, x.base)
		x.step = nil
		bytes = 8 * x.n
	case x.form == formColumns && x.runs == nil:
		err = x.openColumns()
		bytes = (runBytes + 8) * x.count
	}
	return bytes, err
}

func (p *loaded) stream(i uint32, n, base uint64) ([]uint64, error) {
	s, err := p.decodeStream(i, n)
	if err != nil {
		return nil, err
	}
	w := stepper{s: s, base: base}
	return w.whole(), nil
}

func (x *numbers) openColumns() error {
	var cols [3][]uint64
	for i, c := range x.cols {
		var err error
		if cols[i], err = x.part.stream(c.at, x.count, c.base); err != nil {
			return err
		}
	}
	x.runs = make([]run, x.count)
	x.starts = make([]uint64, x.count)
	at, sum := uint64(0), uint64(0)
	for i := range x.runs {
		r := run{at + cols[0][i], cols[1][i], cols[2][i]}
		if r.n == 0 || r.n > x.n-sum {
			x.runs = nil
			return fmt.Errorf("length of a run: %w", tracefmt.ErrMalformed)
		}
		x.runs[i], x.starts[i] = r, sum
		sum += r.n
		at = r.first + r.stride*r.n
	}
	if sum != x.n {
		x.runs = nil
		return fmt.Errorf("length of runs: %w", tracefmt.ErrMalformed)
	}
	return nil
}

// get returns number i of an open sequence. i must be below n.
func (x *numbers) get(i uint64) uint64 {
	switch x.form {
	case formStream:
		if x.step != nil {
			return x.step.get(i)
		}
		return x.raw[i]
	case formRuns:
		for k := range x.runs {
			r := &x.runs[k]
			if i < r.n {
				return r.first + r.stride*i
			}
			i -= r.n
		}
		return 0
	}
	k := sort.Search(len(x.starts), func(k int) bool { return x.starts[k] > i }) - 1
	return x.runs[k].first + x.runs[k].stride*(i-x.starts[k])
}

// each calls f with all numbers of an open sequence.
func (x *numbers) each(f func(i int, v uint64)) {
	switch {
	case x.step != nil:
		i := 0
		for v := range x.step.s.All() {
			f(i, v+x.step.base)
			i++
		}
		return
	case x.form == formStream:
		for i, v := range x.raw {
			f(i, v)
		}
		return
	}
	i := 0
	for _, r := range x.runs {
		v := r.first
		for range r.n {
			f(i, v)
			v += r.stride
			i++
		}
	}
}

// search returns the position of v in an open, ascending sequence.
func (x *numbers) search(v uint64) (uint64, bool) {
	if x.step != nil {
		i := x.step.search(v)
		return i, i < x.n && x.step.get(i) == v
	}
	i := sort.Search(int(x.n), func(i int) bool { return x.get(uint64(i)) >= v })
	return uint64(i), uint64(i) < x.n && x.get(uint64(i)) == v
}

// find calls f with each place of v in an open sequence, until f returns false. The first
// call finds out whether the sequence ascends. If it does not, find sorts the places;
// grown is the memory they take.
func (x *numbers) find(v uint64, f func(i uint64) bool) (grown uint64) {
	if x.form != formStream {
		return x.findRuns(v, f)
	}
	if x.step != nil {
		x.raw, x.step = x.step.whole(), nil
		grown = 8 * x.n
	}
	if x.sorted == 0 {
		x.sorted = 1
		for i := 1; i < len(x.raw); i++ {
			if x.raw[i] < x.raw[i-1] {
				x.sorted = -1
				break
			}
		}
	}
	place := func(i int) uint64 { return uint64(i) }
	if x.sorted < 0 {
		if x.order == nil {
			x.order = make([]uint32, len(x.raw))
			for i := range x.order {
				x.order[i] = uint32(i)
			}
			sort.Slice(x.order, func(a, b int) bool {
				if va, vb := x.raw[x.order[a]], x.raw[x.order[b]]; va != vb {
					return va < vb
				}
				return x.order[a] < x.order[b]
			})
			grown += 4 * uint64(len(x.order))
		}
		place = func(i int) uint64 { return uint64(x.order[i]) }
	}
	for i := sort.Search(len(x.raw), func(i int) bool { return x.raw[place(i)] >= v }); i < len(x.raw); i++ {
		if p := place(i); x.raw[p] != v || !f(p) {
			break
		}
	}
	return grown
}

// findRuns is find for runs. It uses an index if there are many.
func (x *numbers) findRuns(v uint64, f func(i uint64) bool) (grown uint64) {
	if x.sorted == 0 {
		x.sorted = 1
		for i := range x.runs {
			r := &x.runs[i]
			if int64(r.stride) < 0 || r.n > math.MaxUint32 || r.stride > math.MaxUint32 || i > 0 && r.first < x.runs[i-1].last() {
				x.sorted = -1
				break
			}
		}
	}
	if x.sorted < 0 && len(x.runs) > scanRuns {
		if x.reach == nil {
			x.reach = indexRuns(x.runs)
			grown = runIndexBytes * uint64(len(x.runs))
		}
		x.reach.find(x.runs, v, f)
		return grown
	}
	from, at := 0, uint64(0)
	if x.sorted > 0 && x.starts != nil {
		from = sort.Search(len(x.runs), func(i int) bool { return x.runs[i].last() >= v })
		if from < len(x.runs) {
			at = x.starts[from]
		}
	}
	for ; from < len(x.runs); from++ {
		r := &x.runs[from]
		if x.sorted > 0 && r.first > v || !r.each(v, at, f) {
			return 0
		}
		at += r.n
	}
	return 0
}

func (r *run) last() uint64 { return r.first + r.stride*(r.n-1) }

// maxDeciders limits the numbers of deciding blocks.
const maxDeciders = 1 << 22

// nodeRow is a node as in the file.
type nodeRow struct {
	kind   NodeKind
	mode   mode
	fn     uint32
	pieces []uint32
	ctl    []origin
	pc     uint64
	callee uint64
	args   uint8

	deciders [][]uint32 // by control slot
	decides  []decides
}

func (d *decoder) pieces(to *[]code) {
	pc := uint64(0)
	for range d.Count(3, "number of blocks") {
		pc += uint64(d.Varint())
		c := code{pc: pc, end: event.End(d.Byte())}
		c.raw = append([]byte(nil), d.Take(uint64(d.Count(1, "length of a block")))...)
		var ok bool
		c.insts, ok = decodeCode(c.raw)
		if !ok || len(c.insts) == 0 || c.end > event.EndTrap || len(c.raw) > maxPieceBytes || len(*to) >= maxPieces {
			d.Fail("block")
			return
		}
		*to = append(*to, c)
		pc += uint64(len(c.raw))
	}
}

func (d *decoder) nodes(to *[]nodeRow, pieces []code) {
	for range d.Count(3, "number of nodes") {
		n := nodeRow{kind: NodeKind(d.Byte())}
		switch {
		case n.kind > NodeSignal:
			d.Fail("kind of a node")
		case n.kind != NodePath:
			n.pc, n.callee, n.args = d.Uvarint(), d.Uvarint(), d.Byte()
		default:
			d.path(&n, pieces)
		}
		if d.Err != nil {
			return
		}
		*to = append(*to, n)
	}
}

func (d *decoder) path(n *nodeRow, pieces []code) {
	x := d.Max(math.MaxUint32, "function")
	n.fn, n.mode.strict = uint32(x>>1), x&1 != 0
	n.mode.args = d.Byte()
	if n.mode.args >= 1<<maxArgs {
		d.Fail("arguments of a call")
	}
	count := d.Count(2, "blocks of a path")
	at, stmts := int64(0), 0
	for range count {
		at += d.Varint()
		if at < 0 || at >= int64(len(pieces)) {
			d.Fail("block of a path")
			return
		}
		stmts += len(pieces[at].insts)
		d.stmts += len(pieces[at].insts)
		n.pieces = append(n.pieces, uint32(at))
		at++
	}
	slots := int32(0)
	for i := range count {
		c := d.Uvarint()
		switch {
		case c&1 == 0 && c>>1 <= uint64(slots):
			n.ctl = append(n.ctl, fromSlot(int32(c>>1)))
			slots = max(slots, int32(c>>1)+1)
		case c&1 != 0 && c>>1 <= uint64(i) && c>>1 > 0:
			n.ctl = append(n.ctl, origin(i)-origin(c>>1))
		default:
			d.Fail("control dependence of a block")
			return
		}
	}
	for range slots {
		var list []uint32
		for range d.Count(1, "deciding blocks") {
			list = append(list, uint32(d.Max(maxDeciders, "deciding block")))
		}
		n.deciders = append(n.deciders, list)
	}
	last := -1
	for i, id := range n.pieces {
		last += len(pieces[id].insts)
		if x := d.Max(maxDeciders, "deciding block"); x > 0 {
			n.decides = append(n.decides, decides{uint32(x - 1), int32(i), uint32(last)})
		}
	}
	if count == 0 || stmts == 0 || count > 1 && stmts > maxPathStmts || d.stmts > maxNodesStmts {
		d.Fail("length of a path")
	}
}

// build builds the node's template.
func (n *nodeRow) build(pieces []code, f *flavour) *template {
	if n.kind != NodePath {
		return newOutside(n.kind, n.pc, n.callee, n.args)
	}
	list := make([]code, len(n.pieces))
	for i, p := range n.pieces {
		list[i] = pieces[p]
	}
	return newPath(n.fn, list, n.ctl, n.mode, f)
}

func (d *decoder) flavour() (f flavour) {
	if n := d.Count(1, "operations"); n > 0 {
		for i := range n {
			x := d.Uvarint()
			if i < len(f.ops) {
				f.ops[i] = x
			} else if x != 0 {
				d.Fail("operations")
			}
		}
	}
	if f.has(rv.OpInvalid) {
		d.Fail("operations")
	}
	return f
}
