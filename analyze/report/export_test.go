package report

// Matched returns the number of races that the rules covered.
func (s *Suppressions) Matched() (n int) {
	if s != nil {
		for _, r := range s.Rules {
			n += r.Matched
		}
	}
	return n
}
