package hook

// dependence holds the tasks that last named an address in depend clauses, in generations.
// The tasks of one generation are unordered, and each is ordered after those of the
// previous generation (OpenMP 5.1, section 2.19.11).
type dependence struct {
	kind     int // of the present generation
	last     []*handle
	previous []*handle
}

// Kinds of dependences, with libgomp's numbers in an omp_depend_t.
const (
	dependIn       = 1
	dependOut      = 2
	dependInOutSet = 5
)

// clause is one address of a depend clause.
type clause struct {
	on   uint64
	kind int
}

// clauses reads the depend clauses at addr. gcc writes either the number of addresses, the
// number of addresses for writing, and the addresses, starting with those for writing; or
// zero and four numbers: of all addresses, of those for writing, of those of mutexinoutset
// and of those for reading. In the second form the addresses follow in this order, and then
// those of omp_depend_t objects. The result contains each address once.
func clauses(c *Call, addr uint64) []clause {
	word := func(n uint64) uint64 {
		v, _ := c.Load(addr+8*n, 8)
		return v
	}
	const most = 1 << 16
	total, out, first := word(0), word(1), uint64(2)
	in := total - out
	if total == 0 {
		// The tasks of a mutexinoutset exclude each other, in any order: libgomp runs them
		// one after another.
		total, out, in, first = word(1), word(2)+word(3), word(4), 5
	}
	if total > most || out > total || in > total-out {
		return nil
	}
	list := make([]clause, 0, total)
	place := map[uint64]int{}
	for n := range total {
		cl := clause{word(first + n), dependIn}
		switch {
		case n < out:
			cl.kind = dependOut
		case n >= out+in:
			object := cl.on
			cl.on, _ = c.Load(object, 8)
			if kind, _ := c.Load(object+8, 8); kind == dependInOutSet {
				cl.kind = dependInOutSet
			} else if kind != dependIn {
				cl.kind = dependOut
			}
		}
		switch i, twice := place[cl.on]; {
		case !twice:
			place[cl.on] = len(list)
			list = append(list, cl)
		case list[i].kind != cl.kind:
			list[i].kind = dependOut
		}
	}
	return list
}

// on returns what a task with a dependence of this kind is ordered after.
func (d *dependence) on(kind int) []*handle {
	if kind == d.kind && kind != dependOut {
		return d.previous
	}
	return d.last
}

// add adds the task that concludes the handles to the present generation, or starts a new
// generation with it.
func (d *dependence) add(kind int, by []*handle) {
	if kind != d.kind || kind == dependOut {
		d.kind, d.previous, d.last = kind, d.last, nil
	}
	d.last = append(d.last, by...)
}

// depends returns what a child of parent with the depend clauses at addr is ordered after.
func (o *openMP) depends(c *Call, parent *task, addr uint64) []*handle {
	var after []*handle
	for _, cl := range clauses(c, addr) {
		if d := parent.depends[cl.on]; d != nil {
			after = append(after, d.on(cl.kind)...)
		}
	}
	return after
}

// enter makes later children of parent depend on a task with these clauses, whose end is
// published through the handles.
func (o *openMP) enter(c *Call, parent *task, addr uint64, by []*handle) {
	if parent.depends == nil {
		parent.depends = map[uint64]*dependence{}
	}
	for _, cl := range clauses(c, addr) {
		d := parent.depends[cl.on]
		if d == nil {
			d = new(dependence)
			parent.depends[cl.on] = d
		}
		d.add(cl.kind, by)
	}
}
