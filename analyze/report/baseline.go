package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
)

// ErrBaseline is wrapped by errors about files that are not JSON reports.
var ErrBaseline = errors.New("not a JSON report of hindsight races")

// maxBaseline limits the size of a baseline, in bytes.
const maxBaseline = 256 << 20

// Baseline is an earlier report, whose races are known.
type Baseline struct {
	Name  string // of the file
	Races []Old  // without those that the report had from an earlier baseline
	known map[string]bool
	// deadlocks are the fingerprints of predicted deadlocks.
	deadlocks map[string]bool
}

// ReadBaseline reads a report in its JSON form, version 1. name is used in errors.
func ReadBaseline(name string, in io.Reader) (*Baseline, error) {
	var file struct {
		Version   int             `json:"version"`
		Races     *[]baselineRace `json:"races"`
		Known     []jsonKnown     `json:"known"`
		Deadlocks []jsonKnown     `json:"deadlocks"`
	}
	if err := json.NewDecoder(io.LimitReader(in, maxBaseline)).Decode(&file); err != nil {
		return nil, fmt.Errorf("baseline %s: %w: %w", name, ErrBaseline, err)
	}
	if file.Races == nil {
		return nil, fmt.Errorf("baseline %s: %w", name, ErrBaseline)
	}
	if file.Version != JSONVersion {
		return nil, fmt.Errorf("baseline %s: version %d: %w", name, file.Version, ErrBaseline)
	}
	b := &Baseline{Name: name, known: map[string]bool{}, deadlocks: map[string]bool{}}
	known := file.Known
	for i := range *file.Races {
		r := &(*file.Races)[i]
		known = append(known, jsonKnown{Fingerprint: r.Fingerprint})
		b.Races = append(b.Races, r.old())
	}
	for _, r := range known {
		if r.Fingerprint == "" {
			return nil, fmt.Errorf("baseline %s: a race without a fingerprint: %w", name, ErrBaseline)
		}
		b.known[r.Fingerprint] = true
	}
	for _, d := range file.Deadlocks {
		if d.Fingerprint != "" { // reports of older versions have none
			b.deadlocks[d.Fingerprint] = true
		}
	}
	return b, nil
}

// Apply removes the deadlocks that the baseline has, moves the races that it has from
// Races to Known, and renumbers and regroups the remaining ones.
func (b *Baseline) Apply(r *Report) {
	r.Baseline = b.Name
	var fresh []Race
	for i := range r.Races {
		if x := r.Races[i]; b.known[x.Fingerprint] {
			x.ID, x.Group = "", ""
			r.Known = append(r.Known, x)
		} else {
			fresh = append(fresh, x)
		}
	}
	r.Races = fresh
	knownDeadlock := func(d Deadlock) bool { return b.deadlocks[d.Fingerprint] }
	r.Deadlocks = slices.DeleteFunc(r.Deadlocks, knownDeadlock)
	r.UnshownDeadlocks = slices.DeleteFunc(r.UnshownDeadlocks, knownDeadlock)
	r.numberDeadlocks()
	shown := map[string]bool{}
	for _, races := range [][]Race{r.Known, r.Suppressed} {
		for i := range races {
			shown[races[i].Fingerprint] = true
		}
	}
	r.Gone = 0
	for f := range b.known {
		if !shown[f] {
			r.Gone++
		}
	}
	r.number()
}
