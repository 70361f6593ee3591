package wpp

// Counts is how often each terminal below a number occurs in the string. It
// takes time in proportion to the grammar: from the start down, each rule hands
// its number of occurrences on to the symbols of its body. A grammar whose
// string is longer than [MaxLength] has no counts: NewWeights refuses it.
func (g *Grammar) Counts(terminals int) []uint64 {
	counts := make([]uint64, terminals)
	rules := make([]uint64, g.Rules())
	rules[g.Start()] = 1
	for r := g.Rules() - 1; r >= 0; r-- { // a body has lower rules only
		if rules[r] == 0 {
			continue
		}
		for _, s := range g.Body(Rule(r)) {
			if s.IsRule() {
				rules[s.Rule()] += rules[r]
			} else {
				counts[s.Terminal()] += rules[r]
			}
		}
	}
	return counts
}
