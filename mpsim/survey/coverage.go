package survey

import (
	"fmt"
	"strings"

	"hindsight/mpsim/coverage"
	"hindsight/mpsim/session"
	"hindsight/tracefmt/numtext"
)

// Coverage says what the schedules of an exploration have covered, and since when further
// ones have found nothing new. Runs are counted in order of their seeds.
type Coverage struct {
	// Classes is the number of different happens-before classes (package coverage).
	// SinceClass is the number of runs since a new class was last seen.
	Classes    int `json:"classes"`
	SinceClass int `json:"runs_since_new_class"`
	// UnseenClass estimates the probability that the next run is of an unseen class: the
	// share of runs whose class no other run has. I. J. Good, "The population frequencies
	// of species and the estimation of population parameters", Biometrika 1953.
	UnseenClass float64 `json:"unseen_class_probability"`
	// Pairs is the number of pairs of instructions that conflicted in some run, at least
	// one of them writing. BothOrders is the number of those that did so in both orders.
	Pairs      int `json:"pairs"`
	BothOrders int `json:"pairs_in_both_orders"`
	SincePair  int `json:"runs_since_new_pair"` // or a new order of one
}

// covered returns the coverage of runs in order, or nil if it is not known for all.
func covered(runs []*session.ExploredRun) *Coverage {
	if len(runs) == 0 {
		return nil
	}
	c := &Coverage{}
	classes := map[string]int{}
	pairs := map[coverage.Pair]bool{}
	for _, r := range runs {
		found, err := coverage.DecodePairs(r.Pairs)
		if r.Class == "" || err != nil {
			return nil
		}
		c.SinceClass, c.SincePair = c.SinceClass+1, c.SincePair+1
		if classes[r.Class]++; classes[r.Class] == 1 {
			c.SinceClass = 0
		}
		for _, p := range found {
			if pairs[p] {
				continue
			}
			pairs[p] = true
			c.SincePair = 0
			if pairs[p.Reversed()] {
				c.BothOrders++
			} else {
				c.Pairs++
			}
		}
	}
	c.Classes = len(classes)
	once := 0
	for _, n := range classes {
		if n == 1 {
			once++
		}
	}
	c.UnseenClass = float64(once) / float64(len(runs))
	return c
}

// text writes the coverage of a number of runs.
func (c *Coverage) text(b *strings.Builder, runs int) {
	fmt.Fprintf(b, "  covered: %s of happens-before, %s", numtext.Count(uint64(c.Classes), "class", "classes"), since(c.SinceClass, runs))
	switch {
	case c.UnseenClass == 1 && runs > 1:
		b.WriteString("; each run is of another class")
	case c.UnseenClass > 0:
		fmt.Fprintf(b, "; the next run is of a new one with a probability of about %.2g", c.UnseenClass)
	}
	fmt.Fprintf(b, "\n    %s of conflicting operations, %d in both orders, %s\n", numtext.Plural(uint64(c.Pairs), "pair"), c.BothOrders, since(c.SincePair, runs))
}

// since says for how many of the runs there was nothing new.
func since(n, runs int) string {
	switch {
	case n == 0:
		return "the last run showed a new one"
	case n >= runs:
		return "no run showed a new one"
	}
	return "none new in the last " + numtext.Plural(uint64(n), "run")
}
