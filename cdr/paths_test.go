package cdr

import (
	"bytes"
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

// checkPaths returns the number of executions of paths with several blocks.
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

// TestFullTables: when the tables hold as many paths as they may, paths without
// a row are written block by block.
func TestFullTables(t *testing.T) {
	for seed := range uint64(4) {
		for _, taken := range []int{0, 30} { // blocks in paths before the tables are full
			s := newSynthetic(seed, 2)
			s.run(3000)
			var out bytes.Buffer
			r, err := NewRecorder(&out, Options{Program: s.flow, Budget: 40 << 10})
			if err != nil {
				t.Fatal(err)
			}
			r.paths.total = maxPathsTotal - taken
			s.feed(t, r, s.batches)
			tr, err := openBytes(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Verify(); err != nil {
				t.Fatal(err)
			}
			s.compare(t, tr, nil)
			if long := len(tr.tab.path) - tr.tab.paths(); long > taken+10 || taken > 0 && long == 0 {
				t.Errorf("room for %d blocks in paths: %d paths have %d blocks", taken, tr.tab.paths(), len(tr.tab.path))
			}
		}
	}
}
