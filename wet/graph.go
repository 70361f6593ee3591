package wet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sort"

	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

var (
	// ErrNoSuch says that a thread, node, statement or execution does not exist.
	ErrNoSuch = errors.New("no such thing in the graph")
	// ErrNoGraph says that a trace file has no whole execution trace.
	ErrNoGraph = errors.New("the trace has no whole execution trace")
	// ErrEvaluator says that a value must be computed, but that the graph was opened
	// without an evaluator.
	ErrEvaluator = errors.New("values of the graph are to be computed, and there is no evaluator")
)

// DefaultCache is the memory of decoded labels, in bytes.
const DefaultCache = 512 << 20

// OpenOptions of a [Graph]. With the zero value, values that were not stored cannot be
// computed.
type OpenOptions struct {
	// Evaluate computes results, as [Options.Evaluate] does.
	Evaluate Evaluator
	// Cache limits the memory of decoded labels, in bytes. 0 means [DefaultCache].
	Cache uint64
	// Tier1 decodes all labels at once and keeps them, which is the graph after the first
	// tier of compression. It is for comparisons.
	Tier1 bool
}

// Graph is a whole execution trace: a lazy view of a file. It belongs to one
// goroutine at a time.
type Graph struct {
	opts    OpenOptions
	r       *tracefmt.Reader
	file    io.Closer
	flavour flavour
	pieces  []code
	rows    []nodeRow
	stmts   int // of all paths
	nodes   []*template
	threads []*threadView
	epochs  []*epochView
	counts  Counts
	size    sizes
	sites   map[uint64][]Site
	cache   cache
	reverse *reverse
	memo    memo
	pending []tracefmt.Handle // labels blocks before their tables block
	// stepping counts the active queries that step through executions in order.
	stepping int
	stepFrom uint64 // the constant, except in tests
}

// threadView is what a thread executed.
type threadView struct {
	Thread
	spans   [][]*span // by node, in order of epochs
	epochs  []*threadEpoch
	control []stretchView
}

// threadEpoch is a thread's part of an epoch.
type threadEpoch struct {
	thread  uint32
	epoch   int
	place   place
	began   uint64 // time
	n       uint64 // node executions
	spans   []*span
	flow    *flow
	steps   *flowSteps // in place of flow, for a query that steps
	wanders bool       // a query that stepped went everywhere
}

// stretchView is a stretch of node executions in the order of the run.
type stretchView struct {
	time, order uint64
}

// epochView says where an epoch's labels are.
type epochView struct {
	parts  []tracefmt.Handle
	loaded []*loaded
}

// span has a node's labels for one thread and epoch.
type span struct {
	te     *threadEpoch
	index  uint32 // in te.spans
	node   NodeID
	thread uint32
	epoch  uint32
	began  uint64 // earlier executions
	n      uint64
	place  place
	rec    *record // nil: not in memory
}

// Open opens the graph in a trace file. The caller closes it.
func Open(path string, opts OpenOptions) (*Graph, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("open graph %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	var g *Graph
	if err == nil {
		g, err = OpenReaderAt(f, st.Size(), opts)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open graph %s: %w", path, err)
	}
	g.file = f
	return g, nil
}

// OpenReaderAt opens the graph in a trace file of size bytes.
func OpenReaderAt(r io.ReaderAt, size int64, opts OpenOptions) (*Graph, error) {
	tr, err := tracefmt.NewReader(r, size, tracefmt.ReaderOptions{})
	if err != nil {
		return nil, err
	}
	if opts.Cache == 0 {
		opts.Cache = DefaultCache
	}
	g := &Graph{opts: opts, r: tr, stepFrom: stepFrom}
	g.cache.limit = opts.Cache
	for _, h := range tr.Blocks() {
		switch h.Kind {
		case tracefmt.KindWetLabels:
			g.pending = append(g.pending, h)
		case tracefmt.KindWetTables:
			payload, err := tr.Read(h)
			if err == nil {
				if err = g.addEpoch(payload); err != nil && !errors.Is(err, tracefmt.ErrVersion) {
					err = tracefmt.Corrupt(h.Offset, h.Kind, err)
				}
			}
			if err != nil {
				return nil, err
			}
		}
	}
	if len(g.epochs) == 0 {
		return nil, ErrNoGraph
	}
	if opts.Tier1 {
		g.cache.limit = 1 << 62
		if err := g.loadAll(); err != nil {
			return nil, err
		}
	}
	return g, nil
}

// Close closes the file that [Open] opened.
func (g *Graph) Close() error {
	if g.file == nil {
		return nil
	}
	return g.file.Close()
}

// addEpoch adds the tables block of an epoch.
func (g *Graph) addEpoch(payload []byte) error {
	d := decode(payload)
	d.stmts = g.stmts
	if v := d.Uvarint(); d.Err == nil && v != tablesVersion {
		return fmt.Errorf("%w %d of a whole execution trace (this program reads %d): record it again", tracefmt.ErrVersion, v, tablesVersion)
	}
	if d.Uvarint() != uint64(len(g.epochs)) {
		d.Fail("number of the epoch")
	}
	f := d.flavour()
	if len(g.epochs) > 0 && f != g.flavour {
		d.Fail("operations")
	}
	g.flavour = f
	d.pieces(&g.pieces)
	d.nodes(&g.rows, g.pieces)
	if len(g.rows) > maxNodes {
		d.Fail("number of nodes")
	}
	if d.Err != nil {
		return d.Err
	}
	g.stmts = d.stmts
	g.nodes = append(g.nodes, make([]*template, len(g.rows)-len(g.nodes))...)
	e := &epochView{parts: g.pending, loaded: make([]*loaded, len(g.pending))}
	g.pending = nil
	g.epochs = append(g.epochs, e)
	g.directory(&d, e)
	g.order(&d)
	for _, c := range g.counts.fields() {
		*c += d.Uvarint()
	}
	for _, s := range g.size.fields() {
		s.add(Size{d.Uvarint(), d.Uvarint(), d.Uvarint()})
	}
	if len(d.Rest) != 0 {
		d.Fail("length")
	}
	return d.Err
}

// directory reads what each thread executed in the epoch.
func (g *Graph) directory(d *decoder, e *epochView) {
	seen := uint64(0)
	for range d.Count(4, "number of threads") {
		id := d.Max(event.MaxThreads-1, "thread")
		if id < seen {
			d.Fail("order of threads")
			return
		}
		seen = id + 1
		t := g.threadView(event.ThreadID(id))
		te := &threadEpoch{thread: uint32(id), epoch: len(g.epochs) - 1, began: t.Times, n: d.Max(maxExecutions+1, "executions")}
		t.Stmts = d.Uvarint()
		count := d.Count(2, "number of nodes")
		all := make([]span, count)
		node := uint64(0)
		for i := range all {
			node += d.Uvarint()
			if node >= uint64(len(g.rows)) || i > 0 && NodeID(node) == all[i-1].node {
				d.Fail("node")
				return
			}
			all[i] = span{te: te, index: uint32(i), node: NodeID(node), thread: uint32(id), epoch: uint32(te.epoch)}
			te.spans = append(te.spans, &all[i])
		}
		sum := uint64(0)
		for i := range all {
			all[i].n = d.Max(maxExecutions+1, "executions")
			sum += all[i].n
		}
		if sum != te.n {
			d.Fail("executions")
		}
		d.places(te, all, e)
		if d.Err != nil {
			return
		}
		for _, s := range te.spans {
			for int(s.node) >= len(t.spans) {
				t.spans = append(t.spans, make([][]*span, max(64, int(s.node)+1-len(t.spans)))...)
			}
			if list := t.spans[s.node]; len(list) > 0 {
				s.began = list[len(list)-1].began + list[len(list)-1].n
			}
			t.spans[s.node] = append(t.spans[s.node], s)
		}
		t.Times += te.n
		t.epochs = append(t.epochs, te)
	}
}

func (d *decoder) places(te *threadEpoch, all []span, e *epochView) {
	te.place = place{uint32(d.Max(uint64(len(e.parts)), "place of a thread")), d.Max(tracefmt.MaxPayload, "place of a thread")}
	if int(te.place.part) >= len(e.parts) {
		d.Fail("place of a thread")
		return
	}
	at := place{}
	for i := range all {
		part := d.Uvarint()
		offset := d.Uvarint()
		if part > 0 {
			at = place{at.part + uint32(part), 0}
		}
		at.offset += offset
		if part > uint64(len(e.parts)) || int(at.part) >= len(e.parts) || at.offset > tracefmt.MaxPayload {
			d.Fail("place of labels")
			return
		}
		all[i].place = at
	}
}

func (g *Graph) threadView(id event.ThreadID) *threadView {
	for int(id) >= len(g.threads) {
		g.threads = append(g.threads, &threadView{Thread: Thread{ID: event.ThreadID(len(g.threads))}})
	}
	return g.threads[id]
}

// order reads the order of the threads' node executions.
func (g *Graph) order(d *decoder) {
	at := g.counts.Executions
	next := map[uint64]uint64{}
	last := len(g.epochs) - 1
	for range d.Count(2, "number of stretches") {
		id, n := d.Max(event.MaxThreads-1, "thread"), d.Max(maxExecutions+1, "executions")
		if id >= uint64(len(g.threads)) || len(g.threads[id].epochs) == 0 {
			d.Fail("thread")
			return
		}
		t := g.threads[id]
		te := t.epochs[len(t.epochs)-1]
		if te.epoch != last || next[id]+n > te.n {
			d.Fail("executions")
			return
		}
		t.control = append(t.control, stretchView{te.began + next[id], at})
		next[id] += n
		at += n
	}
	for _, t := range g.threads {
		if k := len(t.epochs) - 1; k >= 0 && t.epochs[k].epoch == last && next[uint64(t.ID)] != t.epochs[k].n {
			d.Fail("executions")
		}
	}
}

// Threads lists the threads by their numbers.
func (g *Graph) Threads() []Thread {
	list := make([]Thread, len(g.threads))
	for i, t := range g.threads {
		list[i] = t.Thread
	}
	return list
}

// Counts returns how much the graph contains.
func (g *Graph) Counts() Counts { return g.counts }

// NumNodes returns the number of nodes.
func (g *Graph) NumNodes() int { return len(g.rows) }

// Node returns a node, or nil if there is none with that number. The caller must not
// change it.
func (g *Graph) Node(id NodeID) *Node {
	if t := g.template(id); t != nil {
		return &t.Node
	}
	return nil
}

func (g *Graph) template(id NodeID) *template {
	if uint64(id) >= uint64(len(g.rows)) {
		return nil
	}
	if g.nodes[id] == nil {
		g.nodes[id] = g.rows[id].build(g.pieces, &g.flavour)
	}
	return g.nodes[id]
}

// Sites returns the places of an instruction. For a call of a hooked function these
// include the outside statement.
func (g *Graph) Sites(pc uint64) []Site {
	if g.sites == nil {
		g.sites = map[uint64][]Site{}
		for id := range g.rows {
			for s, st := range g.template(NodeID(id)).Stmts {
				g.sites[st.PC] = append(g.sites[st.PC], Site{NodeID(id), uint32(s)})
			}
		}
	}
	return g.sites[pc]
}

// Executions returns the number of executions of a node by a thread.
func (g *Graph) Executions(th event.ThreadID, node NodeID) uint64 {
	list := g.spans(th, node)
	if len(list) == 0 {
		return 0
	}
	last := list[len(list)-1]
	return last.began + last.n
}

func (g *Graph) spans(th event.ThreadID, node NodeID) []*span {
	if uint64(th) >= uint64(len(g.threads)) || uint64(node) >= uint64(len(g.threads[th].spans)) {
		return nil
	}
	return g.threads[th].spans[node]
}

// find returns the span that contains an execution.
func (g *Graph) find(th event.ThreadID, node NodeID, k uint64) (*span, error) {
	list := g.spans(th, node)
	i := 0
	if len(list) > 1 {
		i = sort.Search(len(list), func(i int) bool { return list[i].began+list[i].n > k })
	}
	if i >= len(list) || k >= list[i].began+list[i].n {
		return nil, fmt.Errorf("%w: execution %d of node %d by thread %d", ErrNoSuch, k, node, th)
	}
	return list[i], nil
}

// Time returns the thread's own timestamp of an execution of a node.
func (g *Graph) Time(th event.ThreadID, node NodeID, k uint64) (uint64, error) {
	s, err := g.find(th, node, k)
	if err != nil {
		return 0, err
	}
	w, err := g.steps(s.te)
	if err != nil {
		return 0, err
	}
	if w != nil {
		return g.stepTime(w, s, k), nil
	}
	f, err := g.flow(s.te)
	if err != nil {
		return 0, err
	}
	return f.time(s, k), nil
}

// Order returns the position in the run of a thread's timestamp: the number of executions
// of nodes by all threads before it. It is 0 for a thread or time that does not exist.
func (g *Graph) Order(th event.ThreadID, t uint64) uint64 {
	if uint64(th) >= uint64(len(g.threads)) || t >= g.threads[th].Times {
		return 0
	}
	list := g.threads[th].control
	i := sort.Search(len(list), func(i int) bool { return list[i].time > t }) - 1
	return list[i].order + t - list[i].time
}

// Sizes are the components of the graph.
type Sizes struct {
	Times    Size // timestamps of nodes
	Patterns Size // of the groups of values; Orig is counted in Values
	Values   Size
	Edges    Size
	Tables   uint64 // stored bytes of nodes and of everything else that leads to the labels
	Stored   uint64 // bytes of everything in the file
}

// Sizes returns the sizes of the graph's components. Originally, a timestamp
// takes 4 bytes for each statement, a value 8 bytes, and a dependence two
// timestamps of 4 bytes. After tier 1, a timestamp takes 4 bytes for each node, a
// pattern 4, a value 8, and a label 4 for each of its instances that is not
// inferred. After tier 2, they take what the streams take. The container
// compresses blocks once more.
func (g *Graph) Sizes() Sizes {
	s := Sizes{Times: g.size.times, Patterns: g.size.patterns, Values: g.size.values, Edges: g.size.edges}
	for _, h := range g.r.Blocks() {
		switch h.Kind {
		case tracefmt.KindWetTables:
			s.Tables += uint64(h.Size())
			s.Stored += uint64(h.Size())
		case tracefmt.KindWetLabels:
			s.Stored += uint64(h.Size())
		}
	}
	return s
}

// loadAll decodes everything.
func (g *Graph) loadAll() error {
	for _, t := range g.threads {
		for i := range t.epochs {
			for _, s := range t.epochs[i].spans {
				r, err := g.record(s)
				if err != nil {
					return err
				}
				if err := g.openAll(r); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// cache limits the memory of what is decoded.
type cache struct {
	limit uint64
	used  uint64
	recs  []*record // in memory
	clock uint64
}

// charge adds to the memory of a record. If the total is too large, it drops others, the
// least recently used first, until half is left.
func (g *Graph) charge(r *record, bytes uint64) {
	if r.span.rec != r {
		return // dropped while it is used
	}
	r.cost += bytes
	c := &g.cache
	c.used += bytes
	if c.used <= c.limit {
		return
	}
	c.drop(g.oldest(r))
	for _, e := range g.epochs {
		for i, p := range e.loaded {
			if p != nil {
				c.used -= min(c.used, p.size)
				e.loaded[i] = nil
			}
		}
	}
	c.recs = slices.DeleteFunc(c.recs, func(r *record) bool { return r.span.rec != r })
}

// decoded is something that can be dropped: a record, or the control flow of a
// thread in an epoch.
type decoded struct {
	used  uint64
	bytes uint64
	rec   *record
	te    *threadEpoch
	steps *threadEpoch
}

// oldest returns what is decoded, except for one record, the least recently used first.
func (g *Graph) oldest(but *record) []decoded {
	var list []decoded
	for _, r := range g.cache.recs {
		if r != but {
			list = append(list, decoded{used: r.used, bytes: r.cost, rec: r})
		}
	}
	for _, t := range g.threads {
		for _, te := range t.epochs {
			if te.flow != nil {
				list = append(list, decoded{used: te.flow.used, bytes: te.flow.bytes(), te: te})
			}
			if te.steps != nil {
				list = append(list, decoded{used: te.steps.used, bytes: te.steps.bytes, steps: te})
			}
		}
	}
	slices.SortFunc(list, func(a, b decoded) int { return cmp.Compare(a.used, b.used) })
	return list
}

// drop releases memory until half of the limit is left.
func (c *cache) drop(list []decoded) {
	for _, x := range list {
		if c.used <= c.limit/2 {
			return
		}
		c.used -= min(c.used, x.bytes)
		switch {
		case x.rec != nil:
			x.rec.span.rec = nil
		case x.te != nil:
			x.te.flow = nil
		default:
			x.steps.steps = nil
		}
	}
}
