package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"strings"

	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// TextOptions of [Report.WriteText]. The zero value means plain text of 100 columns.
type TextOptions struct {
	Color bool // emphasise by ANSI escape sequences, for a terminal
	Width int  // columns; 0 means 100. Names are shortened to fit, but not addresses and numbers
	// Frames shows all frames of call stacks. Otherwise two or more consecutive frames of
	// libraries become a line, except for the frame of the access.
	Frames bool
	// List shows artifacts by themselves, with what led to them, and not as a line under
	// their causes.
	List bool
}

const (
	rule       = "=================="
	plainWidth = 100
	shortest   = 16 // columns that a shortened name keeps
)

// WriteText writes the report in the manner of ThreadSanitizer: a block for each group of
// races, then the number of blocks.
func (r *Report) WriteText(w io.Writer, opts TextOptions) error {
	t := newText(r, opts)
	t.summary()
	for _, g := range t.shown {
		t.group(g)
	}
	t.deadlocks()
	t.totals()
	t.old()
	_, err := io.WriteString(w, t.out.String())
	return err
}

func newText(r *Report, opts TextOptions) *text {
	if opts.Width <= 0 {
		opts.Width = plainWidth
	}
	t := &text{rep: r, opts: opts, heads: map[string]int{}, races: r.byFingerprint()}
	t.gather()
	if !opts.List {
		t.fold()
	}
	t.choose()
	return t
}

// gather groups the races.
func (t *text) gather() {
	for i := range t.rep.Races {
		if g := t.rep.Races[i].Group; g == t.rep.Races[i].ID {
			t.heads[g] = len(t.groups)
			t.groups = append(t.groups, groupOf{lead: &t.rep.Races[i]})
		}
	}
	for i := range t.rep.Races {
		r := &t.rep.Races[i]
		g := &t.groups[t.heads[r.Group]]
		g.pairs++
		if r.SameValue != nil {
			g.same++
		}
		g.observed = g.observed || r.Prediction == nil
		if r.Verdict.rank() > g.verdict.rank() {
			g.verdict = r.Verdict
		}
		g.writes = g.writes || r.Accesses[0].Op.Writes() && r.Accesses[1].Op.Writes()
		g.seeds = append(g.seeds, r.Seeds...)
		g.dynamic += r.Dynamic
		if g.dynamic < r.Dynamic {
			g.dynamic = ^uint64(0)
		}
	}
}

// totals ends the report: how many groups were shown, and what was not.
func (t *text) totals() {
	r := t.rep
	t.printf("hindsight: reported %d warnings\n", len(t.shown)+len(r.Deadlocks))
	if n := len(r.Races); n > len(t.shown) {
		t.printf("hindsight: %s, counted by pairs of instructions as in JSON, SARIF and baselines\n", numtext.Plural(uint64(n), "race"))
	}
	if n := r.Artifacts(); n > 0 {
		t.printf("hindsight: %s\n", numtext.Count(uint64(n), "race is an artifact of another", "races are artifacts of others"))
	}
	t.unexplained()
	t.unshown()
	t.deadlockTotals()
	t.verdicts()
	if n := r.sameValues(); n > 0 {
		t.printf("hindsight: %s\n", numtext.Count(n, "race is of writes of the same value", "races are of writes of the same value"))
	}
	if n := len(r.Suppressed); n > 0 {
		t.printf("hindsight: %s suppressed\n", numtext.Plural(uint64(n), "race"))
	}
	if r.Baseline != "" {
		t.printf("hindsight: %s known from %s\n", numtext.Plural(uint64(len(r.Known)), "race"), r.Baseline)
		if r.Gone > 0 {
			t.printf("hindsight: %s in it did not show\n", numtext.Plural(uint64(r.Gone), "race"))
		}
	}
}

// groupOf has the races that are shown as one.
type groupOf struct {
	lead     *Race
	pairs    uint64
	dynamic  uint64
	under    string   // the group under which it is folded, or ""
	same     uint64   // number of its races whose writes make no difference
	writes   bool     // one of its races is between two writes
	observed bool     // the recorded run has one of its races
	verdict  *Verdict // the worst one of its races; nil if none was asked for
	seeds    []uint64 // in a merged report: of all races of the group, unsorted
}

// text is a report that is being written.
type text struct {
	rep    *Report
	run    *Report // of the current race
	opts   TextOptions
	out    bytes.Buffer
	groups []groupOf
	heads  map[string]int
	shown  []*groupOf       // those not folded, in the order in which they are shown
	races  map[string]*Race // by fingerprint
}

func (t *text) printf(format string, args ...any) { fmt.Fprintf(&t.out, format, args...) }

// emphasis begins or ends a colour.
func (t *text) emphasis(code int, s string) string {
	if !t.opts.Color {
		return s
	}
	return fmt.Sprintf("\x1b[1;%dm%s\x1b[0m", code, s)
}

func (t *text) group(g *groupOf) {
	r := g.lead
	times := " (" + r.ID
	if g.dynamic > 1 {
		times += fmt.Sprintf("; %s times", numtext.Grouped(g.dynamic))
		if g.pairs > 1 {
			times += fmt.Sprintf(", %d pairs of instructions", g.pairs)
		}
		times += "; first instance shown"
	}
	t.printf("%s\n%s%s)\n", rule, t.emphasis(31, "WARNING: hindsight: data race"), times)
	t.run = r.from
	if t.run == nil {
		t.run = t.rep
	}
	t.seenWith(g)
	for i := range r.Accesses {
		t.access(&r.Accesses[i], i == 1)
		t.printf("\n")
	}
	t.prediction(g)
	t.verdict(g)
	t.sameValue(g)
	t.impact(g)
	t.explanation(r)
	t.behind(r)
	t.location(&r.Location, r.Accesses[0].Op == replay.Free || r.Accesses[1].Op == replay.Free)
	for _, name := range t.locks(r) {
		t.mutex(name)
	}
	t.tasks(r)
	for _, id := range t.threads(r) {
		t.thread(id)
	}
	t.artifacts(g)
	top := r.Accesses[0].Top
	t.printf("SUMMARY: hindsight: data race %s\n%s\n", t.fit(lineOf(top)+" in "+function(top), 31), rule)
}

// lineOf returns the place of a frame, for the summary.
func lineOf(f Frame) string {
	if f.Line > 0 {
		return fmt.Sprintf("%s:%d", f.File, f.Line)
	}
	return fmt.Sprintf("0x%x", f.PC)
}

func function(f Frame) string {
	if f.Function == "" {
		return "??"
	}
	return f.Function
}

func (t *text) access(a *Access, previous bool) {
	what := a.verb()
	if previous {
		what = "Previous " + what
	} else {
		what = strings.ToUpper(what[:1]) + what[1:]
	}
	of := fmt.Sprintf("of size %d", a.Size)
	if a.Op == replay.Use {
		of = "of the object"
	}
	head := fmt.Sprintf("%s %s at 0x%x by %s", what, of, a.Address, t.actor(a))
	if a.called() {
		head += ", in a call"
	}
	if len(a.Locks) > 0 {
		names := make([]string, len(a.Locks))
		for i, l := range a.Locks {
			mode := "read"
			if l.Write {
				mode = "write"
			}
			names[i] = mode + " " + l.Name
		}
		head += " (mutexes: " + strings.Join(names, ", ") + ")"
	}
	t.printf("  %s\n", t.emphasis(34, head+":"))
	t.stack(a.Stack)
}

// verb returns what an access does.
func (a *Access) verb() string {
	switch a.Op {
	case replay.CallRead:
		return replay.Read.String()
	case replay.CallWrite:
		return replay.Write.String()
	}
	return a.Op.String()
}

// called reports whether a system call or a library function made the access.
func (a *Access) called() bool { return a.Op == replay.CallRead || a.Op == replay.CallWrite }

func (t *text) stack(stack []Frame) {
	if len(stack) == 0 {
		t.printf("    (no call stack)\n")
	}
	for i := 0; i < len(stack); i++ {
		f := stack[i]
		if n := libraryFrames(stack[i:]); n > 1 && i > 0 && !t.opts.Frames {
			t.printf("    … %d frames of libraries\n", n)
			i += n - 1
			continue
		}
		tail := fmt.Sprintf(" (0x%x)", f.PC)
		if f.Line > 0 {
			tail = fmt.Sprintf(" %s:%d", f.File, f.Line)
		}
		head := fmt.Sprintf("    #%d ", i)
		t.printf("%s%s%s\n", head, t.fit(function(f), len(head)+len(tail)), tail)
	}
}

// StackText returns a call stack as in reports: a line for each frame, with those of
// libraries folded. The addresses are as from [Stacks], the innermost first.
func StackText(img Image, pcs []uint64) string {
	n := newNamer(img, nil)
	t := text{opts: TextOptions{Width: plainWidth}}
	t.stack(n.frames(pcs))
	return t.out.String()
}

// libraryFrames returns the number of frames at the beginning that are not the user's
// own.
func libraryFrames(stack []Frame) int {
	n := 0
	for n < len(stack) && !stack[n].Own {
		n++
	}
	return n
}

// fit shortens a name in the middle so that it fits a line of which taken columns are in
// use.
func (t *text) fit(name string, taken int) string {
	room := max(t.opts.Width-taken, shortest)
	runes := []rune(name)
	if len(runes) <= room {
		return name
	}
	head := room / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-(room-head-1):])
}

// location describes the memory. freeing says that one side of the race is the free of
// the memory, so its stack is already shown.
func (t *text) location(l *Location, freeing bool) {
	switch l.Kind {
	case "global":
		t.printf("  %s", t.emphasis(32, fmt.Sprintf("Location is global '%s' of size %d at 0x%x (%s+0x%x)",
			t.fit(l.Symbol, 70), l.Size, l.Base, cmp.Or(l.Module, t.module()), l.Base-l.Bias)))
		if l.Path != "" && l.Path != l.Symbol {
			t.printf("\n    the access is to %s", t.fit(l.Path, 21))
		}
		t.printf("\n")
	case "heap":
		by := " by " + threadName(l.Thread)
		if t.run.Goroutines {
			by = " at"
		}
		t.printf("  %s\n", t.emphasis(32, fmt.Sprintf("Location is heap block of size %d at 0x%x allocated%s:",
			l.Size, l.Base, by)))
		t.stack(l.Stack)
		if l.Freed && !freeing {
			t.printf("  %s\n", t.emphasis(32, fmt.Sprintf("freed by %s at:", threadName(l.FreedBy))))
			t.stack(l.FreeStack)
		}
	case "stack":
		t.printf("  %s\n", t.emphasis(32, fmt.Sprintf("Location is stack of %s.", threadName(l.Thread))))
		if l.Local != nil {
			at := " " + lineOf(l.Local.In)
			t.printf("    the access is to %s%s\n", t.fit(l.Local.text(), 21+len(at)), at)
		}
	case "tls":
		name := ""
		if l.Path != "" {
			name = fmt.Sprintf(" '%s'", t.fit(l.Path, 40))
		}
		t.printf("  %s\n", t.emphasis(32, fmt.Sprintf("Location is TLS%s of %s.", name, threadName(l.Thread))))
	default:
		t.printf("  %s\n", t.emphasis(32, fmt.Sprintf("Location is unknown memory at 0x%x.", l.Address)))
	}
	t.printf("\n")
}

// module returns the program's name as in locations.
func (t *text) module() string {
	name := t.rep.Info.Program
	return name[strings.LastIndexByte(name, '/')+1:]
}

// locks returns the names of the mutexes of both sides, without duplicates.
func (t *text) locks(r *Race) (names []string) {
	seen := map[string]bool{}
	for i := range r.Accesses {
		for _, l := range r.Accesses[i].Locks {
			if !seen[l.Name] {
				seen[l.Name] = true
				names = append(names, l.Name)
			}
		}
	}
	return names
}

func (t *text) mutex(name string) {
	for i := range t.run.Mutexes {
		m := &t.run.Mutexes[i]
		if m.Name != name {
			continue
		}
		is := ""
		if m.Symbol != "" {
			is = fmt.Sprintf(" '%s'", t.fit(m.Symbol, 60))
		}
		how := "created"
		if !m.Created {
			how = "first locked"
			if !t.run.Goroutines {
				how += " by " + threadName(m.Thread)
			}
		}
		t.printf("  %s\n", t.emphasis(36, fmt.Sprintf("Mutex %s (0x%x)%s %s at:", m.Name, m.Address, is, how)))
		t.stack(m.Stack)
		t.printf("\n")
	}
}

// threads returns the threads to describe: those of both sides, the one that allocated
// the memory, and those that created them, without the main thread.
func (t *text) threads(r *Race) (ids []event.ThreadID) {
	if t.run.Goroutines {
		return nil // it does not matter on which of the runtime's threads they ran
	}
	seen := map[event.ThreadID]bool{}
	add := func(id event.ThreadID) {
		for {
			th, known := t.run.Threads[id]
			if !known || seen[id] || !th.HasParent {
				return
			}
			seen[id] = true
			ids = append(ids, id)
			id = th.Parent
		}
	}
	add(r.Accesses[0].Thread)
	add(r.Accesses[1].Thread)
	for i := range r.Accesses {
		if task := r.Accesses[i].Task; task != nil {
			add(task.Thread)
		}
	}
	if k := r.Location.Kind; k == "heap" || k == "stack" || k == "tls" {
		add(r.Location.Thread)
	}
	if r.Location.Freed {
		add(r.Location.FreedBy)
	}
	return ids
}

func (t *text) thread(id event.ThreadID) {
	th := t.run.Threads[id]
	state := "running"
	if th.Finished {
		state = "finished"
	}
	t.printf("  %s\n", t.emphasis(36, fmt.Sprintf("Thread T%d (%s) created by %s at:", id, state, threadName(th.Parent))))
	t.stack(th.Stack)
	t.printf("\n")
}

func threadName(t event.ThreadID) string {
	if t == 0 {
		return "main thread"
	}
	return fmt.Sprintf("thread T%d", t)
}
