package cfg

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// maxRegion limits the bytes of code that are analysed as one function where there are no
// symbols.
const maxRegion = 256 << 10

// Program is the control flow of a whole program: of its executable, and of its shared
// objects as they are loaded.
type Program struct {
	img   *image.Space
	mu    sync.Mutex // held while an image is added
	parts atomic.Pointer[[]*part]
	known *knownParts // shared with the Programs derived from this one by In
}

// knownParts are the parts that several Programs share.
type knownParts struct {
	mu    sync.Mutex
	parts map[partKey]*part
}

// partKey identifies a part: its image, and the number of functions before it.
type partKey struct {
	img   *image.Image
	first uint32
}

// part is the control flow of one image.
type part struct {
	prog  *Program
	img   *image.Image
	first uint32     // index of the first function
	funcs []Function // in order of address, without overlaps
	// dead are the functions that never return to their caller.
	dead map[uint64]bool
}

// Ref identifies a block of a program. It is the same in every run of the program.
type Ref struct {
	Func  uint32 // index of the function
	Block uint32 // index of the block in it
}

// Function is a range of code that is analysed as a whole: what a function symbol covers,
// or the code between such ranges.
type Function struct {
	Index uint32
	Start uint64 // first address
	End   uint64 // address after it

	sym  image.Symbol // the symbol at its beginning; its name is empty if there is none
	part *part
	once sync.Once
	body *body // the result of the analysis, once that is done
}

// Name returns the demangled name of the function's symbol, or "" if there is none. A
// program has thousands of functions, so names are computed on demand.
func (f *Function) Name() string { return f.sym.Demangled() }

// body is the result of analysing a function.
type body struct {
	blocks []Block
	graph  Graph
	paths  *Paths
	flow   trees
}

// trees are computed on demand, each separately, because most callers only need control
// dependence.
type trees struct {
	ofDom, ofDeps, ofLoops sync.Once

	dom, post *Tree
	deps      [][]Dependence
	decides   []bool // some block depends on it
	loops     []*Loop
}

// New prepares the control flow of a program. It divides the code into functions, which
// are analysed on demand. Images that are added to the space later are included when they
// are first needed.
func New(img *image.Space) *Program {
	return (&Program{known: &knownParts{parts: map[partKey]*part{}}}).In(img)
}

// In returns the control flow of another run of the program, in a space made from
// the same executable ([image.Space.Anew]). It shares the analysis of images that
// both spaces have.
func (p *Program) In(img *image.Space) *Program {
	other := &Program{img: img, known: p.known}
	other.parts.Store(new([]*part))
	other.all()
	return other
}

// all returns the parts of all images that the space has now.
func (p *Program) all() []*part {
	images := p.img.Images()
	if parts := *p.parts.Load(); len(parts) >= len(images) {
		return parts
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	parts := slices.Clone(*p.parts.Load())
	for len(parts) < len(images) {
		key := partKey{img: images[len(parts)]}
		if n := len(parts); n > 0 {
			last := parts[n-1]
			key.first = last.first + uint32(len(last.funcs))
		}
		parts = append(parts, p.part(key))
	}
	p.parts.Store(&parts)
	return parts
}

// part returns a known part, or a new one.
func (p *Program) part(key partKey) *part {
	p.known.mu.Lock()
	defer p.known.mu.Unlock()
	known := p.known.parts[key]
	if known == nil {
		known = &part{prog: p, img: key.img, first: key.first}
		known.divide()
		p.known.parts[key] = known
	}
	return known
}

// divide finds the functions of a part.
func (p *part) divide() {
	p.dead = deadEnds(p.img)
	var starts []uint64
	for _, s := range p.img.Symbols() {
		if s.Addr%2 == 0 && (len(starts) == 0 || starts[len(starts)-1] != s.Addr) {
			starts = append(starts, s.Addr)
		}
	}
	// In a stripped file, only the code itself shows where its functions begin.
	starts = append(starts, p.img.Called()...)
	slices.Sort(starts)
	starts = slices.Compact(starts)
	p.funcs = make([]Function, 0, len(starts)+len(starts)/4) // including the ranges between them
	for _, r := range p.img.CodeRanges() {
		starts = p.addRange(r.Low+r.Low%2, r.High, starts)
	}
}

// Parse prepares the control flow of an ELF file.
func Parse(elf []byte) (*Program, error) {
	img, err := image.Parse(elf)
	if err != nil {
		return nil, err
	}
	return New(img), nil
}

// deadEnds finds the library functions that never return, by name, or the places where
// they are called in another image. Control does not continue after a call of one.
// Otherwise post-dominance would be useless in every function with an assertion.
func deadEnds(img *image.Image) map[uint64]bool {
	dead := map[uint64]bool{}
	for _, name := range []string{
		"abort", "exit", "_exit", "_Exit", "quick_exit", "pthread_exit", "thrd_exit", "longjmp", "siglongjmp",
		"__longjmp_chk", "__assert_fail", "__assert_perror_fail", "__stack_chk_fail", "__fortify_fail", "__chk_fail",
		"__libc_fatal", "__cxa_throw", "__cxa_rethrow", "__cxa_bad_cast", "__cxa_call_unexpected", "_ZSt9terminatev",
		"_Unwind_Resume",
	} {
		for _, name := range []string{name, name + image.StubSuffix} {
			if s, ok := img.Lookup(name); ok && s.Kind == image.FuncSymbol {
				dead[s.Addr] = true
			}
		}
	}
	for _, s := range img.Symbols() {
		if rest, ok := strings.CutPrefix(s.Name, "_ZSt"); ok && strings.HasPrefix(strings.TrimLeft(rest, "0123456789"), "__throw_") {
			dead[s.Addr] = true // such as std::__throw_out_of_range in the C++ library
		}
	}
	return dead
}

// addRange divides a range of code at the function starts (ascending, of this and later
// ranges) and returns the starts after it.
func (p *part) addRange(addr, end uint64, starts []uint64) []uint64 {
	for len(starts) > 0 && starts[0] < addr {
		starts = starts[1:]
	}
	for addr < end {
		next := end
		if len(starts) > 0 {
			next = min(end, starts[0])
		}
		if next == addr { // a function begins here
			s, _ := p.img.Func(addr)
			starts = starts[1:]
			next = end
			if len(starts) > 0 {
				next = min(end, starts[0])
			}
			stop := p.img.FuncEnd(addr)
			if stop <= addr {
				stop = next
			}
			stop = min(next, stop+stop%2)
			p.add(s, addr, stop)
			addr = stop
			continue
		}
		next = min(next, addr+maxRegion)
		p.add(image.Symbol{}, addr, next)
		addr = next
	}
	return starts
}

func (p *part) add(sym image.Symbol, start, end uint64) {
	p.funcs = append(p.funcs, Function{sym: sym, Index: p.first + uint32(len(p.funcs)), Start: start, End: end, part: p})
}

// NumFuncs returns the number of functions.
func (p *Program) NumFuncs() int {
	parts := p.all()
	last := parts[len(parts)-1]
	return int(last.first) + len(last.funcs)
}

// Func returns function i, or nil when there is none.
func (p *Program) Func(i uint32) *Function {
	for _, part := range p.all() {
		if i-part.first < uint32(len(part.funcs)) {
			return &part.funcs[i-part.first]
		}
	}
	return nil
}

// FuncAt returns the function whose code contains pc, or nil if there is none.
func (p *Program) FuncAt(pc uint64) *Function {
	img := p.img.At(pc)
	for _, part := range p.all() {
		if part.img != img {
			continue
		}
		i := sort.Search(len(part.funcs), func(i int) bool { return part.funcs[i].Start > pc }) - 1
		if i < 0 || pc >= part.funcs[i].End {
			return nil
		}
		return &part.funcs[i]
	}
	return nil
}

// At returns the block that begins at pc.
func (p *Program) At(pc uint64) (Ref, bool) {
	r, ok := p.Find(pc)
	if !ok || p.Func(r.Func).body.blocks[r.Block].PC != pc {
		return Ref{}, false
	}
	return r, true
}

// Find returns the block that contains pc.
func (p *Program) Find(pc uint64) (Ref, bool) {
	f := p.FuncAt(pc)
	if f == nil {
		return Ref{}, false
	}
	blocks := f.Blocks()
	i := sort.Search(len(blocks), func(i int) bool { return blocks[i].PC > pc }) - 1
	if i < 0 || pc >= blocks[i].Next() {
		return Ref{}, false
	}
	return Ref{f.Index, uint32(i)}, true
}

// Block returns the block that r names, or nil when there is none.
func (p *Program) Block(r Ref) *Block {
	f := p.Func(r.Func)
	if f == nil {
		return nil
	}
	if blocks := f.Blocks(); uint64(r.Block) < uint64(len(blocks)) {
		return &blocks[r.Block]
	}
	return nil
}

// NumPaths returns the number of paths that begin at a block; their numbers are less than
// it. It returns 0 if there is no such block.
func (p *Program) NumPaths(r Ref) uint64 {
	if p.Block(r) == nil {
		return 0
	}
	return p.Func(r.Func).body.paths.NumPaths(int(r.Block))
}

// Decode returns the blocks of a path from its first block and its number. The
// error wraps ErrPath.
func (p *Program) Decode(start Ref, number uint64) ([]Ref, error) {
	if p.Block(start) == nil {
		return nil, fmt.Errorf("%w: no block %d in function %d", ErrPath, start.Block, start.Func)
	}
	nodes, err := p.Func(start.Func).body.paths.Decode(int(start.Block), number)
	if err != nil {
		return nil, err
	}
	refs := make([]Ref, len(nodes))
	for i, v := range nodes {
		refs[i] = Ref{start.Func, uint32(v)}
	}
	return refs, nil
}

// Insts decodes the instructions of a block.
func (p *Program) Insts(r Ref) []rv.Inst {
	b := p.Block(r)
	if b == nil {
		return nil
	}
	return rv.Scan(b.PC, p.img.Reader(), int(b.Insts)).Insts
}

// Sites lists the plain accesses of a block in execution order.
func (p *Program) Sites(r Ref) []event.Site {
	b := p.Block(r)
	if b == nil {
		return nil
	}
	s := rv.Scan(b.PC, p.img.Reader(), int(b.Insts))
	return s.Sites()
}

// Blocks returns the function's blocks in order of address. They are shared and must not
// be changed.
func (f *Function) Blocks() []Block {
	f.once.Do(func() { f.body = f.part.prog.analyse(f) })
	return f.body.blocks
}

// Graph returns the function's control flow. Its nodes are the blocks, and the edges of a
// node are the block's Succs. It is shared and must not be changed.
func (f *Function) Graph() Graph {
	f.Blocks()
	return f.body.graph
}

// control computes post-dominators and control dependence.
func (f *Function) control() *trees {
	blocks, g := f.Blocks(), f.Graph()
	t := &f.body.flow
	t.ofDeps.Do(func() {
		t.post = g.PostDominators(func(v int) bool { return blocks[v].Leaves })
		t.deps = g.ControlDependence(t.post)
		t.decides = make([]bool, len(g))
		for _, deps := range t.deps {
			for _, d := range deps {
				t.decides[d.Node] = true
			}
		}
	})
	return t
}

// Dominators returns the dominator tree of the function's blocks.
func (f *Function) Dominators() *Tree {
	g := f.Graph()
	t := &f.body.flow
	t.ofDom.Do(func() { t.dom = g.Dominators() })
	return t.dom
}

// PostDominators returns the post-dominator tree of the function's blocks.
func (f *Function) PostDominators() *Tree { return f.control().post }

// ControlDependence returns what block i is control dependent on: pairs of a
// block and the index of one of its Succs.
func (f *Function) ControlDependence(i uint32) []Dependence {
	if deps := f.control().deps; uint64(i) < uint64(len(deps)) {
		return deps[i]
	}
	return nil
}

// Deciders returns the blocks that block r is control dependent on, in order and without
// duplicates. It returns nil if there is no such block or if nothing decides about it.
func (p *Program) Deciders(r Ref) []Ref {
	if p.Block(r) == nil {
		return nil
	}
	var refs []Ref
	for _, d := range p.Func(r.Func).ControlDependence(r.Block) {
		refs = append(refs, Ref{r.Func, uint32(d.Node)})
	}
	slices.SortFunc(refs, func(a, b Ref) int { return cmp.Compare(a.Block, b.Block) })
	return slices.Compact(refs)
}

// Decides reports whether some block is control dependent on block r.
func (p *Program) Decides(r Ref) bool {
	if p.Block(r) == nil {
		return false
	}
	return p.Func(r.Func).control().decides[r.Block]
}
