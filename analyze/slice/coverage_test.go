package slice_test

import (
	"testing"

	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// TestPrograms checks that the random programs have everything that dependences are
// about.
func TestPrograms(t *testing.T) {
	seen := map[string]int{}
	for seed := range uint64(60) {
		l, _ := logged(t, randomShape(seed))
		stmts := l.Statements()
		for n := range stmts {
			s := &stmts[n]
			seen["a statement of kind "+s.Kind.String()]++
			if s.Inst.Op == rv.OpECALL && len(s.Reads) > 0 {
				seen["a call that puts bytes out"]++
			}
			if s.Inst.Op == rv.OpECALL && len(s.Wrote) > 0 {
				seen["a call that fills memory"]++
			}
			memory := 0
			for _, d := range s.Deps {
				if stmts[d.From].Thread != s.Thread {
					seen["a dependence between threads through "+d.Kind.String()]++
				}
				if d.Kind == wet.DepMemory {
					memory++
				}
				if d.Kind == wet.DepControl {
					seen["control dependence on "+stmts[d.From].Inst.Op.String()]++
				}
			}
			if memory > 1 && s.Size > 0 {
				seen["an access that finds bytes of several stores"]++
			}
		}
	}
	for _, what := range []string{
		"a statement of kind start", "a statement of kind call", "a call that puts bytes out", "a call that fills memory",
		"a dependence between threads through memory", "an access that finds bytes of several stores",
		"control dependence on bne", "control dependence on jal", "control dependence on jalr",
	} {
		if seen[what] < 10 {
			t.Errorf("%d times: %s", seen[what], what)
		}
	}
	t.Log(seen)
}
