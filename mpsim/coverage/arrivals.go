package coverage

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"hindsight/tracefmt/event"
)

// Arrivals is the order in which threads first acquired a lock or a semaphore.
type Arrivals struct {
	Object  uint64 // address
	Threads []event.ThreadID
}

// mostObjects and mostArrivals bound what is stored for a run.
const (
	mostObjects  = 128
	mostArrivals = 16
)

// arrive notes that a thread acquired an object.
func (p *pairs) arrive(t event.ThreadID, obj uint64) {
	i, known := slices.BinarySearchFunc(p.came, obj, func(a Arrivals, obj uint64) int { return cmp.Compare(a.Object, obj) })
	if !known {
		if len(p.came) == mostObjects {
			return
		}
		p.came = slices.Insert(p.came, i, Arrivals{Object: obj})
	}
	a := &p.came[i]
	if len(a.Threads) < mostArrivals && !slices.Contains(a.Threads, t) {
		a.Threads = append(a.Threads, t)
	}
}

// Arrivals returns the arrivals at objects that several threads acquired, in order of
// address.
func (o *Observer) Arrivals() []Arrivals {
	return slices.DeleteFunc(slices.Clone(o.pairs.came), func(a Arrivals) bool { return len(a.Threads) < 2 })
}

// ArrivalsText formats arrivals: 0x1234:1,2;0x5678:2,1.
func ArrivalsText(all []Arrivals) string {
	var b strings.Builder
	for i, a := range all {
		if i > 0 {
			b.WriteByte(';')
		}
		fmt.Fprintf(&b, "%#x:", a.Object)
		for j, t := range a.Threads {
			if j > 0 {
				b.WriteByte(',')
			}
			fmt.Fprint(&b, t)
		}
	}
	return b.String()
}

// ParseArrivals is the inverse of [ArrivalsText].
func ParseArrivals(text string) ([]Arrivals, error) {
	if text == "" {
		return nil, nil
	}
	var all []Arrivals
	for part := range strings.SplitSeq(text, ";") {
		object, threads, _ := strings.Cut(part, ":")
		addr, err := strconv.ParseUint(object, 0, 64)
		if err != nil {
			return nil, fmt.Errorf("coverage: arrivals %q: %w", part, err)
		}
		a := Arrivals{Object: addr}
		for id := range strings.SplitSeq(threads, ",") {
			n, err := strconv.ParseUint(id, 10, 32)
			if err != nil {
				return nil, fmt.Errorf("coverage: arrivals %q: %w", part, err)
			}
			a.Threads = append(a.Threads, event.ThreadID(n))
		}
		all = append(all, a)
	}
	return all, nil
}
