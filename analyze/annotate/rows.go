package annotate

import (
	"cmp"
	"fmt"
	"slices"

	"hindsight/analyze/slice"
	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
	"hindsight/wet"
)

// row is what is shown together: a line of the source, a function without line
// information, or something that happened outside.
type row struct {
	key      rowKey
	function string
	stmts    []int // statements of the slice, by address
	count    uint64
	threads  []event.ThreadID
	begun    bool // the slice began with it
	in, out  []link
	// of is the statement whose values represent the row, or -1.
	of     int
	names  int // the statement that writes these values to a variable, or -1
	values slice.Values
	known  bool // the values were read
}

// rowKey orders rows: by file and line, then functions without lines, then what happened
// outside.
type rowKey struct {
	kind int // rowLine, rowCode, rowOutside
	file string
	line int
	pc   uint64 // rowCode: the function, or the instruction
	text string // rowOutside
}

const (
	rowLine = iota
	rowCode
	rowOutside
)

func (k rowKey) compare(o rowKey) int {
	return cmp.Or(cmp.Compare(k.kind, o.kind), cmp.Compare(k.file, o.file), cmp.Compare(k.line, o.line),
		cmp.Compare(k.pc, o.pc), cmp.Compare(k.text, o.text))
}

// link stands for the dependences of one kind between a row and another.
type link struct {
	row      int
	kind     wet.DepKind
	count    uint64
	crossing uint64 // between threads
	through  string // the variable that crosses, or "" if unknown
}

// view is a slice as rows.
type view struct {
	*slice.Slice
	img     *image.Space
	rows    []row
	of      []int // the row of each statement
	arrows  []slice.Arrow
	from    map[registerUse]int
	origins *slice.Origins
	rowAt   map[wet.Site]int
	began   uint64 // when main begins in the run
	pass    []bool // rows that a slice by distance omits
	unread  int    // rows whose values would have taken too long to read
}

// valueBudget limits the instances whose values are read for the rows of a slice.
const valueBudget = 8 << 20

// rowing says how a slice is divided into rows.
type rowing struct {
	single  bool // code without lines has a row for each instruction, not for each function
	headers bool // what is inlined from headers of libraries has rows of its own
}

// newView divides a slice into rows.
func newView(s *slice.Slice, img *image.Space, by rowing) (*view, error) {
	v := rowsOf(s, img, by)
	return v, v.readValues()
}

// rowsOf is newView without values.
func rowsOf(s *slice.Slice, img *image.Space, by rowing) *view {
	v := &view{Slice: s, img: img, arrows: s.Arrows()}
	index := map[rowKey]int{}
	stmts := s.Statements()
	keys := make([]rowKey, len(stmts))
	for n := range stmts {
		key, function := v.keyOf(&stmts[n], by)
		keys[n] = key
		at, ok := index[key]
		if !ok {
			at = len(v.rows)
			index[key] = at
			v.rows = append(v.rows, row{key: key, function: function, of: -1, names: -1})
		}
		r := &v.rows[at]
		r.stmts = append(r.stmts, n)
		r.count = max(r.count, stmts[n].Count)
		r.threads = append(r.threads, stmts[n].Threads...)
	}
	slices.SortFunc(v.rows, func(a, b row) int { return a.key.compare(b.key) })
	for i := range v.rows {
		index[v.rows[i].key] = i
		slices.Sort(v.rows[i].threads)
		v.rows[i].threads = slices.Compact(v.rows[i].threads)
	}
	v.of = make([]int, len(stmts))
	for n, key := range keys {
		v.of[n] = index[key]
	}
	v.link()
	v.begin()
	return v
}

// keyOf returns the key of a statement's row.
func (v *view) keyOf(s *slice.Statement, by rowing) (rowKey, string) {
	switch s.Kind {
	case wet.NodeStart:
		return rowKey{kind: rowOutside, text: "start of " + threadList(s.Threads)}, ""
	case wet.NodeSignal:
		return rowKey{kind: rowOutside, text: "signal handling"}, ""
	}
	frames := v.img.Frames(s.PC)
	if len(frames) > 0 {
		in := frames[0]
		if !by.headers {
			in = ownFrame(frames)
		}
		if in.Line > 0 && in.File != "" {
			return rowKey{kind: rowLine, file: in.File, line: in.Line}, in.Function
		}
	}
	f, ok := v.img.Func(s.PC)
	switch {
	case !ok:
		return rowKey{kind: rowCode, pc: s.PC}, fmt.Sprintf("%#x", s.PC)
	case !by.single:
		return rowKey{kind: rowCode, pc: f.Addr}, f.Demangled()
	}
	return rowKey{kind: rowCode, pc: s.PC}, f.Demangled()
}

// link combines the arrows of statements into links of rows, separately for data and
// control.
func (v *view) link() {
	type key struct {
		from, to int
		control  bool
	}
	sum := map[key]*link{}
	var order []key
	for _, a := range v.arrows {
		k := key{v.of[a.From], v.of[a.To], a.Kind == wet.DepControl || a.Kind == wet.DepExit}
		if k.from == k.to {
			continue
		}
		l := sum[k]
		if l == nil {
			l = &link{kind: a.Kind}
			sum[k] = l
			order = append(order, k)
		}
		if a.Kind == wet.DepMemory {
			l.kind = wet.DepMemory
		}
		if a.Crossing > 0 && a.Kind == wet.DepMemory && l.through == "" {
			l.through = v.variable(a.From)
		}
		l.count += a.Count
		l.crossing += a.Crossing
	}
	for _, k := range order {
		l := *sum[k]
		l.row = k.from
		v.rows[k.to].in = append(v.rows[k.to].in, l)
		l.row = k.to
		v.rows[k.from].out = append(v.rows[k.from].out, l)
	}
	for i := range v.rows {
		slices.SortFunc(v.rows[i].in, v.compareLinks)
		slices.SortFunc(v.rows[i].out, v.compareLinks)
	}
}

// variable returns the global variable that a statement stored to in its first execution,
// or "" if there is none.
func (v *view) variable(n int) string {
	for i := range v.Of(n) {
		addr, _, ok, err := v.Graph().Addr(i)
		if err != nil || !ok {
			return ""
		}
		if s, _, ok := v.img.Object(addr); ok && v.img.UserObject(addr) {
			return s.Demangled()
		}
		return ""
	}
	return ""
}

// compareLinks orders links by importance: lines of the source before other code, links
// between threads before others, data before control, and then by frequency.
func (v *view) compareLinks(a, b link) int {
	rank := func(l link) int {
		n := 3 * v.rows[l.row].key.kind
		switch {
		case l.crossing > 0:
			return n
		case l.kind == wet.DepControl || l.kind == wet.DepExit:
			return n + 2
		}
		return n + 1
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.count, a.count), cmp.Compare(a.row, b.row), cmp.Compare(a.kind, b.kind))
}

// bare reports whether a slice is a part of others and has no arrows of its own.
func (v *view) bare() bool { return len(v.arrows) == 0 && len(v.rows) > 1 }

// begin marks the rows of the criterion.
func (v *view) begin() {
	if v.bare() {
		return
	}
	for _, n := range v.begins() {
		v.rows[v.of[n]].begun = true
	}
}

// readValues reads the values that represent rows, within the budget. It reads those of
// the criterion and of rare rows first.
func (v *view) readValues() error {
	if v.bare() {
		return nil // it is not known which of a line's instructions matter
	}
	leaves := v.leaving()
	order := make([]int, len(v.rows))
	for i := range order {
		order[i] = i
		v.represent(&v.rows[i], leaves)
	}
	stmts := v.Statements()
	cost := func(i int) uint64 {
		if v.rows[i].of < 0 {
			return 0
		}
		return stmts[v.rows[i].of].Count
	}
	slices.SortFunc(order, func(a, b int) int {
		if v.rows[a].begun != v.rows[b].begun {
			if v.rows[a].begun {
				return -1
			}
			return 1
		}
		return cmp.Or(cmp.Compare(cost(a), cost(b)), cmp.Compare(a, b))
	})
	left := uint64(valueBudget)
	for _, i := range order {
		r := &v.rows[i]
		if r.of < 0 {
			continue
		}
		if cost(i) > left {
			v.unread++
			continue
		}
		left -= cost(i)
		var err error
		if r.values, err = v.Values(r.of); err != nil {
			return err
		}
		r.known = r.values.Count > 0
	}
	return nil
}

// leaving marks the statements whose results another row uses.
func (v *view) leaving() []bool {
	out := make([]bool, len(v.Statements()))
	for _, a := range v.arrows {
		if a.Kind != wet.DepControl && a.Kind != wet.DepExit && v.of[a.From] != v.of[a.To] {
			out[a.From] = true
		}
	}
	return out
}

// represent chooses the statement whose values represent a row: the statement that
// computes what a store of the line stores, or else the last result that another line
// uses, or else the last result.
func (v *view) represent(r *row, leaves []bool) {
	if r.key.kind == rowCode && len(r.stmts) > 1 || r.key.kind == rowOutside {
		return
	}
	stmts := v.Statements()
	best, rank, names := -1, 0, -1
	for _, n := range r.stmts {
		s := &stmts[n]
		if s.Kind != wet.NodePath {
			continue
		}
		at, score := n, 2
		if reg, ok := storedRegister(s.Inst); ok {
			from := v.producer(n, reg)
			if from < 0 {
				continue
			}
			at, score = from, 4
		} else if s.Inst.Defs().Regs == 0 {
			continue
		} else if leaves[n] {
			score = 3
		}
		if _, static := stmts[at].Inst.Static(stmts[at].PC); static && score < 4 {
			continue // the code alone determines the result
		}
		if stmts[at].Kind != wet.NodePath || stmts[at].Inst.Op == rv.OpECALL || keepsPlace(stmts[at].Inst) {
			continue
		}
		if score >= rank {
			best, rank, names = at, score, n
		}
	}
	r.of, r.names = best, names
}

// keepsPlace reports whether the result of an instruction is only about where the program
// is: the return address, or the stack, global or thread pointer.
func keepsPlace(i rv.Inst) bool { return i.Defs().Regs&0x1e != 0 }

// storedRegister returns the register that a plain store stores.
func storedRegister(i rv.Inst) (uint8, bool) {
	access, _, ok := i.Mem()
	if !ok || access != event.Write {
		return 0, false
	}
	if i.StoresFloat() {
		return rv.RegF + i.Rs2, true
	}
	return i.Rs2, i.Rs2 != 0
}

// registerUse is the use of a register by a statement.
type registerUse struct {
	stmt int
	reg  uint8
}

// producer returns the statement of the slice that most often produced a register for
// another one, or -1.
func (v *view) producer(to int, reg uint8) int {
	if v.from == nil {
		v.from = map[registerUse]int{}
		for _, a := range v.arrows { // the most frequent first
			u := registerUse{a.To, a.Reg}
			if _, ok := v.from[u]; !ok && a.Kind == wet.DepRegister {
				v.from[u] = a.From
			}
		}
	}
	if from, ok := v.from[registerUse{to, reg}]; ok {
		return from
	}
	return -1
}

func threadList(list []event.ThreadID) string {
	text := ""
	for i, t := range list {
		switch {
		case i == 6 && len(list) > 7:
			return fmt.Sprintf("%s and %d more threads", text, len(list)-i)
		case i > 0:
			text += ", "
		}
		text += fmt.Sprintf("T%d", t)
	}
	return text
}
