package cfg

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestFollower walks at random over random graphs, in steps of several blocks. It
// compares the paths that a follower finds with the definition: a path continues along
// edges that are not cut, and its number decodes to its blocks.
func TestFollower(t *testing.T) {
	several, inside := 0, 0
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		w := newRandomWalk(rng)
		var follow Follower
		var blocks []int // since the last path ended
		check := func(ended Path, n int) {
			t.Helper()
			want := blocks[:n]
			got, err := w.paths.Decode(int(ended.Block), ended.Number)
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: path %v is %v (%v), want %v", seed, ended, got, err, want)
			}
			if n > 1 {
				several++
			}
			blocks = blocks[n:]
		}
		for range 300 {
			s := w.next()
			before := len(blocks)
			blocks = append(blocks, s.blocks...)
			goesOn := before > 0 && w.goesOn(blocks[before-1], blocks[before])
			ended, cut := follow.Enter(s.step)
			if cut != (before > 0 && !goesOn) {
				t.Fatalf("seed %d: from %v to %v: cut %v", seed, blocks[:before], s.blocks, cut)
			}
			if cut {
				check(ended, before)
			}
			at := 0
			for i := range s.blocks[1:] {
				if w.goesOn(s.blocks[i], s.blocks[i+1]) {
					continue
				}
				n := len(blocks) - len(s.blocks) + i + 1
				check(follow.Cut(at), n)
				at++
				inside++
			}
			if at != s.step.Cuts() {
				t.Fatalf("seed %d: %d cuts in step %v, want %d", seed, s.step.Cuts(), s.blocks, at)
			}
			if rng.IntN(9) == 0 {
				ended, ok := follow.End()
				if !ok {
					t.Fatalf("seed %d: no path after %v", seed, s.blocks)
				}
				check(ended, len(blocks))
				w.at = rng.IntN(len(w.blocks))
			}
		}
	}
	if several < 1000 || inside < 100 {
		t.Errorf("%d paths of several blocks, %d cuts inside steps: too few to test anything", several, inside)
	}
	if _, ok := new(Follower).End(); ok {
		t.Error("a new follower is on a path")
	}
}

// randomWalk is a walk over a random graph, in steps.
type randomWalk struct {
	rng    *rand.Rand
	graph  Graph
	paths  *Paths
	blocks []Block
	steps  Steps
	known  []randomStep
	at     int // block before the next step
}

type randomStep struct {
	step   *Step
	blocks []int
}

func newRandomWalk(rng *rand.Rand) *randomWalk {
	w := &randomWalk{rng: rng}
	n := 3 + rng.IntN(8)
	w.graph = make(Graph, n)
	for v := range w.graph {
		for i := range n {
			if rng.IntN(n) < 2 {
				w.graph[v] = append(w.graph[v], i)
			}
		}
	}
	b := &body{graph: w.graph, blocks: make([]Block, n)}
	for v := range b.blocks {
		b.blocks[v].PC = uint64(16 * v)
		for _, to := range w.graph[v] {
			b.blocks[v].Succs = append(b.blocks[v].Succs, Succ{PC: uint64(16 * to), To: uint32(to)})
		}
	}
	b.number()
	w.paths, w.blocks = b.paths, b.blocks
	for range 6 + rng.IntN(20) {
		s := randomStep{blocks: []int{rng.IntN(n)}}
		for rng.IntN(3) == 0 && len(w.graph[s.blocks[len(s.blocks)-1]]) > 0 {
			succs := w.graph[s.blocks[len(s.blocks)-1]]
			s.blocks = append(s.blocks, succs[rng.IntN(len(succs))])
		}
		var list []StepBlock
		for _, v := range s.blocks {
			list = append(list, StepBlock{uint32(v), w.blocks[v].PC, &w.blocks[v]})
		}
		s.step = w.steps.Add(list...)
		w.known = append(w.known, s)
	}
	return w
}

// next returns a step that an edge leads to, and now and then another one.
func (w *randomWalk) next() randomStep {
	s := w.known[w.rng.IntN(len(w.known))]
	for range 10 {
		if slices.Contains(w.graph[w.at], s.blocks[0]) {
			break
		}
		s = w.known[w.rng.IntN(len(w.known))]
	}
	w.at = s.blocks[len(s.blocks)-1]
	return s
}

// goesOn reports whether a path may continue from one block to another.
func (w *randomWalk) goesOn(from, to int) bool {
	_, cut, ok := w.paths.Edge(from, to)
	return ok && !cut
}

// TestFollowerForeign checks that paths end before and after a block that is not the
// program's.
func TestFollowerForeign(t *testing.T) {
	own := Block{PC: 0, Succs: []Succ{{PC: 16}, {PC: 32, Val: 1}}}
	var steps Steps
	a := steps.Add(StepBlock{0, 0, &own})
	foreign := steps.Add(StepBlock{1, 16, nil})
	b := steps.Add(StepBlock{2, 32, &Block{PC: 32}})
	var f Follower
	var ended []Path
	for _, s := range []*Step{a, b, foreign, foreign, a, foreign} {
		if p, cut := f.Enter(s); cut {
			ended = append(ended, p)
		}
	}
	want := []Path{{0, 1}, {1, 0}, {1, 0}, {0, 0}}
	if !slices.Equal(ended, want) {
		t.Errorf("paths %v, want %v", ended, want)
	}
}

// TestNames numbers many paths from a few blocks and finds them again.
func TestNames(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	type key struct {
		block uint32
		key   uint64
	}
	var names Names[uint64]
	want := map[key]uint32{}
	for round := range 3 {
		for i := range 2000 {
			k := key{uint32(rng.IntN(200)), rng.Uint64N(8)}
			id, ok := names.Find(k.block, k.key)
			w, known := want[k]
			if ok != known || ok && id != w {
				t.Fatalf("%v is %d %v, want %d %v", k, id, ok, w, known)
			}
			if !ok {
				want[k] = uint32(i)
				names.Set(k.block, k.key, uint32(i))
			}
		}
		if names.Len() != len(want) {
			t.Fatalf("%d names, want %d", names.Len(), len(want))
		}
		if round == 1 {
			names.Forget()
			clear(want)
		}
	}
}
