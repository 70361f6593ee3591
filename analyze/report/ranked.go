package report

// Ranked is a group of races, which are those between the same two lines of source about
// one variable, with the texts that reports have for it.
type Ranked struct {
	Lead    *Race  // the first race, whose ID names the group
	Pairs   uint64 // static pairs in the group
	Dynamic uint64 // dynamic pairs of all its races
	Under   string // ID of the group whose artifacts they are, or "" if they are listed by themselves
	Object  string // what the group is about; the same for all groups about one object
	What    string // describes the memory in a few words
	Where   string // describes the two lines and their operations, the earlier access first
	Impact  string // what the value reached, or "" if not known
	Same    bool   // the values written make no difference
}

// Ranked returns the groups of the report in the order of [Report.WriteBrief]. The groups
// of a group's artifacts follow it.
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

// The following methods describe an access, for reports in other forms than text.

// Verb returns what the access does, such as read or atomic write.
func (a *Access) Verb() string { return a.verb() }

// Actor says which thread, task or goroutine made the access.
func (r *Report) Actor(a *Access) string { return (&text{rep: r, run: r}).actor(a) }

// Name returns the name of the task, such as task 3 or goroutine 8.
func (t *Task) Name() string { return t.name() }

// What describes the operation of a link in a chain.
func (l *Link) What() string { return l.what() }

// Steps returns the links of the chain, with those that compute on one line of source as
// one.
func (a *Artifact) Steps() []Link {
	var list []Link
	for l := range a.steps() {
		list = append(list, *l)
	}
	return list
}

// Repair says what correcting the cause of the artifact does.
func (a *Artifact) Repair() string { return a.repair() }

// OwnFile reports whether a source file is the user's, and not part of a compiler or a
// library.
func OwnFile(path string) bool { return path != "" && !installed.MatchString(clean(path)) }
