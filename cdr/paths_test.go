package cdr

import (
	"testing"

	"hindsight/tracefmt/event"
)

// TestPaths checks that the paths of a trace are those of Ball and Larus: each
// follows edges that are not cut, and goes on until control takes one that is,
// or none, or until something else ends it.
func TestPaths(t *testing.T) {
	inside, long := 0, 0
	for seed := range uint64(300) {
		s := newSynthetic(seed, 2)
		if s.flow == nil {
			continue
		}
		before := inside
		for id := range s.blocks {
			p := newPaths(AlphabetPath, s.flow)
			p.define(&s.blocks[id], func(Site) SiteID { return 0 })
			inside += len(p.sims[0].cuts)
		}
		if inside == before && seed > 10 {
			continue
		}
		s.run(4000)
		tr, err := openBytes(s.record(t, Options{}, s.batches))
		if err != nil {
			t.Fatal(err)
		}
		for _, th := range tr.Threads() {
			x, err := tr.stretch(0, th.ID)
			if err != nil {
				t.Fatal(err)
			}
			long += s.checkPaths(t, x)
		}
	}
	if inside < 10 || long < 1000 {
		t.Errorf("%d cuts inside blocks of the simulator, %d paths of several blocks: too few to test anything", inside, long)
	}
}

// checkPaths gives the number of executions of paths with several blocks.
func (s *synthetic) checkPaths(t *testing.T, x *stretch) (long int) {
	t.Helper()
	edge := func(from, to uint32) bool {
		ref, _ := s.flow.At(x.tab.blocks[from].pc)
		_, cut, ok := s.flow.Block(ref).Succ(x.tab.blocks[to].pc)
		return ok && !cut
	}
	last := int64(-1) // block that the path before ended with, if nothing ended it but the flow
	for c := x.g.Begin(); !c.AtEnd(); c.Next() {
		id, _ := c.Terminal()
		term := x.terms[id]
		if term.kind != termPath {
			last = -1
			continue
		}
		path := x.tab.pathBlocks(PathID(term.a))
		for range min(term.b, 2) {
			if last >= 0 && edge(uint32(last), path[0]) {
				t.Fatalf("a path ends at block %d though an edge leads on to block %d", last, path[0])
			}
			last = int64(path[len(path)-1])
			switch x.tab.blocks[last].end {
			case event.EndCall, event.EndCallInd, event.EndReturn:
				last = -1
			}
		}
		for i := range path[1:] {
			if !edge(path[i], path[i+1]) {
				t.Fatalf("a path goes from block %d to %d: no edge, or a cut one", path[i], path[i+1])
			}
		}
		if len(path) > 1 {
			long++
		}
	}
	return long
}

// TestLongPaths: a path that is too long for the tables is written block by
// block.
func TestLongPaths(t *testing.T) {
	s := newSynthetic(1, 1)
	s.run(1000)
	p := newPaths(AlphabetPath, s.flow)
	for i := range s.blocks {
		p.define(&s.blocks[i], func(Site) SiteID { return 0 })
	}
	p.total = maxPathsTotal
	for v := range p.codes {
		start := pathStart{block: uint32(v)}
		if _, _, ok := p.id(start); !ok {
			t.Fatalf("no row for block %d alone", v)
		}
		ref, _ := s.flow.At(p.codes[v].pc)
		if s.flow.paths[ref.Func].NumPaths(int(ref.Block)) > 1 {
			start.number = 1
			if _, _, ok := p.id(start); ok || len(p.blocksOf(nil, start)) != 2 {
				t.Fatalf("path 1 from block %d got a row", v)
			}
		}
	}
}
