package cdr

import (
	"errors"
	"fmt"
	"io"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
	"hindsight/wpp/cfg"
)

// player returns the trace's playback. The first call analyses the program.
func (t *Trace) player() (*recorder.Playback, error) {
	if t.play != nil {
		return t.play, nil
	}
	program, err := t.program()
	if err != nil {
		return nil, fmt.Errorf("the program whose control flow is to be played back: %w", err)
	}
	t.play, err = recorder.NewPlayback(&t.meta, program, t.tab)
	return t.play, err
}

// program analyses the control flow of the program.
func (t *Trace) program() (format.Program, error) {
	if t.loadProgram != nil {
		elf, err := t.Image()
		if err != nil {
			return nil, err
		}
		return t.loadProgram(elf)
	}
	space, err := t.Space()
	if err != nil {
		return nil, err
	}
	return cfg.New(space), nil
}

// playBlocks returns the blocks of a flow from the last checkpoint that is not after
// block from, and the number of blocks before that checkpoint.
func (t *Trace) playBlocks(epoch int, c *format.Counts, from uint64, passed func(uint64), yield func(uint64, error) bool) bool {
	fail := func(err error) bool {
		yield(0, err)
		return false
	}
	p, err := t.player()
	if err != nil {
		return fail(err)
	}
	h, ok := t.blocks[blockKey{tracefmt.KindFlow, uint32(epoch), c.Thread}]
	if !ok {
		return fail(fmt.Errorf("thread %d has no flow block in epoch %d: %w", c.Thread, epoch, tracefmt.ErrMalformed))
	}
	payload, err := t.r.Read(h)
	if err != nil {
		return fail(err)
	}
	d, skipped, err := p.Decoder(payload, from)
	if err != nil {
		return fail(corrupt(h, err))
	}
	passed(skipped)
	for n := skipped; ; {
		name, err := d.Next()
		if errors.Is(err, io.EOF) {
			if n != c.Blocks {
				return fail(corrupt(h, recorder.ErrOtherFlow))
			}
			return true
		}
		if err != nil {
			return fail(corrupt(h, fmt.Errorf("flow: %w: %w", tracefmt.ErrMalformed, err)))
		}
		if format.IsMark(name) {
			continue
		}
		id, ok := p.Block(name)
		n++
		if !ok || n > c.Blocks {
			return fail(corrupt(h, recorder.ErrOtherFlow))
		}
		if !yield(p.Tab.Blocks[id].PC, nil) {
			return false
		}
	}
}
