package race

import "hindsight/analyze/race/internal/count"

// Dynamic returns the number of dynamic pairs of all races, saturated.
func (r *Result) Dynamic() uint64 {
	var n uint64
	for i := range r.Races {
		n = count.AddSat(n, r.Races[i].Dynamic)
	}
	return n
}
