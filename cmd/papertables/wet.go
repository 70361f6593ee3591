package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"hindsight/analyze/slice"
	"hindsight/examples"
	"hindsight/mpsim"
	"hindsight/mpsim/arch"
	"hindsight/mpsim/eval"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/session"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
	"hindsight/wet"
	"hindsight/wpp/cfg"
)

// wetPrograms are the programs of the MICRO 2004 tables, by default all of them.
var wetPrograms = slices.Concat([]string{"compiler", "interpreter", "sort"}, wetStructures, paperKernels)

// wetStructures are the parts of the example structures: what its data decides.
var wetStructures = []string{"hash", "btree", "keys", "graph", "json"}

// wetStructureSizes are their sizes for runs of 10 and 100 million instructions.
var wetStructureSizes = map[string][2]string{
	"hash": {"20800", "221000"}, "btree": {"17500", "154000"}, "keys": {"12500", "104000"}, "graph": {"11600", "116000"}, "json": {"85", "850"},
}

// wetSizes are the lengths of runs that --statements knows, in millions.
var wetSizes = []string{"1", "10", "100"}

// wetSlices is the number of slices of a program, as in the paper.
const wetSlices = 25

// wetMeasured has the measurements of one program.
type wetMeasured struct {
	name    string
	counts  wet.Counts
	sizes   wet.Sizes
	file    int64
	build   time.Duration
	peak    int64 // bytes resident while building; 0 if unknown
	raw     uint64
	packed  int64 // raw by zstd -19 --long; 0 if unknown
	arch    [arch.NumStreams]uint64
	queries [2]wetQueries // after tier 1 and after tier 2
}

// wetQueries are the times of queries on a graph.
type wetQueries struct {
	known             bool
	flow, forward     float64 // bytes of control flow; seconds
	backward          float64
	loads, loadTime   float64
	addrs, addrTime   float64
	slices            []float64 // seconds, ascending
	sliceMean, median float64
	instances         uint64 // of all slices
}

// wholeTraces measures MICRO 2004, Tables 1 to 9 but for the figures.
func (c *comparison) wholeTraces(ctx context.Context) ([]*table, error) {
	programs := wetPrograms
	if len(c.kernels) > 0 && !slices.Equal(c.kernels, paperKernels) {
		programs = c.kernels
	}
	var all []*wetMeasured
	for _, size := range c.statements {
		for _, name := range programs {
			m, err := c.wholeTrace(ctx, name, size)
			if err != nil {
				return nil, fmt.Errorf("%s at %s million statements: %w", name, size, err)
			}
			all = append(all, m)
		}
	}
	return wetTables(all), nil
}

func (c *comparison) wholeTrace(ctx context.Context, name, size string) (*wetMeasured, error) {
	r, err := c.wetRecording(name, size)
	if err != nil {
		return nil, err
	}
	m := &wetMeasured{name: name + " " + size + "M"}
	file := c.file("graph.hst")
	defer os.Remove(file)
	c.progress(m.name + ": building")
	if err := c.buildGraph(ctx, r, file, m); err != nil {
		return nil, err
	}
	if c.wants("micro2004-1") && (size != "100" || c.long) {
		c.progress(m.name + ": zstd of the raw trace")
		if err := c.packRawValues(ctx, r, m); err != nil {
			return nil, err
		}
	}
	if c.wants("micro2004-4") {
		c.progress(m.name + ": history bits")
		if err := c.historyBits(ctx, r, m); err != nil {
			return nil, err
		}
	}
	for tier := range m.queries {
		c.progress(fmt.Sprintf("%s: queries after tier %d", m.name, tier+1))
		if tier == 0 && size == "100" && !c.long {
			continue // decoded, it may not fit in memory
		}
		if !c.wants("micro2004-6", "micro2004-7", "micro2004-8", "micro2004-9") {
			continue
		}
		if err := c.measureQueries(ctx, file, tier == 0, &m.queries[tier]); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// wetRecording prepares a run of about that many million instructions.
func (c *comparison) wetRecording(name, size string) (*session.Run, error) {
	p, ok := wetProgram(name)
	if !ok || p.TenMillion == nil {
		return nil, fmt.Errorf("no example %s with long runs", name)
	}
	elf, err := examples.ELF(p.Name)
	if err != nil {
		return nil, err
	}
	img, err := image.Parse(elf)
	if err != nil {
		return nil, err
	}
	args := p.TenMillion
	switch size {
	case "100":
		args = p.HundredMillion
	case "1":
		args = p.Args
	}
	return &session.Run{
		Image: img, Program: name, Args: args, Policy: mpsim.Random, Seed: c.seed,
		Mode: session.ModeWET, Keep: "all", Alphabet: "path", Flow: cfg.New(img),
	}, nil
}

// wetProgram finds a program of the tables: an example, or a part of one.
func wetProgram(name string) (examples.Program, bool) {
	n, part := wetStructureSizes[name]
	if !part {
		return examples.Lookup(name)
	}
	p, ok := examples.Lookup("structures")
	p.Args = []string{name}
	p.TenMillion = []string{name, "-n", n[0]}
	p.HundredMillion = []string{name, "-n", n[1]}
	return p, ok
}

// buildGraph records only a run's graph.
func (c *comparison) buildGraph(ctx context.Context, r *session.Run, file string, m *wetMeasured) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	defer f.Close()
	w, err := tracefmt.NewWriter(f)
	if err != nil {
		return err
	}
	builder, err := wet.NewBuilder(w, wet.Options{Program: r.Flow, Code: r.Image.Code, Evaluate: eval.Inst, CallArgs: linux.CallArgs})
	if err != nil {
		return err
	}
	defer session.CollectSooner()()
	resetPeak()
	start := time.Now()
	if err := c.simulate(ctx, r, builder); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	m.build, m.peak = time.Since(start), peakMemory()
	g, err := wet.Open(file, wet.OpenOptions{Evaluate: eval.Inst})
	if err != nil {
		return err
	}
	defer g.Close()
	m.counts, m.sizes = g.Counts(), g.Sizes()
	st, err := f.Stat()
	if err == nil {
		m.file = st.Size()
	}
	return err
}

// resetPeak resets the peak memory of the process, if the system can.
func resetPeak() {
	debug.FreeOSMemory()
	_ = os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) // elsewhere peakMemory is unknown
}

// peakMemory returns the peak resident memory of the process in bytes, or 0 if the system
// does not report it.
func peakMemory() int64 {
	data, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return n << 10
		}
	}
	return 0
}

// packRawValues compresses the untyped raw trace of a run: for each block its address in
// 4 bytes, and its values and the addresses of its accesses in 8 bytes each.
func (c *comparison) packRawValues(ctx context.Context, r *session.Run, m *wetMeasured) error {
	z := zstdRival("-19", "--long=27")
	if z.find(); !z.there() {
		return nil
	}
	read, write := io.Pipe()
	raw := &rawValues{w: bufio.NewWriterSize(write, 1<<20)}
	failed := make(chan error, 1)
	go func() {
		err := c.simulate(ctx, r, raw)
		if err == nil {
			err = raw.w.Flush()
		}
		write.CloseWithError(err)
		failed <- err
	}()
	var n countedBytes
	_, err := z.pack(ctx, &n, read)
	read.CloseWithError(err)
	if other := <-failed; err == nil {
		err = other
	}
	m.raw, m.packed = raw.n, int64(n)
	return err
}

type countedBytes int64

func (n *countedBytes) Write(p []byte) (int, error) { *n += countedBytes(len(p)); return len(p), nil }

// rawValues is an observer that writes everything it receives.
type rawValues struct {
	w      *bufio.Writer
	n      uint64
	blocks []event.Block
	buf    []byte
}

// WantsValues implements [event.ValueObserver].
func (r *rawValues) WantsValues() bool { return true }

// Define implements [event.Observer].
func (r *rawValues) Define(blocks []event.Block) error {
	r.blocks = append(r.blocks, blocks...)
	return nil
}

// Batch implements [event.Observer].
func (r *rawValues) Batch(b *event.Batch) error {
	r.buf = r.buf[:0]
	put := func(v uint64, n int) {
		for range n {
			r.buf = append(r.buf, byte(v))
			v >>= 8
		}
	}
	// Columns as they come: three streams side by side compress better than one
	// with everything mixed.
	for _, id := range b.Blocks {
		put(r.blocks[id].PC, 4)
	}
	for _, v := range b.Values {
		put(v, 8)
	}
	for _, v := range b.Addrs {
		put(v, 8)
	}
	r.n += uint64(len(r.buf))
	_, err := r.w.Write(r.buf)
	return err
}

// Finish implements [event.Observer].
func (r *rawValues) Finish(event.Outcome) error { return nil }

// historyBits counts the bits of Table 4.
func (c *comparison) historyBits(ctx context.Context, r *session.Run, m *wetMeasured) error {
	model, err := arch.New(arch.Config{History: (*historyCount)(&m.arch)})
	if err != nil {
		return err
	}
	if err := c.simulate(ctx, r, model); err != nil {
		return err
	}
	model.Flush()
	return nil
}

type historyCount [arch.NumStreams]uint64

// Append implements [arch.History].
func (h *historyCount) Append(_ event.ThreadID, s arch.Stream, _ []uint64, n int) { h[s] += uint64(n) }

// wants reports whether one of the tables is to be measured.
func (c *comparison) wants(tables ...string) bool {
	return c.table == wetTableNames[0] || slices.Contains(tables, c.table)
}

// measureQueries opens a graph again for each query, so that none finds what
// another has decoded; but the slices share one.
func (c *comparison) measureQueries(ctx context.Context, file string, tier1 bool, q *wetQueries) error {
	q.known = true
	open := func(use func(*wet.Graph) error) error {
		runtime.GC()
		g, err := wet.Open(file, wet.OpenOptions{Evaluate: eval.Inst, Tier1: tier1})
		if err != nil {
			return err
		}
		defer g.Close()
		return use(g)
	}
	if c.wants("micro2004-6") {
		if err := c.timeFlow(open, q); err != nil {
			return err
		}
	}
	if c.wants("micro2004-7") {
		if err := open(func(g *wet.Graph) (err error) {
			start := time.Now()
			q.loads, err = extractLoads(g)
			q.loadTime = time.Since(start).Seconds()
			return err
		}); err != nil {
			return err
		}
	}
	if c.wants("micro2004-8") {
		if err := open(func(g *wet.Graph) (err error) {
			start := time.Now()
			q.addrs, err = extractAddrs(g)
			q.addrTime = time.Since(start).Seconds()
			return err
		}); err != nil {
			return err
		}
	}
	if !c.wants("micro2004-9") {
		return nil
	}
	return open(func(g *wet.Graph) error { return c.timeSlices(ctx, g, q) })
}

// timeFlow extracts control flow both ways.
func (c *comparison) timeFlow(open func(func(*wet.Graph) error) error, q *wetQueries) error {
	for _, way := range []struct {
		backward bool
		seconds  *float64
	}{{false, &q.forward}, {true, &q.backward}} {
		if err := open(func(g *wet.Graph) (err error) {
			start := time.Now()
			q.flow, err = extractFlow(g, way.backward)
			*way.seconds = time.Since(start).Seconds()
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// extractFlow writes the address of every statement of every thread, in 4
// bytes each, as the paper counts control flow, and returns how many bytes.
func extractFlow(g *wet.Graph, backward bool) (float64, error) {
	texts := make([][]byte, g.NumNodes())
	out := make([]byte, 0, 1<<16)
	total := 0
	for _, th := range g.Threads() {
		if th.Times == 0 {
			continue
		}
		at := uint64(0)
		if backward {
			at = th.Times - 1
		}
		for e, err := range slice.ControlFlow(g, th.ID, at, backward) {
			if err != nil {
				return 0, err
			}
			text := texts[e.Node]
			if text == nil {
				text = nodeText(g.Node(e.Node), backward)
				texts[e.Node] = text
			}
			if len(out)+len(text) > cap(out) {
				total += len(out)
				out = out[:0]
			}
			out = append(out, text...)
		}
	}
	return float64(total + len(out)), nil
}

func nodeText(n *wet.Node, backward bool) []byte {
	text := []byte{}
	for i := range n.Stmts {
		if backward {
			i = len(n.Stmts) - 1 - i
		}
		pc := n.Stmts[i].PC
		text = append(text, byte(pc), byte(pc>>8), byte(pc>>16), byte(pc>>24))
	}
	return text
}

// eachInstance calls use for the executions of the statements that are wanted,
// statement by statement.
func eachInstance(g *wet.Graph, wanted func(*wet.Stmt) bool, use func(wet.Instance) error) error {
	for n := range g.NumNodes() {
		node := g.Node(wet.NodeID(n))
		if node.Kind != wet.NodePath {
			continue
		}
		for s := range node.Stmts {
			if !wanted(&node.Stmts[s]) {
				continue
			}
			for _, th := range g.Threads() {
				for k := range g.Executions(th.ID, wet.NodeID(n)) {
					if err := use(wet.Instance{Thread: th.ID, Node: wet.NodeID(n), Stmt: uint32(s), K: k}); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// extractLoads reads the value of every load, and returns their bytes.
func extractLoads(g *wet.Graph) (bytes float64, err error) {
	err = eachInstance(g, func(s *wet.Stmt) bool {
		access, _, ok := s.Inst.Mem()
		return ok && access == event.Read && s.Inst.Defs().Regs != 0
	}, func(i wet.Instance) error {
		_, _, err := g.Value(i)
		bytes += 8
		return err
	})
	return bytes, err
}

// extractAddrs reads the address of every load and store.
func extractAddrs(g *wet.Graph) (bytes float64, err error) {
	err = eachInstance(g, func(s *wet.Stmt) bool {
		_, _, ok := s.Inst.Mem()
		return ok
	}, func(i wet.Instance) error {
		_, _, _, err := g.Addr(i)
		bytes += 8
		return err
	})
	return bytes, err
}

// timeSlices takes slices of random instances with a value, the same after both
// tiers.
func (c *comparison) timeSlices(ctx context.Context, g *wet.Graph, q *wetQueries) error {
	rng := rand.New(rand.NewPCG(c.seed, 0))
	for range wetSlices {
		i, ok := randomInstance(g, rng)
		if !ok {
			return nil
		}
		start := time.Now()
		s, err := slice.Compute(ctx, g, []wet.Instance{i}, slice.Options{})
		if err != nil {
			return err
		}
		q.instances += s.Len()
		q.slices = append(q.slices, time.Since(start).Seconds())
	}
	slices.Sort(q.slices)
	sum := 0.0
	for _, s := range q.slices {
		sum += s
	}
	q.sliceMean, q.median = sum/float64(len(q.slices)), q.slices[len(q.slices)/2]
	return nil
}

// randomInstance takes a moment of a thread, longer ones more often, and a
// statement with a value of the path that it executed then.
func randomInstance(g *wet.Graph, rng *rand.Rand) (wet.Instance, bool) {
	threads := g.Threads()
	total := uint64(0)
	for _, t := range threads {
		total += t.Times
	}
	for range 1000 {
		at := rng.Uint64N(max(total, 1))
		for _, t := range threads {
			if at >= t.Times {
				at -= t.Times
				continue
			}
			for e, err := range g.Forward(t.ID, at) {
				if err != nil {
					return wet.Instance{}, false
				}
				n := g.Node(e.Node)
				if s := rng.IntN(len(n.Stmts)); n.Kind == wet.NodePath && n.Stmts[s].Valued {
					return wet.Instance{Thread: t.ID, Node: e.Node, Stmt: uint32(s), K: e.K}, true
				}
				break
			}
			break
		}
	}
	return wet.Instance{}, false
}

// ratio returns a / b; NaN when nobody knows.
func ratio(a, b float64) float64 {
	if b == 0 {
		return math.NaN()
	}
	return a / b
}
