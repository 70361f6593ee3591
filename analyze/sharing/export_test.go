package sharing

// Cost returns the number of bus transactions that sharing caused.
func (v *Variable) Cost() uint64 { return v.Counts.Coherence + v.Counts.Upgrades }
