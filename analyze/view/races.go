package view

import (
	"fmt"
	"strconv"

	"hindsight/analyze/report"
	"hindsight/tracefmt/numtext"
)

// Races is the answer under the key "races". Frames and stacks that several races share
// are in it once, and the races refer to them by index.
type Races struct {
	RankedBy   string   `json:"rankedBy"`
	Static     int      `json:"static"`  // pairs of instructions
	Dynamic    string   `json:"dynamic"` // dynamic pairs
	Suppressed int      `json:"suppressed"`
	Goroutines bool     `json:"goroutines,omitempty"` // the actors are goroutines, not threads
	Notes      []string `json:"notes,omitempty"`      // what the report does not cover
	Groups     []Group  `json:"groups"`               // ranked; artifacts follow their cause
	Races      []Race   `json:"races"`                // by number
	Mutexes    []Mutex  `json:"mutexes"`
	Threads    []Thread `json:"threads"`
	Files      []string `json:"files"`
	Functions  []string `json:"functions"`
	Frames     []Frame  `json:"frames"`
	Stacks     [][]int  `json:"stacks"` // of frames, innermost first
}

// Group is the races between the same two lines about one variable.
type Group struct {
	ID    string `json:"id"` // of its first race
	Under string `json:"under,omitempty"`
	What  string `json:"what"`
	Where string `json:"where"`
	Often string `json:"often"` // dynamic pairs
	Pairs uint64 `json:"pairs"`
	Same  bool   `json:"same,omitempty"` // the values written make no difference
}

// Frame is a line of a call stack: indexes of the function and file (-1 if unknown), the
// line, the address, and whether it is the user's own.
type Frame struct {
	Function int    `json:"fn"`
	File     int    `json:"file"`
	Line     int    `json:"line"`
	PC       string `json:"pc"`
	Own      bool   `json:"own,omitempty"`
}

// Race is a static pair of accesses that raced.
type Race struct {
	ID          string    `json:"id"`
	Group       string    `json:"group"`
	Fingerprint string    `json:"fingerprint"`
	Dynamic     string    `json:"dynamic"`
	Accesses    [2]Access `json:"accesses"` // the later one first
	Location    Location  `json:"location"`
	Impact      string    `json:"impact,omitempty"`
	Artifact    *Artifact `json:"artifact,omitempty"`
	Unexplained string    `json:"unexplained,omitempty"`
	Behind      []string  `json:"behind,omitempty"` // IDs of races whose value decided that this race's code ran
}

// Access is a side of a race. At and Stack are indexes of a frame and a stack.
type Access struct {
	Thread  uint32 `json:"thread"`
	Actor   string `json:"actor"`
	Verb    string `json:"verb"`
	Size    uint64 `json:"size"`
	Address string `json:"address"`
	At      int    `json:"at"`
	Stack   int    `json:"stack"`
	Locks   []Lock `json:"locks"`
	Task    *Task  `json:"task,omitempty"` // the task in which it was made
}

// Task is an OpenMP task or a goroutine.
type Task struct {
	Name  string `json:"name"`
	Stack int    `json:"stack"` // where it was created
}

// Lock is a lock held at an access.
type Lock struct {
	Name   string `json:"name"`
	Mode   string `json:"mode"`
	Symbol string `json:"symbol,omitempty"`
}

// Location is the memory of a race.
type Location struct {
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Address string `json:"address"`
	Size    uint64 `json:"size,omitempty"`
	Thread  uint32 `json:"thread"`
	Stack   int    `json:"stack"` // where it was allocated, or -1 if unknown
	Freed   int    `json:"freed"` // where it was freed, or -1 if it was not
}

// Artifact says of which races a race is a consequence.
type Artifact struct {
	Of       []string `json:"of"` // IDs
	By       string   `json:"by"`
	Together bool     `json:"together,omitempty"`
	Repair   string   `json:"repair,omitempty"`
	Chain    []Link   `json:"chain"`
}

// Link is a step on the path from a racy value to an artifact.
type Link struct {
	Kind   string `json:"kind"`
	Text   string `json:"text"`
	Thread uint32 `json:"thread"`
	At     int    `json:"at"` // index of a frame
}

// Mutex is a lock that a side of a race held.
type Mutex struct {
	Name    string `json:"name"`
	Symbol  string `json:"symbol,omitempty"`
	Address string `json:"address"`
	How     string `json:"how"` // created, or first locked
	Thread  uint32 `json:"thread"`
	Stack   int    `json:"stack"`
}

// Thread is a thread that took part in a race.
type Thread struct {
	ID       uint32 `json:"id"`
	Finished bool   `json:"finished"`
	Parent   int64  `json:"parent"` // or -1 if none
	Stack    int    `json:"stack"`  // where it was created, or -1 if unknown
}

// interner replaces repeated values by indexes.
type interner struct {
	out       *Races
	files     map[string]int
	functions map[string]int
	frames    map[Frame]int
	stacks    map[string]int
}

func (n *interner) name(index map[string]int, list *[]string, s string) int {
	if s == "" {
		return -1
	}
	i, ok := index[s]
	if !ok {
		i = len(*list)
		index[s] = i
		*list = append(*list, s)
	}
	return i
}

func (n *interner) frame(f *report.Frame) int {
	x := Frame{Function: n.name(n.functions, &n.out.Functions, f.Function), File: n.name(n.files, &n.out.Files, f.Path),
		Line: f.Line, PC: hex(f.PC), Own: f.Own}
	i, ok := n.frames[x]
	if !ok {
		i = len(n.out.Frames)
		n.frames[x] = i
		n.out.Frames = append(n.out.Frames, x)
	}
	return i
}

// stack returns the index of a stack, or -1 for one that is not known.
func (n *interner) stack(list []report.Frame) int {
	if len(list) == 0 {
		return -1
	}
	frames := make([]int, len(list))
	var key []byte
	for i := range list {
		frames[i] = n.frame(&list[i])
		key = strconv.AppendInt(append(key, ' '), int64(frames[i]), 10)
	}
	i, ok := n.stacks[string(key)]
	if !ok {
		i = len(n.out.Stacks)
		n.stacks[string(key)] = i
		n.out.Stacks = append(n.out.Stacks, frames)
	}
	return i
}

// racesOf returns the answer about the races of a report.
func racesOf(rep *report.Report) *Races {
	out := &Races{RankedBy: report.RankedBy, Static: len(rep.Races), Dynamic: numtext.Grouped(rep.Dynamic), Suppressed: len(rep.Suppressed), Goroutines: rep.Goroutines, Notes: rep.Notes(),
		Groups: []Group{}, Races: []Race{}, Mutexes: []Mutex{}, Threads: []Thread{}, Files: []string{}, Functions: []string{}, Frames: []Frame{}, Stacks: [][]int{}}
	n := &interner{out: out, files: map[string]int{}, functions: map[string]int{}, frames: map[Frame]int{}, stacks: map[string]int{}}
	ids := map[string]string{}
	for i := range rep.Races {
		ids[rep.Races[i].Fingerprint] = rep.Races[i].ID
	}
	impacts := map[string]string{}
	for _, g := range rep.Ranked() {
		out.Groups = append(out.Groups, Group{ID: g.Lead.ID, Under: g.Under, What: g.What, Where: g.Where, Often: numtext.Grouped(g.Dynamic), Pairs: g.Pairs, Same: g.Same})
		impacts[g.Lead.ID] = g.Impact
	}
	for i := range rep.Races {
		x := raceOf(rep, &rep.Races[i], n, ids)
		x.Impact = impacts[x.ID]
		out.Races = append(out.Races, x)
	}
	for i := range rep.Mutexes {
		m := &rep.Mutexes[i]
		how := "first locked"
		if m.Created {
			how = "created"
		}
		out.Mutexes = append(out.Mutexes, Mutex{m.Name, m.Symbol, hex(m.Address), how, uint32(m.Thread), n.stack(m.Stack)})
	}
	for id, left := uint32(0), len(rep.Threads); left > 0; id++ {
		th, ok := rep.Threads[threadID(id)]
		if !ok {
			continue
		}
		left--
		x := Thread{ID: id, Finished: th.Finished, Parent: -1, Stack: n.stack(th.Stack)}
		if th.HasParent {
			x.Parent = int64(th.Parent)
		}
		out.Threads = append(out.Threads, x)
	}
	return out
}

func raceOf(rep *report.Report, r *report.Race, n *interner, ids map[string]string) Race {
	l := &r.Location
	name, path := l.Name, l.Path
	if l.Local != nil && l.Local.Name != "" {
		name, path = l.Local.Name, l.Local.Path
	}
	out := Race{ID: r.ID, Group: r.Group, Fingerprint: r.Fingerprint, Dynamic: numtext.Grouped(r.Dynamic), Unexplained: r.Unexplained,
		Location: Location{Kind: l.Kind, Name: name, Path: path, Address: hex(l.Address), Size: l.Size, Thread: uint32(l.Thread), Stack: n.stack(l.Stack), Freed: -1}}
	if l.Freed {
		out.Location.Freed = n.stack(l.FreeStack)
	}
	for i := range r.Accesses {
		a := &r.Accesses[i]
		x := Access{Thread: uint32(a.Thread), Actor: rep.Actor(a), Verb: a.Verb(), Size: a.Size, Address: hex(a.Address),
			At: n.frame(&a.Top), Stack: n.stack(a.Stack), Locks: []Lock{}}
		for _, k := range a.Locks {
			mode := "read"
			if k.Write {
				mode = "write"
			}
			x.Locks = append(x.Locks, Lock{k.Name, mode, k.Symbol})
		}
		if a.Task != nil {
			x.Task = &Task{a.Task.Name(), n.stack(a.Task.Stack)}
		}
		out.Accesses[i] = x
	}
	reported := func(prints []string) (list []string) {
		for _, f := range prints {
			if id := ids[f]; id != "" {
				list = append(list, id)
			}
		}
		return list
	}
	out.Behind = reported(r.Behind)
	if a := r.Artifact; a != nil {
		out.Artifact = &Artifact{Of: append([]string{}, reported(a.Of)...), By: a.By.String(), Together: a.Together, Repair: a.Repair(), Chain: []Link{}}
		for _, s := range a.Steps() {
			out.Artifact.Chain = append(out.Artifact.Chain, Link{s.Kind.String(), s.What(), uint32(s.Thread), n.frame(&s.Frame)})
		}
	}
	return out
}

func hex(n uint64) string { return fmt.Sprintf("0x%x", n) }
