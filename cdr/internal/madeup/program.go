package madeup

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Program is the control flow of a synthetic program. Not every way that its
// threads go is an edge.
type Program struct {
	funcs [][]cfg.Block
	paths []*cfg.Paths
	sites [][][]event.Site
	at    map[uint64]cfg.Ref
}

// New makes a program without functions.
func New() *Program { return &Program{at: map[uint64]cfg.Ref{}} }

func (f *Program) Add(rng *rand.Rand, static []event.Block) {
	g := make(cfg.Graph, len(static))
	for v, b := range static {
		for w := range static {
			jumps := b.End == event.EndBranch || b.End == event.EndJump || b.End == event.EndIndirect
			if w == v+1 && b.End != event.EndReturn || jumps && (w == v || rng.IntN(2) == 0) {
				g[v] = append(g[v], w)
			}
		}
		// Which edges are retreating depends on the order.
		rng.Shuffle(len(g[v]), func(i, j int) { g[v][i], g[v][j] = g[v][j], g[v][i] })
	}
	f.AddGraph(g, static)
}

// AddGraph adds a function.
func (f *Program) AddGraph(g cfg.Graph, static []event.Block) {
	blocks := make([]cfg.Block, len(static))
	var sites [][]event.Site
	for v, b := range static {
		blocks[v] = cfg.Block{PC: b.PC, Bytes: b.Bytes, Insts: b.Insts, End: b.End, Target: b.Target}
		f.at[b.PC] = cfg.Ref{Func: uint32(len(f.funcs)), Block: uint32(v)}
		sites = append(sites, b.Sites)
	}
	paths := cfg.Number(g, func(v, _ int) bool { return static[v].End == event.EndCall || static[v].End == event.EndCallInd }, cfg.MaxPaths)
	for v := range g {
		for _, w := range g[v] {
			e := cfg.Succ{PC: static[w].PC, To: uint32(w)}
			e.Val, e.Cut, _ = paths.Edge(v, w)
			blocks[v].Succs = append(blocks[v].Succs, e)
		}
		slices.SortFunc(blocks[v].Succs, func(a, b cfg.Succ) int { return cmp.Compare(a.PC, b.PC) })
	}
	f.funcs, f.paths, f.sites = append(f.funcs, blocks), append(f.paths, paths), append(f.sites, sites)
}

func (f *Program) At(pc uint64) (cfg.Ref, bool) {
	r, ok := f.at[pc]
	return r, ok
}

func (f *Program) Block(r cfg.Ref) *cfg.Block { return &f.funcs[r.Func][r.Block] }

func (f *Program) Sites(r cfg.Ref) []event.Site { return f.sites[r.Func][r.Block] }

func (f *Program) Decode(start cfg.Ref, number uint64) (refs []cfg.Ref, err error) {
	nodes, err := f.paths[start.Func].Decode(int(start.Block), number)
	for _, v := range nodes {
		refs = append(refs, cfg.Ref{Func: start.Func, Block: uint32(v)})
	}
	return refs, err
}
