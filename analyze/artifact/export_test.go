package artifact

var statusNames = [...]string{"own", "artifact", "unknown"}

func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "status?"
}

// Artifacts returns the number of races that are artifacts.
func (r *Result) Artifacts() (n int) {
	for i := range r.Verdicts {
		if r.Verdicts[i].Status == Artifact {
			n++
		}
	}
	return n
}

// Root returns the race that is reached from race i by following first causes, which is i
// itself if it is not an artifact.
func (r *Result) Root(i int) int {
	for range r.Verdicts {
		if v := &r.Verdicts[i]; v.Status == Artifact && len(v.Causes) > 0 {
			i = v.Causes[0]
			continue
		}
		break
	}
	return i
}
