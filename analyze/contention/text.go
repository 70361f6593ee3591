package contention

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"hindsight/tracefmt/numtext"
)

// How much the text form shows of an object at most.
const (
	textPairs = 6
	textSites = 4
)

// WriteText writes the report for people.
func (r *Report) WriteText(out io.Writer) error {
	w := bufio.NewWriter(out)
	quantum := "quanta of chance length"
	if r.Info.Quantum > 0 {
		quantum = fmt.Sprintf("quantum %d", r.Info.Quantum)
	}
	fmt.Fprintf(w, "hindsight: lock contention in %s: %s, seed %d, %s\n",
		strings.Join(append([]string{r.Info.Program}, r.Info.Args...), " "), numtext.Plural(uint64(r.Info.Threads), "thread"), r.Info.Seed, quantum)
	fmt.Fprintf(w, "  the run took %s of simulated time: instructions of all threads, one after another.\n", numtext.Grouped(r.Time))
	fmt.Fprintf(w, "  Times depend on the schedule (--seed, --quantum); compare them with each other.\n\n")
	for i := range r.Objects {
		r.Objects[i].writeText(w, r.Time)
	}
	switch {
	case len(r.Objects) == 0:
		fmt.Fprintln(w, "no thread waited for a lock, barrier, condition or semaphore")
	case r.More > 0:
		fmt.Fprintf(w, "%s not shown (--top)\n", numtext.Plural(uint64(r.More), "further object"))
	}
	if r.Free > 0 {
		fmt.Fprintf(w, "%s used that nobody waited for\n", numtext.Plural(uint64(r.Free), "object"))
	}
	return w.Flush()
}

func (o *Object) writeText(w io.Writer, run uint64) {
	name := o.Where
	if o.Name != "" {
		name = fmt.Sprintf("'%s' in %s", o.Name, o.Where)
	}
	fmt.Fprintf(w, "%s  %s %s at 0x%x\n", o.ID, o.Kind, name, o.Address)
	fmt.Fprintf(w, "    waited    %s of %s, %s in all (%.1f %% of the run's time), %s at most\n", numtext.Grouped(o.Waited),
		numtext.Plural(o.Taken, "time"), numtext.Grouped(o.Time), 100*float64(o.Time)/float64(max(run, 1)), numtext.Grouped(o.Longest))
	for i, p := range o.Pairs {
		if i == textPairs {
			fmt.Fprintf(w, "    … %s\n", numtext.Plural(uint64(len(o.Pairs)-i), "further pair"))
			break
		}
		by := "nobody"
		if p.By != Nobody {
			by = fmt.Sprintf("T%d", p.By)
		}
		fmt.Fprintf(w, "    T%-3d for  %-6s  %s, %s\n", p.Thread, by, numtext.Plural(p.Times, "time"), numtext.Grouped(p.Time))
	}
	for i, s := range o.Sites {
		if i == textSites {
			fmt.Fprintf(w, "    … %s\n", numtext.Plural(uint64(len(o.Sites)-i), "further place"))
			break
		}
		fmt.Fprintf(w, "    at        %s, %s, %s\n", s.text(), numtext.Plural(s.Times, "time"), numtext.Grouped(s.Time))
	}
	fmt.Fprintln(w)
}

func (s *Site) text() string {
	name := s.Function
	if name == "" {
		name = fmt.Sprintf("0x%x", s.PC)
	}
	if s.File == "" {
		return name
	}
	return fmt.Sprintf("%s %s:%d", name, s.File, s.Line)
}
