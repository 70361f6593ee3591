package mpsim

import (
	"errors"
	"maps"
	"reflect"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
	"hindsight/mpsim/rewind"
	"hindsight/mpsim/schedule"
)

// Checkpoint is the state of a whole machine between two slices: memory, threads,
// kernel, hooks and scheduler. The machine can go back to it any number of times and
// continue in other ways. It belongs to the machine, which is at one place at a time.
//
// Pages are shared until they are written (package mem). Everything else is saved and
// put back in place (package rewind).
type Checkpoint struct {
	m      *Machine
	memory *mem.Snapshot
	state  *rewind.State
	hooks  map[uint64]int
	stores uint64        // see codeCache
	step   schedule.Step // the last of the trail, which may grow
	copied uint64        // see [mem.Space.Copied]
}

// ErrCheckpoint says that a machine can have no checkpoint where it is.
var ErrCheckpoint = errors.New("mpsim: no checkpoint can be taken here")

// Checkpoint takes a checkpoint of a run that is paused: [Machine.Advance] has returned,
// or was not called yet. What the pointers lead to is saved with it: state of the caller
// that belongs to the run. The error is [ErrCheckpoint] for a run with an observer or a
// journal, and while a thread waits in a system call that is half done. After that
// another slice may help.
//
// A machine with checkpoints stays open after [Machine.Finish], until [Machine.Close].
func (m *Machine) Checkpoint(and ...any) (*Checkpoint, error) {
	if m.rec != nil || m.cfg.Journal != nil || m.watch != nil || !m.kernel.Settled() {
		return nil, ErrCheckpoint
	}
	m.kept = true
	c := &Checkpoint{m: m, hooks: maps.Clone(m.code.hooks), stores: m.code.stores, copied: m.space.Copied()}
	if n := len(m.trail.steps); n > 0 {
		c.step = m.trail.steps[n-1]
	}
	c.memory = m.space.Snapshot()
	c.state = rewind.Save(unchanging, append([]any{m}, and...)...)
	return c, nil
}

// Back goes back to the checkpoint. The run continues from there as it would have, or
// as [Machine.Follow] says. It must not be called while the machine runs.
func (c *Checkpoint) Back() {
	m := c.m
	code, breaks := m.code, maps.Clone(m.breaks)
	c.state.Restore()
	m.code = code
	m.space.Restore(c.memory)
	if n := len(m.trail.steps); n > 0 {
		// The steps have grown since, in place.
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

// Bytes is about what the checkpoint costs besides pages of memory.
func (c *Checkpoint) Bytes() uint64 { return c.memory.Bytes() + c.state.Bytes() }

// PagesSince is about how many bytes of pages this checkpoint has that an earlier one
// of the same stretch has not.
func (c *Checkpoint) PagesSince(earlier *Checkpoint) uint64 { return c.copied - earlier.copied }

// Close releases what a machine with checkpoints has open. The error is that of the
// host's files.
func (m *Machine) Close() error { return m.kernel.Close() }

// unchanging reports whether values of a type do not change during a run, or are saved
// in another way: code and what is known of it, memory, files of the host, and the
// steps of schedules, which are only appended to.
func unchanging(t reflect.Type) bool {
	switch t {
	case reflect.TypeFor[codeCache](), reflect.TypeFor[codePage](), reflect.TypeFor[block](), reflect.TypeFor[mem.Space](), reflect.TypeFor[mem.Page](), reflect.TypeFor[schedule.Step]():
		return true
	case reflect.TypeFor[image.Space]():
		return false
	}
	path := t.PkgPath()
	return path == "os" || strings.HasSuffix(path, "/mpsim/image") && t.Name() != "layout" || strings.HasSuffix(path, "/mpsim/intent")
}
