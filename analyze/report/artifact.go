package report

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"hindsight/analyze/artifact"
	"hindsight/analyze/internal/jsonform"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Artifact says of which races a race is a consequence.
type Artifact struct {
	// Of are the fingerprints of its causes, that of the first instance first. Order says
	// whether each of them causes it alone, or all of them Together.
	Of       []string
	Together bool
	By       artifact.By
	Chain    []Link // of the first instance
	// Checked is the number of dynamic instances that were examined. All of them are
	// consequences.
	Checked uint64
}

// Link is a step on the path from a racy value to an artifact.
type Link struct {
	Kind    artifact.StepKind
	Thread  event.ThreadID
	Frame   Frame
	Address uint64 // of memory that it accesses, or 0 if not known
	Size    uint64 // bytes there
	Name    string // of the global variable there, or "" if there is none
}

// Explain distinguishes artifacts from other races. found is what package artifact found
// about the races from which the report was built. It must be called before a baseline is
// applied or reports are merged.
func (r *Report) Explain(found *artifact.Result, img Image) {
	n := namer{img: img}
	prints := map[int]string{}
	all := [][]Race{r.Races, r.Suppressed}
	for _, races := range all {
		for i := range races {
			prints[races[i].index] = races[i].Fingerprint
		}
	}
	for _, races := range all {
		for i := range races {
			if x := &races[i]; x.index < len(found.Verdicts) {
				x.explain(&found.Verdicts[x.index], prints, &n)
			}
		}
	}
}

func (r *Race) explain(v *artifact.Verdict, prints map[int]string, n *namer) {
	r.Artifact, r.Unexplained, r.Behind, r.Controlled = nil, "", nil, nil
	for _, k := range v.Behind {
		r.Behind = append(r.Behind, prints[k])
	}
	for _, k := range v.Controlled {
		r.Controlled = append(r.Controlled, prints[k])
	}
	switch v.Status {
	case artifact.Unknown:
		r.Unexplained = v.Reason
	case artifact.Artifact:
		a := &Artifact{By: v.By, Together: v.Together, Checked: v.Checked}
		for _, c := range v.Causes {
			a.Of = append(a.Of, prints[c])
		}
		for _, s := range v.Chain {
			l := Link{Kind: s.Kind, Thread: s.Thread, Frame: n.frames([]uint64{s.PC})[0], Address: s.Address, Size: s.Size}
			if s.Address != 0 {
				l.Name = n.img.ObjectPathSize(s.Address, s.Size)
			}
			a.Chain = append(a.Chain, l)
		}
		r.Artifact = a
	}
}

// byFingerprint returns the reported races by fingerprint.
func (r *Report) byFingerprint() map[string]*Race {
	m := make(map[string]*Race, len(r.Races))
	for i := range r.Races {
		m[r.Races[i].Fingerprint] = &r.Races[i]
	}
	return m
}

// root returns the reported race that is reached from x by following first causes. It is
// x itself if that is not an artifact or its cause is not reported.
func root(races map[string]*Race, x *Race) *Race {
	for range races {
		if x.Artifact == nil {
			break
		}
		next := races[x.Artifact.Of[0]]
		if next == nil {
			break
		}
		x = next
	}
	return x
}

// folded reports whether a race is an artifact of another race in the report.
func folded(races map[string]*Race, x *Race) bool { return root(races, x) != x }

// Artifacts returns the number of artifacts among Races, and of those that were hidden.
func (r *Report) Artifacts() int {
	n := r.Hidden
	for i := range r.Races {
		if r.Races[i].Artifact != nil {
			n++
		}
	}
	return n
}

// unexplained are the reasons why it is not known whether races are artifacts, each with
// its races, in order of the first race.
func (r *Report) unexplained() (reasons []string, races map[string][]string) {
	races = map[string][]string{}
	for i := range r.Races {
		if x := &r.Races[i]; x.Unexplained != "" {
			if races[x.Unexplained] == nil {
				reasons = append(reasons, x.Unexplained)
			}
			races[x.Unexplained] = append(races[x.Unexplained], x.ID)
		}
	}
	return reasons, races
}

// unexplained says which races may be artifacts, and why that is not known.
func (t *text) unexplained() {
	reasons, races := t.rep.unexplained()
	for _, why := range reasons {
		list := races[why]
		t.printf("hindsight: %s: %s\n", numtext.Count(uint64(len(list)), "race may be an artifact", "races may be artifacts"), why)
		t.printf("  (%s)\n", t.fit(idList(list), 4))
	}
}

// idList returns a list of the IDs of races, shortened if they are many.
func idList(ids []string) string {
	const most = 12
	if len(ids) > most+1 {
		return strings.Join(ids[:most], ", ") + fmt.Sprintf(" and %d more", len(ids)-most)
	}
	return strings.Join(ids, ", ")
}

// reported returns the races with these fingerprints that are in the report.
func reported(races map[string]*Race, prints []string) (ids []string) {
	for _, f := range prints {
		if x := races[f]; x != nil {
			ids = append(ids, x.ID)
		}
	}
	return ids
}

// repair says what correcting the cause of an artifact does.
func (a *Artifact) repair() string {
	switch a.By {
	case artifact.ByOrder:
		return "ordered then"
	case artifact.ByAddress:
		return "another element then; unordered still if it is the same"
	case artifact.ByEventControl:
		return "may be unordered still"
	}
	return ""
}

// HideArtifacts removes the artifacts whose causes are reported from Races, and stores
// their number in Hidden. The others keep their IDs.
func (r *Report) HideArtifacts() {
	races := r.byFingerprint()
	hide := map[string]bool{}
	for i := range r.Races {
		hide[r.Races[i].Fingerprint] = folded(races, &r.Races[i])
	}
	r.Races = slices.DeleteFunc(slices.Clone(r.Races), func(x Race) bool { return hide[x.Fingerprint] })
	r.Hidden += len(hide) - len(r.Races)
	r.number()
}

// jsonLink is a link of a chain in the JSON form.
type jsonLink struct {
	What     string            `json:"what"`
	Thread   uint32            `json:"thread"`
	Function string            `json:"function"`
	File     string            `json:"file"`
	Line     int               `json:"line"`
	PC       jsonform.Address  `json:"pc"`
	Address  *jsonform.Address `json:"address,omitempty"`
	Size     uint64            `json:"size,omitempty"`
	Name     string            `json:"name,omitempty"`
}

// artifactJSON sets what the JSON form says about artifacts.
func (r *Race) artifactJSON(out *jsonRace, races map[string]*Race) {
	out.ArtifactUnknown = r.Unexplained
	out.AlsoBehind, out.EventControlledBy = reported(races, r.Behind), reported(races, r.Controlled)
	if r.Artifact == nil {
		return
	}
	out.ArtifactOf, out.Causes = append(out.ArtifactOf, reported(races, r.Artifact.Of)...), r.Artifact.Of
	out.ArtifactBy, out.Checked = r.Artifact.By.String(), r.Artifact.Checked
	out.Together, out.Repair = r.Artifact.Together, r.Artifact.repair()
	for _, l := range r.Artifact.Chain {
		j := jsonLink{What: l.Kind.String(), Thread: uint32(l.Thread), Function: l.Frame.Function, File: l.Frame.File,
			Line: l.Frame.Line, PC: jsonform.Address(l.Frame.PC), Size: l.Size, Name: l.Name}
		if l.Address != 0 {
			a := jsonform.Address(l.Address)
			j.Address = &a
		}
		out.Chain = append(out.Chain, j)
	}
}

// foldedInto returns the groups whose races are artifacts of a race of group g.
func (t *text) foldedInto(g *groupOf) (list []*groupOf) {
	for i := range t.groups {
		if h := &t.groups[i]; h.under == g.lead.ID {
			list = append(list, h)
		}
	}
	return list
}

// fold determines for each group the group under which it is folded. If all of its races
// are artifacts, that is the group of their cause.
func (t *text) fold() {
	races := t.races
	under := map[string]string{}
	for i := range t.rep.Races {
		x := &t.rep.Races[i]
		cause := root(races, x).Group
		if before, seen := under[x.Group]; seen && before != cause || cause == x.Group {
			cause = ""
		}
		under[x.Group] = cause
	}
	for i := range t.groups {
		t.groups[i].under = under[t.groups[i].lead.ID]
	}
	// A group of causes may itself be folded. Its artifacts are then folded where it is.
	for i := range t.groups {
		g := &t.groups[i]
		for range t.groups {
			next := under[g.under]
			if g.under == "" || next == "" {
				break
			}
			g.under = next
		}
		if g.under == g.lead.ID {
			g.under = ""
		}
	}
}

// artifacts lists the groups that are folded under g.
func (t *text) artifacts(g *groupOf) {
	list := t.foldedInto(g)
	if len(list) == 0 {
		return
	}
	verb, pairs := "races are artifacts", uint64(0)
	for _, h := range list {
		pairs += h.pairs
	}
	if pairs == 1 {
		verb = "race is an artifact"
	}
	t.printf("  %s\n", t.emphasis(35, fmt.Sprintf("%s %s of this one:", numtext.Grouped(pairs), verb)))
	for _, h := range list {
		a := h.lead.Artifact
		times := ""
		if h.dynamic > 1 {
			times = fmt.Sprintf(", %s times", numtext.Grouped(h.dynamic))
		}
		t.printf("    %s%s\n      by %s: %s%s\n", between(h.lead), times, a.By, t.withOthers(a, g.lead.ID), a.repair())
	}
	t.printf("\n")
}

// withOthers says which further causes an artifact has, in addition to the one under
// which it is shown.
func (t *text) withOthers(a *Artifact, shown string) string {
	causes := reported(t.races, a.Of)
	if !slices.Contains(causes, shown) { // it is an artifact of a race of that group
		if len(causes) == 0 {
			return ""
		}
		return "of " + idList(causes) + ", "
	}
	others := slices.DeleteFunc(causes, func(id string) bool { return id == shown })
	switch {
	case len(others) == 0:
		return ""
	case a.Together:
		return "together with " + idList(others) + ", "
	}
	return "of " + idList(others) + " as well, "
}

// behind says which races decided whether a race's code ran.
func (t *text) behind(r *Race) {
	if r.Artifact != nil || len(r.Behind) == 0 {
		return
	}
	for _, f := range r.Behind {
		if c := t.races[f]; c != nil {
			t.printf("  %s\n    %s\n\n", t.emphasis(35, fmt.Sprintf("Also behind %s, whose value decided that this ran:", c.ID)), between(c))
		}
	}
}

// between describes a race in a line.
func between(r *Race) string {
	a, b := &r.Accesses[0], &r.Accesses[1]
	s := fmt.Sprintf("%s at %s and %s at %s", a.Op, lineOf(a.Top), b.Op, lineOf(b.Top))
	if l := &r.Location; l.Kind == "heap" {
		s += " of a heap block"
	} else if name := cmp.Or(l.Path, l.Name); name != "" {
		s += " of " + name
	}
	return s
}

// explanation says what caused an artifact that is listed by itself.
func (t *text) explanation(r *Race) {
	if r.Artifact == nil {
		return
	}
	cause := "a race that is not reported"
	if c := t.races[r.Artifact.Of[0]]; c != nil {
		cause = "the race of " + between(c)
	}
	t.printf("  %s\n", t.emphasis(35, fmt.Sprintf("Artifact, by %s, of %s:", r.Artifact.By, cause)))
	id := ""
	if c := t.races[r.Artifact.Of[0]]; c != nil {
		id = c.ID
	}
	t.printf("    (%s%s)\n", t.withOthers(r.Artifact, id), r.Artifact.repair())
	n := 0
	for l := range r.Artifact.steps() {
		head := fmt.Sprintf("    #%d %s", n, stepText[l.Kind])
		if l.Address != 0 {
			head += fmt.Sprintf(" of size %d at 0x%x", l.Size, l.Address)
		}
		if l.Name != "" {
			head += " (" + t.fit(l.Name, 70) + ")"
		}
		t.printf("%s by %s in %s %s\n", head, threadName(l.Thread), t.fit(function(l.Frame), 80), lineOf(l.Frame))
		n++
	}
	if r.Artifact.Checked < r.Dynamic {
		t.printf("    (%s of %s instances were looked at)\n", numtext.Grouped(r.Artifact.Checked), numtext.Grouped(r.Dynamic))
	}
	t.printf("\n")
}

// steps returns the links of the chain, with those that compute on one line of source as
// one.
func (a *Artifact) steps() iter.Seq[*Link] {
	return func(yield func(*Link) bool) {
		for i := range a.Chain {
			l := &a.Chain[i]
			if i+1 < len(a.Chain) && l.Kind == artifact.Compute && a.Chain[i+1].Kind == artifact.Compute &&
				l.Frame.Line == a.Chain[i+1].Frame.Line && l.Frame.Path == a.Chain[i+1].Frame.Path {
				continue
			}
			if !yield(l) {
				return
			}
		}
	}
}

// what describes the operation of a link.
func (l *Link) what() string {
	s := stepText[l.Kind]
	if l.Address != 0 {
		s += fmt.Sprintf(" of %s at 0x%x", numtext.Plural(l.Size, "byte"), l.Address)
	}
	if l.Name != "" {
		s += " (" + l.Name + ")"
	}
	return s + " by " + threadName(l.Thread)
}

var stepText = [...]string{"racy write", "racy read", "computation", "load", "store", "branch", "call", "access"}
