package sharing

// Cost is the number of bus transactions that sharing brought about.
func (v *Variable) Cost() uint64 { return v.Counts.Coherence + v.Counts.Upgrades }
