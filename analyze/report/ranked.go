package report

// Ranked is a group of races, those between the same two lines of source about
// one variable, with the words that reports have for it.
type Ranked struct {
	Lead    *Race  // the first; the group is named by its ID
	Pairs   uint64 // static pairs in the group
	Dynamic uint64 // dynamic pairs of all of them
	Under   string // ID of the group whose artifacts they are, "" if they are shown by themselves
	Object  string // what the group is about, the same in all groups about one object
	What    string // the memory in a few words
	Where   string // the two lines and what they do, the earlier access first
	Impact  string // what the value reached, "" if that is not known
	Same    bool   // the values written make no difference
}

// Ranked is the groups of the report in the order of [Report.WriteBrief]; the
// groups of a group's artifacts follow it.
func (r *Report) Ranked() []Ranked {
	t := newText(r, TextOptions{})
	folded := map[string][]*groupOf{}
	for i := range t.groups {
		if g := &t.groups[i]; g.under != "" {
			folded[g.under] = append(folded[g.under], g)
		}
	}
	var list []Ranked
	add := func(g *groupOf) {
		l := &g.lead.Location
		x := Ranked{Lead: g.lead, Pairs: g.pairs, Dynamic: g.dynamic, Under: g.under, Object: l.object(),
			What: l.Words(), Where: g.where(), Same: g.same == g.pairs}
		if m := g.lead.impact; m != nil {
			x.Impact = impactText(m)
		}
		list = append(list, x)
	}
	for _, g := range t.shown {
		add(g)
		for _, h := range folded[g.lead.ID] {
			add(h)
		}
	}
	return list
}

// Words of an access, for reports of other forms than text.

// Verb says what the access does: read, atomic write, and the like.
func (a *Access) Verb() string { return a.verb() }

// Actor names who made the access: a thread, a task or a goroutine.
func (r *Report) Actor(a *Access) string { return (&text{rep: r, run: r}).actor(a) }

// Name names the task: task 3, or goroutine 8.
func (t *Task) Name() string { return t.name() }

// What says in words what a link of a chain does.
func (l *Link) What() string { return l.what() }

// Steps are the links of the chain, those that compute on one line of source as
// one.
func (a *Artifact) Steps() []Link {
	var list []Link
	for l := range a.steps() {
		list = append(list, *l)
	}
	return list
}

// Repair says what repairing the cause of the artifact does.
func (a *Artifact) Repair() string { return a.repair() }

// OwnFile reports whether a source file is the user's, and not one that came with
// a compiler or a library.
func OwnFile(path string) bool { return path != "" && !installed.MatchString(clean(path)) }
