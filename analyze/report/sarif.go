package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"hindsight/analyze/artifact"
	"hindsight/analyze/replay"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// SARIFOptions of [Report.WriteSARIF].
type SARIFOptions struct {
	Arguments []string // arguments of this tool, without its own name
	ExitCode  int      // the exit status that it will end with
	// SourceDir is the directory to which file names are relative. "" means the one that
	// contains all of the user's own files.
	SourceDir string
	// Frames writes all frames of libraries. Otherwise several in a row become one.
	Frames bool
}

// The rules that results refer to. Their identifiers are stable.
const (
	ruleRace     = "data-race"
	ruleFree     = "free-race"
	ruleDeadlock = "deadlock"
)

// Names in partialFingerprints. The number is the version of the way in which they are
// computed.
const sarifFingerprint = "hindsightRace/v1"

// The related locations of a result, by their ids. Its message links to them.
const (
	earlierID  = 1
	locationID = 2 // allocation of the heap block
	freedID    = 3
	writeID    = 4 // of an artifact: the racy write and read that caused it
	readID     = 5
	taskID     = 6 // creation of the task of the later access; 7 is that of the earlier one
)

// WriteSARIF writes the report as a SARIF 2.1.0 log with one run. Each static pair is a
// result. Its location is the later access, and its first related location is the earlier
// one. Suppressed races are results too, and marked as suppressed. Races that a baseline
// has are marked unchanged.
func (r *Report) WriteSARIF(w io.Writer, opts SARIFOptions) error {
	run := newSarifRun(r.Info.Version, opts, map[string]any{
		"trace": r.Info.File, "program": r.Info.Program, "args": append([]string{}, r.Info.Args...), "threads": r.Info.Threads,
		"instructions": r.Info.Instructions, "seed": r.Info.Seed, "complete": r.Info.Complete,
	})
	run.add(r, "", opts)
	run.relativeTo(cmp.Or(opts.SourceDir, sourceDir([]*Report{r})))
	return run.write(w)
}

// Explored is the report on one of several programs.
type Explored struct {
	Program string
	*Report          // nil if there is none
	Notes   []string // other problems with the program
}

// WriteSARIFOf writes the reports on several programs as a SARIF log with one run. Each
// result names its program in its properties and in its message. The programs share a run
// because code hosting sites accept only few runs in a log, and only one for each tool
// and category.
func WriteSARIFOf(w io.Writer, version string, programs []Explored, opts SARIFOptions, properties map[string]any) error {
	run := newSarifRun(version, opts, properties)
	var all []*Report
	for _, p := range programs {
		if p.Report != nil {
			all = append(all, p.Report)
			run.add(p.Report, p.Program, opts)
		}
		for _, note := range p.Notes {
			run.notify("error", p.Program+": "+note)
		}
	}
	run.relativeTo(cmp.Or(opts.SourceDir, sourceDir(all)))
	return run.write(w)
}

func newSarifRun(version string, opts SARIFOptions, properties map[string]any) *sarifRun {
	return &sarifRun{
		Tool: sarifTool{Driver: sarifDriver{Name: "hindsight", Version: version, Rules: sarifRules()}},
		Invocations: []sarifInvocation{{
			Arguments: opts.Arguments, ExitCode: opts.ExitCode, ExecutionSuccessful: true,
		}},
		ColumnKind: "unicodeCodePoints",
		Results:    []sarifResult{},
		Properties: properties,
	}
}

// notify adds a message about the invocation.
func (run *sarifRun) notify(level, text string) {
	call := &run.Invocations[0]
	call.Notifications = append(call.Notifications, sarifNotification{Level: level, Message: sarifMessage{Text: text}})
}

// add adds the results of a report. program is its name if it is one of several, and ""
// if it is the only one.
func (run *sarifRun) add(r *Report, program string, opts SARIFOptions) {
	first, of := len(run.Results), ""
	if program != "" {
		of = program + ": "
	}
	for _, note := range r.Notes() {
		run.notify("warning", of+note)
	}
	all := r.byFingerprint()
	add := func(races []Race, state string, suppressed bool) {
		for i := range races {
			res := r.sarifResult(&races[i], all)
			res.BaselineState = state
			if suppressed {
				res.Suppressions = []sarifSuppression{{Kind: "external", Status: "accepted", Justification: races[i].SuppressedBy}}
			}
			run.Results = append(run.Results, res)
		}
	}
	state, known := "", ""
	if r.Baseline != "" {
		state, known = "new", "unchanged"
	}
	add(r.Races, state, false)
	add(r.Known, known, false)
	add(r.Suppressed, "", true)
	rules := &run.Tool.Driver.Rules
	if len(r.Deadlocks) > 0 && (*rules)[len(*rules)-1].ID != ruleDeadlock {
		*rules = append(*rules, deadlockRule())
	}
	for i := range r.Deadlocks {
		run.Results = append(run.Results, sarifDeadlock(&r.Deadlocks[i]))
	}
	for i := range run.Results[first:] {
		res := &run.Results[first+i]
		if program != "" {
			res.Message.Text += " Program: " + program + "."
			if res.Properties == nil {
				res.Properties = map[string]any{}
			}
			res.Properties["program"] = program
		}
		for j := range res.Stacks {
			if s := &res.Stacks[j]; !opts.Frames {
				s.fold()
			}
		}
	}
}

// write writes a log with only this run.
func (run *sarifRun) write(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	return enc.Encode(&sarifLog{
		Schema:  "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{*run},
	})
}

func sarifRules() []sarifRule {
	return []sarifRule{
		{
			ID: ruleRace, Name: "DataRace", ShortDescription: sarifMessage{Text: "Data race"},
			FullDescription: sarifMessage{Text: "Two threads access the same memory, at least one of them writes, at least one access is not atomic, and no synchronisation orders them."},
			Help:            sarifMessage{Text: "Let something order the accesses: one mutex that both hold, a join, a condition, or an atomic variable written with release and read with acquire order. Both call stacks, the locks held and the number of times are in the result; hindsight slice --race shows what led to each side."},
			Configuration:   sarifConfiguration{Level: "error"},
		},
		{
			ID: ruleFree, Name: "FreeRace", ShortDescription: sarifMessage{Text: "Access races with free"},
			FullDescription: sarifMessage{Text: "A thread frees a heap block while another thread accesses it, and no synchronisation orders the two."},
			Help:            sarifMessage{Text: "Free the block where no other thread can have it any more: after a join, under the lock that guards its users, or when a count of references reaches zero."},
			Configuration:   sarifConfiguration{Level: "error"},
		},
	}
}

// deadlockRule is only in logs that have deadlocks.
func deadlockRule() sarifRule {
	return sarifRule{
		ID: ruleDeadlock, Name: "Deadlock", ShortDescription: sarifMessage{Text: "Deadlock in another schedule"},
		FullDescription: sarifMessage{Text: "Threads lock mutexes in different orders. The recorded run did not deadlock, and a run under another schedule did."},
		Help:            sarifMessage{Text: "Lock the mutexes in one order everywhere, or hold one more mutex around both."},
		Configuration:   sarifConfiguration{Level: "error"},
	}
}

func (r *Report) sarifResult(x *Race, races map[string]*Race) sarifResult {
	later, earlier := &x.Accesses[0], &x.Accesses[1]
	run := r
	if x.from != nil {
		run = x.from
	}
	index := 0
	if later.Op == replay.Free || earlier.Op == replay.Free {
		index = 1
	}
	out := sarifResult{
		RuleID: sarifRules()[index].ID, RuleIndex: index, Level: "error",
		Message:             sarifMessage{Text: sarifText(x)},
		Locations:           []sarifLocation{later.sarifAt("")},
		PartialFingerprints: map[string]string{sarifFingerprint: x.Fingerprint},
		OccurrenceCount:     min(x.Dynamic, math.MaxInt64),
		Properties:          map[string]any{"location": x.Location.text()},
	}
	if x.ID != "" {
		out.Properties["id"], out.Properties["group"] = x.ID, x.Group
	}
	if s := x.SameValue; s != nil {
		out.Properties["sameValue"] = jsonOfSameValue(s)
		out.Level = "warning"
		out.Message.Text += " Same value: " + s.text() + "."
	}
	if p := x.Prediction; p != nil {
		out.Properties["prediction"] = jsonOfPrediction(p)
		out.Message.Text += " Prediction: " + p.text() + "."
	}
	if v := x.Verdict; v != nil {
		out.Properties["verdict"], out.Properties["evidence"] = v.Verdict, v.Evidence
		out.Message.Text += " Verdict: " + v.text() + "."
	}
	if m := x.impact; m != nil {
		out.Properties["impact"] = jsonOfImpact(m)
		out.Message.Text += " The value " + impactText(m) + "."
	}
	related := earlier.sarifAt(capital(earlier.what()))
	related.ID = earlierID
	out.RelatedLocations = []sarifLocation{related}
	for i := range x.Accesses {
		a := &x.Accesses[i]
		out.addStack(sarifStackOf(a.Stack, a.what(), a.Thread))
		if a.Task != nil {
			at := sarifAt(a.Task.Top, fmt.Sprintf("%s was created by %s", capital(a.Task.name()), threadName(a.Task.Thread)))
			at.ID = taskID + i
			out.RelatedLocations = append(out.RelatedLocations, at)
		}
	}
	l := &x.Location
	if len(l.Stack) > 0 {
		at := sarifAt(top(l.Stack), "Allocated by "+threadName(l.Thread))
		at.ID = locationID
		out.RelatedLocations = append(out.RelatedLocations, at)
		out.addStack(sarifStackOf(l.Stack, "allocation by "+threadName(l.Thread), l.Thread))
	}
	if len(l.FreeStack) > 0 {
		at := sarifAt(top(l.FreeStack), "Freed by "+threadName(l.FreedBy))
		at.ID = freedID
		out.RelatedLocations = append(out.RelatedLocations, at)
	}
	for _, t := range []event.ThreadID{later.Thread, earlier.Thread} {
		if th, ok := run.Threads[t]; ok && len(th.Stack) > 0 {
			out.addStack(sarifStackOf(th.Stack, capital(threadName(t))+" was created by "+threadName(th.Parent), th.Parent))
		}
	}
	out.CodeFlows = []sarifCodeFlow{sarifFlow(x)}
	x.sarifArtifact(&out, races)
	return out
}

// addStack adds a stack unless it is already there, because stacks must differ [3.27.19].
func (r *sarifResult) addStack(s sarifStack) {
	if !slices.ContainsFunc(r.Stacks, func(o sarifStack) bool { return reflect.DeepEqual(o, s) }) {
		r.Stacks = append(r.Stacks, s)
	}
}

// sarifSteps collects the steps of a code flow, thread by thread, with consecutive
// numbers.
type sarifSteps struct {
	flow  sarifCodeFlow
	order int
}

func (c *sarifSteps) add(t event.ThreadID, s sarifStep) {
	c.order++
	s.ExecutionOrder = c.order
	id := fmt.Sprintf("T%d", t)
	for i := range c.flow.ThreadFlows {
		if f := &c.flow.ThreadFlows[i]; f.ID == id {
			f.Locations = append(f.Locations, s)
			return
		}
	}
	c.flow.ThreadFlows = append(c.flow.ThreadFlows, sarifThreadFlow{ID: id, Message: &sarifMessage{Text: threadName(t)}, Locations: []sarifStep{s}})
}

// sarifFlow returns what happened. The stacks of its steps are those of the result.
func sarifFlow(x *Race) sarifCodeFlow {
	var steps sarifSteps
	step := func(t event.ThreadID, at Frame, text string) {
		loc := sarifAt(at, text)
		steps.add(t, sarifStep{Location: &loc, Importance: "essential"})
	}
	if l := &x.Location; len(l.Stack) > 0 {
		step(l.Thread, top(l.Stack), "allocates the block")
	}
	for _, i := range []int{1, 0} {
		a := &x.Accesses[i]
		step(a.Thread, a.Top, a.what())
	}
	return steps.flow
}

// sarifArtifact says of which races a race is a consequence: in the message, in related
// locations, and as a second code flow in which the racy value moves from its write to
// the access.
func (x *Race) sarifArtifact(out *sarifResult, races map[string]*Race) {
	if x.Unexplained != "" {
		out.Properties["artifactUnknown"] = x.Unexplained
	}
	if ids := reported(races, x.Behind); len(ids) > 0 {
		out.Properties["alsoBehind"] = x.Behind
		out.Message.Text += " Also behind " + idList(ids) + ": a racy value decided that it ran."
	}
	if len(x.Controlled) > 0 {
		out.Properties["eventControlledBy"] = x.Controlled
	}
	a := x.Artifact
	if a == nil {
		return
	}
	out.Level = "note" // as severe as its cause, which has a result of its own
	out.Properties["artifactOf"], out.Properties["artifactBy"], out.Properties["artifactChecked"] = a.Of, a.By.String(), a.Checked
	out.Properties["artifactRepair"] = a.repair()
	if a.Together {
		out.Properties["artifactTogether"] = true
	}
	out.Message.Text += " It is an artifact: a consequence of another race"
	if ids := reported(races, a.Of); len(ids) > 0 {
		out.Message.Text += ", " + idList(ids)
	}
	if len(a.Chain) >= 2 {
		out.Message.Text += fmt.Sprintf(", of a [write](%d) with a [read](%d)", writeID, readID)
	}
	out.Message.Text += fmt.Sprintf(". It is one by %s: %s.", a.By, a.repair())
	if len(a.Chain) < 2 {
		return
	}
	for i, id := range []int{writeID, readID} {
		l := &a.Chain[i]
		at := sarifAt(l.Frame, capital(l.what()))
		at.ID = id
		out.RelatedLocations = append(out.RelatedLocations, at)
	}
	var steps sarifSteps
	for l := range a.steps() {
		at, importance := sarifAt(l.Frame, l.what()), "important"
		switch l.Kind {
		case artifact.RacyWrite, artifact.RacyRead, artifact.Decide, artifact.Access:
			importance = "essential"
		}
		steps.add(l.Thread, sarifStep{Location: &at, Importance: importance})
	}
	steps.flow.Message = &sarifMessage{Text: "How the value of the other race led here"}
	out.CodeFlows = append(out.CodeFlows, steps.flow)
}

// linkText escapes what has a meaning inside links [3.11.6].
var linkText = strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`)

// sarifText returns the message of a result. Its links refer to related locations.
func sarifText(x *Race) string {
	later, earlier := &x.Accesses[0], &x.Accesses[1]
	text := fmt.Sprintf("Data race on %s: %s races with an earlier [%s](%d).", x.Location.text(), later.what(), linkText.Replace(earlier.what()), earlierID)
	if x.Dynamic > 1 {
		text += fmt.Sprintf(" %s pairs of accesses race so; the first is shown.", numtext.Grouped(x.Dynamic))
	}
	return text
}

// what describes an access: what it did, which thread made it, and the locks held.
func (a *Access) what() string {
	s := fmt.Sprintf("%s of %s by %s", a.Op, numtext.Plural(a.Size, "byte"), threadName(a.Thread))
	if a.Task != nil {
		s += " in " + a.Task.name()
	}
	for i, l := range a.Locks {
		if i == 0 {
			s += " holding "
		} else {
			s += ", "
		}
		s += l.Name
		if l.Symbol != "" {
			s += " (" + l.Symbol + ")"
		}
	}
	return s
}

// text describes a location in a sentence.
func (l *Location) text() string {
	name := l.Path
	if name == "" {
		name = l.Name
	}
	switch l.Kind {
	case "global":
		return fmt.Sprintf("global '%s'", name)
	case "heap":
		s := fmt.Sprintf("a heap block of %s", numtext.Plural(l.Size, "byte"))
		if name != "" {
			s += " allocated in " + name
		}
		return s
	case "stack":
		if l.Local != nil {
			return l.Local.text() + " on the stack of " + threadName(l.Thread)
		}
		return "the stack of " + threadName(l.Thread)
	case "tls":
		return fmt.Sprintf("thread-local '%s' of %s", name, threadName(l.Thread))
	}
	return fmt.Sprintf("memory at 0x%x", l.Address)
}

func capital(s string) string { return strings.ToUpper(s[:1]) + s[1:] }

// sarifAt returns the place of a frame: a line of a file, or an address if no line is
// known.
func sarifAt(f Frame, text string) sarifLocation {
	var out sarifLocation
	if text != "" {
		out.Message = &sarifMessage{Text: text}
	}
	if f.Function != "" {
		out.LogicalLocations = []sarifLogical{{Name: f.Function, Kind: "function"}}
	}
	switch {
	case f.Path != "":
		out.Physical = &sarifPhysical{Artifact: &sarifArtifact{URI: fileURI(f.Path)}}
		if f.Line > 0 {
			out.Physical.Region = &sarifRegion{StartLine: f.Line}
		}
	case f.PC <= math.MaxInt64:
		out.Physical = &sarifPhysical{Address: &sarifAddress{Absolute: int64(f.PC), Kind: "instruction"}}
	}
	return out
}

// sarifAt returns the place of an access. The task in which it was made is the logical
// location around its function.
func (a *Access) sarifAt(text string) sarifLocation {
	out := sarifAt(a.Top, text)
	if a.Task != nil {
		out.LogicalLocations = append(out.LogicalLocations, sarifLogical{Name: a.Task.name(), Kind: "task"})
	}
	return out
}

// fileURI returns the URI of a source file. It is relative if the path is.
func fileURI(path string) string {
	u := url.URL{Path: path}
	if strings.HasPrefix(path, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

func sarifStackOf(stack []Frame, text string, t event.ThreadID) sarifStack {
	out := sarifStack{Frames: make([]sarifFrame, len(stack))}
	if text != "" {
		out.Message = &sarifMessage{Text: capital(text)}
	}
	for i, f := range stack {
		loc := sarifAt(f, "")
		out.Frames[i] = sarifFrame{Location: &loc, ThreadID: uint32(t), foldable: !f.Own}
	}
	return out
}

// fold replaces several frames of libraries in a row by the outermost one and their
// number. The innermost frame of all stays.
func (s *sarifStack) fold() {
	kept := s.Frames[:0:0]
	for i := 0; i < len(s.Frames); i++ {
		n := 0
		for i+n < len(s.Frames) && s.Frames[i+n].foldable {
			n++
		}
		if i > 0 && n > 1 {
			i += n - 1
			loc := *s.Frames[i].Location
			loc.Message = &sarifMessage{Text: fmt.Sprintf("%d frames of libraries", n)}
			s.Frames[i].Location = &loc
		}
		kept = append(kept, s.Frames[i])
	}
	s.Frames = kept
}
