package cdr

import (
	"bytes"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
)

// TestPaths checks that the paths of a trace are Ball–Larus paths: each follows edges
// that are not cut, and goes on until control takes a cut edge or no edge, or until
// something else ends it.
func TestPaths(t *testing.T) {
	inside, long := 0, 0
	for seed := range uint64(300) {
		s := newSynthetic(seed, 2)
		if s.flow == nil {
			continue
		}
		before := inside
		for id := range s.blocks {
			inside += s.cutsInside(&s.blocks[id])
		}
		if inside == before && seed > 10 {
			continue
		}
		s.run(4000)
		tr, err := openBytes(s.record(t, recorder.Options{}, s.batches))
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

// cutsInside counts the places in a block of the simulator where paths begin.
func (s *synthetic) cutsInside(b *event.Block) (n int) {
	for pc := b.PC; pc < b.Next(); {
		ref, ok := s.flow.At(pc)
		if !ok {
			return 0
		}
		from := s.flow.Block(ref)
		if pc = from.Next(); pc < b.Next() {
			if _, cut, ok := from.Succ(pc); cut || !ok {
				n++
			}
		}
	}
	return n
}

// checkPaths returns the number of executions of paths with several blocks.
func (s *synthetic) checkPaths(t *testing.T, x *stretch) (long int) {
	t.Helper()
	edge := func(from, to uint32) bool {
		ref, _ := s.flow.At(x.tab.Blocks[from].PC)
		_, cut, ok := s.flow.Block(ref).Succ(x.tab.Blocks[to].PC)
		return ok && !cut
	}
	last := int64(-1) // last block of the previous path, if only the control flow ended it
	for c := x.Grammar.Begin(); !c.AtEnd(); c.Next() {
		id, _ := c.Terminal()
		term := x.Terms[id]
		if term.Kind != format.TermPath {
			last = -1
			continue
		}
		path := x.tab.PathBlocks(format.PathID(term.A))
		for range min(term.B, 2) {
			if last >= 0 && edge(uint32(last), path[0]) {
				t.Fatalf("a path ends at block %d though an edge leads on to block %d", last, path[0])
			}
			last = int64(path[len(path)-1])
			switch x.tab.Blocks[last].End {
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

// TestFullTables checks that when the tables are full, paths without a row are written
// block by block.
func TestFullTables(t *testing.T) {
	for seed := range uint64(4) {
		for _, taken := range []int{0, 30} { // blocks in paths before the tables are full
			s := newSynthetic(seed, 2)
			s.run(3000)
			var out bytes.Buffer
			r, err := recorder.New(&out, recorder.Options{Program: s.flow, Budget: 40 << 10, PathBlocks: max(taken, 1)})
			if err != nil {
				t.Fatal(err)
			}
			s.feed(t, r, s.batches)
			tr, err := openBytes(out.Bytes())
			if err != nil {
				t.Fatal(err)
			}
			if err := tr.Verify(); err != nil {
				t.Fatal(err)
			}
			s.compare(t, tr, nil)
			if long := len(tr.tab.Path) - tr.tab.Paths(); long > taken+10 || taken > 0 && long == 0 {
				t.Errorf("room for %d blocks in paths: %d paths have %d blocks", taken, tr.tab.Paths(), len(tr.tab.Path))
			}
		}
	}
}
