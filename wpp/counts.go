package wpp

// Counts returns how often each terminal below terminals occurs in the string. Its time
// is proportional to the size of the grammar: from the start rule down, each rule passes
// its number of occurrences on to the symbols of its body. A grammar whose string is
// longer than [MaxLength] has no counts; NewWeights rejects it.
func (g *Grammar) Counts(terminals int) []uint64 {
	counts := make([]uint64, terminals)
	rules := make([]uint64, g.Rules())
	rules[g.Start()] = 1
	for r := g.Rules() - 1; r >= 0; r-- { // a body uses only lower rules
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
