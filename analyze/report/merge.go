package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"hindsight/tracefmt/numtext"
)

// Part is what one run contributes to a merged report.
type Part struct {
	Report *Report
	// Races are the fingerprints of the races that this run shows on behalf of all runs
	// that have them.
	Races map[string]bool
}

// Merge merges the reports of several runs of a program. Each race is in the result once:
// as in the part that has it in Races, with the seeds of all runs in which it occurred.
// The result depends only on the order of the parts and on the seeds, which Merge sorts.
//
// The counts of dynamic pairs and the names of mutexes and threads are those of the run
// that shows the race.
func Merge(info Info, parts []Part, seeds map[string][]uint64) *Report {
	out := &Report{Info: info}
	for _, p := range parts {
		out.Merged = max(out.Merged, p.Report.Merged)
		for i := range p.Report.Races {
			r := p.Report.Races[i]
			if !p.Races[r.Fingerprint] {
				continue
			}
			r.ID = fmt.Sprintf("R%d", len(out.Races)+1)
			r.Seeds = slices.Sorted(slices.Values(seeds[r.Fingerprint]))
			r.ThreadCounts = info.ThreadCountsOf(r.Seeds)
			r.Trace = p.Report.Info.File
			r.from = p.Report
			out.Races = append(out.Races, r)
			out.Dynamic += r.Dynamic
			if out.Dynamic < r.Dynamic {
				out.Dynamic = math.MaxUint64
			}
		}
		for i := range p.Report.Deadlocks {
			d := p.Report.Deadlocks[i]
			if p.Races[d.Fingerprint] {
				d.Seeds, d.Trace = slices.Sorted(slices.Values(seeds[d.Fingerprint])), p.Report.Info.File
				out.Deadlocks = append(out.Deadlocks, d)
			}
		}
		for i := range p.Report.Suppressed {
			if r := &p.Report.Suppressed[i]; !slices.ContainsFunc(out.Suppressed, func(o Race) bool { return o.Fingerprint == r.Fingerprint }) {
				out.Suppressed = append(out.Suppressed, *r)
			}
		}
	}
	out.numberDeadlocks()
	group(out.Races)
	return out
}

// shownSeeds is the number of seeds that a line of text lists.
const shownSeeds = 8

// SeedsText lists seeds, only the first few if they are many.
func SeedsText(seeds []uint64) string {
	var b strings.Builder
	for i, s := range seeds {
		if i == shownSeeds && len(seeds) > shownSeeds+1 {
			b.WriteString(", …")
			break
		}
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%d", s)
	}
	return b.String()
}

// seenWith returns the line about the runs that have a group.
func (t *text) seenWith(g *groupOf) {
	if t.rep.Info.Runs == 0 {
		return
	}
	seeds := slices.Compact(slices.Sorted(slices.Values(g.seeds)))
	noun := "seeds"
	if len(seeds) == 1 {
		noun = "seed"
	}
	t.printf("  Seen with %s %s (%d of %s)", noun, SeedsText(seeds), len(seeds), numtext.Plural(uint64(t.rep.Info.Runs), "run"))
	if counts := t.rep.Info.ThreadCountsOf(seeds); len(counts) > 0 {
		t.printf(", with OMP_NUM_THREADS=%s", CountsText(counts))
	}
	t.printf("; shown as in %s\n\n", g.lead.Trace)
}

// ThreadCountsOf returns, in ascending order, the thread counts of the runs of an
// exploration with these seeds. It returns nil if the exploration did not vary the count.
func (i *Info) ThreadCountsOf(seeds []uint64) []int {
	if len(i.ThreadCounts) == 0 {
		return nil
	}
	var counts []int
	for _, s := range seeds {
		counts = append(counts, i.ThreadCounts[(s-i.Seed)%uint64(len(i.ThreadCounts))])
	}
	slices.Sort(counts)
	return slices.Compact(counts)
}

// CountsText formats numbers in the form of a flag.
func CountsText(counts []int) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(counts), "[]"), " ", ",")
}
