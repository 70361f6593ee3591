package mpsim

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rewind"
	"hindsight/mpsim/schedule"
)

// Checkpoint is the state of a whole machine between two slices: memory, threads, kernel,
// hooks and scheduler. The machine can return to it any number of times and then continue
// differently. A checkpoint belongs to its machine.
//
// Pages are shared until they are written (package mem). Everything else is saved and
// restored in place (package rewind).
type Checkpoint struct {
	m      *Machine
	memory *mem.Snapshot
	state  *rewind.State
	hooks  map[uint64]int
	stores uint64        // see codeCache
	steps  int           // of the trail
	step   schedule.Step // the last of them, which may grow
	insts  uint64
	copied uint64 // see [mem.Space.Copied]
}

// ErrCheckpoint says that a machine can have no checkpoint where it is.
var ErrCheckpoint = errors.New("mpsim: no checkpoint can be taken here")

// Checkpoint takes a checkpoint of a paused run: [Machine.Advance] has returned, or has not
// been called yet. State of the caller that belongs to the run is saved with it: everything
// reachable from the pointers in and. The error is [ErrCheckpoint] for a run with an
// observer or a journal, and while a thread waits in a system call that is half done. In
// the latter case it may work after another slice.
//
// A machine with checkpoints stays open after [Machine.Finish], until [Machine.Close].
func (m *Machine) Checkpoint(and ...any) (*Checkpoint, error) {
	if m.rec != nil || m.cfg.Journal != nil || m.watch != nil || !m.kernel.Settled() {
		return nil, ErrCheckpoint
	}
	m.kept = true
	c := &Checkpoint{m: m, hooks: maps.Clone(m.code.hooks), stores: m.code.stores, copied: m.space.Copied(), insts: m.Insts(), steps: len(m.trail.steps)}
	if c.steps > 0 {
		c.step = m.trail.steps[c.steps-1]
	}
	c.memory = m.space.Snapshot()
	c.state = rewind.Save(unchanging, append([]any{m}, and...)...)
	return c, nil
}

// Back returns to the checkpoint. From there the run continues as it would have, or as
// [Machine.Follow] says. It must not be called while the machine runs.
func (c *Checkpoint) Back() {
	m := c.m
	code, breaks := m.code, maps.Clone(m.breaks)
	c.state.Restore()
	m.code = code
	m.space.Restore(c.memory)
	if n := len(m.trail.steps); n > 0 {
		// The last step has been extended in place since.
		m.trail.steps = append([]schedule.Step(nil), m.trail.steps...)
		m.trail.steps[n-1] = c.step
	}
	if c.stores != m.code.stores || !maps.Equal(breaks, m.breaks) || !maps.Equal(c.hooks, m.code.hooks) {
		c.stores = m.code.stores
		m.code.hooks = maps.Clone(c.hooks)
		m.flushCode()
	}
	for _, h := range m.harts {
		h.flush()
		h.forgetJumps()
	}
}

// Insts returns how many instructions the run had retired at the checkpoint.
func (c *Checkpoint) Insts() uint64 { return c.insts }

// After returns the part of a schedule after the checkpoint, if the schedule begins as the
// run did up to there. done contains the steps of a run that passed through the checkpoint
// ([Machine.Trail]).
func (c *Checkpoint) After(done []schedule.Step, s *schedule.Schedule) (rest *schedule.Schedule, ok bool) {
	if c.steps == 0 {
		return s, true
	}
	n := c.steps - 1
	if len(s.Steps) <= n || !slices.EqualFunc(done[:n], s.Steps[:n], sameStep) {
		return nil, false
	}
	next := s.Steps[n]
	if next.Kind != c.step.Kind || next.Thread != c.step.Thread || next.Count < c.step.Count || next.Time != c.step.Time {
		return nil, false
	}
	rest = &schedule.Schedule{Name: s.Name, Lenient: s.Lenient}
	if next.Count -= c.step.Count; next.Count > 0 {
		rest.Steps = append(rest.Steps, next)
	}
	rest.Steps = append(rest.Steps, s.Steps[n+1:]...)
	return rest, true
}

// sameStep reports whether two steps are the same request.
func sameStep(a, b schedule.Step) bool {
	return a.Kind == b.Kind && a.Thread == b.Thread && a.Count == b.Count && a.Time == b.Time && a.PC == b.PC
}

// Checkpoints is a list of checkpoints taken during a run. They become sparser when they
// take too much memory.
type Checkpoints struct {
	Every uint64 // minimum number of instructions between them
	list  []*Checkpoint
}

// checkpointMemory is the maximum size of [Checkpoints] in bytes.
const checkpointMemory = 256 << 20

// EveryOf returns a reasonable Checkpoints.Every for a run of insts instructions.
func EveryOf(insts uint64) uint64 {
	const many, least = 64, 100_000
	return max(insts/many, least)
}

// Due reports whether it is time for the next one.
func (l *Checkpoints) Due(m *Machine) bool {
	return len(l.list) == 0 || m.Insts() >= l.list[len(l.list)-1].insts+l.Every
}

// Take takes a checkpoint as [Machine.Checkpoint] does. Where none can be taken, it does
// nothing.
func (l *Checkpoints) Take(m *Machine, and ...any) error {
	c, err := m.Checkpoint(and...)
	if errors.Is(err, ErrCheckpoint) {
		return nil
	}
	if err != nil {
		return err
	}
	l.list = append(l.list, c)
	for len(l.list) > 2 && l.bytes() > checkpointMemory {
		few := l.list[:0:0]
		for i := 0; i < len(l.list); i += 2 {
			few = append(few, l.list[i])
		}
		l.list = few
		l.Every *= 2
	}
	return nil
}

// bytes estimates the memory that they use.
func (l *Checkpoints) bytes() (total uint64) {
	for i, c := range l.list {
		total += c.memory.Bytes() + c.state.Bytes()
		if i > 0 {
			total += c.copied - l.list[i-1].copied
		}
	}
	return total
}

// Last returns the last checkpoint for which is returns true, or nil.
func (l *Checkpoints) Last(is func(*Checkpoint) bool) *Checkpoint {
	for _, c := range slices.Backward(l.list) {
		if is(c) {
			return c
		}
	}
	return nil
}

// UpTo returns the checkpoints up to and including c.
func (l *Checkpoints) UpTo(c *Checkpoint) Checkpoints {
	n := slices.Index(l.list, c) + 1
	return Checkpoints{Every: l.Every, list: l.list[:n:n]}
}

// Close releases what a machine with checkpoints keeps open. The error is from the host's
// files.
func (m *Machine) Close() error { return m.kernel.Close() }

// unchanging reports whether values of a type do not change during a run or are saved in
// another way: code and what is known about it, memory, files of the host, and the steps of
// schedules, which are only appended to.
func unchanging(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[codeCache](), reflect.TypeFor[codePage](), reflect.TypeFor[block](), reflect.TypeFor[Warm](), reflect.TypeFor[knowledge](), reflect.TypeFor[vfs.Contents](), reflect.TypeFor[mem.Space](), reflect.TypeFor[mem.Page](), reflect.TypeFor[schedule.Step]():
		return true
	case reflect.TypeFor[image.Space]():
		return false
	}
	path := t.PkgPath()
	return path == "os" || strings.HasSuffix(path, "/mpsim/image") && t.Name() != "layout" || strings.HasSuffix(path, "/mpsim/intent")
}
