package view

import (
	"fmt"
	"strings"

	"hindsight/cdr"
	"hindsight/tracefmt/numtext"
)

// Facts returns what was run and how, and what each thread did.
func Facts(t *cdr.Trace, version string) []Fact {
	m := t.Info()
	list := []Fact{{"Program", m.Program}}
	if len(m.Args) > 0 {
		list = append(list, Fact{"Arguments", strings.Join(m.Args, " ")})
	}
	schedule := fmt.Sprintf("seed %d, policy %s", m.Seed, m.Policy)
	if m.Quantum > 0 {
		schedule += fmt.Sprintf(", quantum %s instructions", numtext.Grouped(m.Quantum))
	}
	insts := uint64(0)
	for _, th := range t.Threads() {
		insts += th.Insts
	}
	list = append(list, Fact{"Schedule", schedule}, Fact{"Instructions", numtext.Grouped(insts)}, Fact{"Threads", numtext.Grouped(uint64(len(t.Threads())))})
	switch o := m.Outcome; {
	case !m.Complete || o == nil:
		list = append(list, Fact{"Recording", "incomplete: it was ended before the program was"})
	case o.Message != "":
		list = append(list, Fact{"End", fmt.Sprintf("status %d: %s", o.Status, o.Message)})
	default:
		list = append(list, Fact{"End", fmt.Sprintf("status %d", o.Status)})
	}
	keep := m.Keep
	if keep == "" {
		keep = "all"
	}
	s := t.Sizes()
	list = append(list, Fact{"Recorded", fmt.Sprintf("%s, accesses: %s", m.Mode, keep)},
		Fact{"Trace", fmt.Sprintf("%s bytes: control flow %s, addresses %s, synchronisation %s, the program %s",
			numtext.Grouped(uint64(s.File)), numtext.Grouped(uint64(s.Control)), numtext.Grouped(uint64(s.Data)), numtext.Grouped(uint64(s.Sync)), numtext.Grouped(uint64(s.Image)))},
		Fact{"Version", "recorded by " + orUnknown(m.Tool) + ", shown by hindsight " + version})
	const most = 256
	for i, th := range t.Threads() {
		if i == most {
			list = append(list, Fact{"…", fmt.Sprintf("%d more threads", len(t.Threads())-most)})
			break
		}
		list = append(list, Fact{fmt.Sprintf("Thread T%d", th.ID), fmt.Sprintf("%s instructions, %s accesses, %s synchronisation events",
			numtext.Grouped(th.Insts), numtext.Grouped(th.Accesses), numtext.Grouped(th.Events))})
	}
	return list
}

func orUnknown(s string) string {
	if s == "" {
		return "an unknown version"
	}
	return s
}
