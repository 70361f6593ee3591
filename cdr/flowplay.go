package cdr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// playback makes control strings of flow blocks again. It names paths in the
// trace's tables as it meets them.
type playback struct {
	shell Shell
	tab   *tables
	rec   *Recorder         // its paths, and nothing else of it
	code  map[uint64]uint32 // code blocks by their names in flows
	known int               // blocks of the tables that are in code
}

// maxPlayed bounds the symbols of a grammar that is built from a flow.
const maxPlayed = 8 * maxSymbols

// player returns the trace's playback; the first time it analyses the program.
func (t *Trace) player() (*playback, error) {
	if t.play != nil {
		return t.play, nil
	}
	program, err := t.program()
	if err != nil {
		return nil, fmt.Errorf("the program whose control flow is to be played back: %w", err)
	}
	if t.tab.paths() != 0 {
		return nil, fmt.Errorf("paths in the tables beside flow blocks: %w", tracefmt.ErrMalformed)
	}
	rec := &Recorder{opts: Options{Meta: t.meta, Budget: math.MaxUint64}, paths: newPaths(t.meta.Alphabet, program)}
	t.play = &playback{shell: Shell{program}, tab: t.tab, rec: rec, code: map[uint64]uint32{}}
	return t.play, nil
}

// program analyses the control flow of the program.
func (t *Trace) program() (Program, error) {
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

// learn takes up the blocks that the tables have.
func (p *playback) learn() {
	paths := p.rec.paths
	for ; p.known < len(p.tab.blocks); p.known++ {
		id, row := uint32(p.known), &p.tab.blocks[p.known]
		c := codeBlock{pc: row.pc, next: row.next(), bytes: row.bytes, insts: row.insts, sites: p.tab.blockSites(row), end: row.end}
		if ref, ok := p.basicBlock(&c); ok {
			if _, twice := paths.static[ref]; !twice {
				c.static, c.ref = paths.program.Block(ref), ref
				paths.static[ref] = id
			}
		}
		s := simBlock{first: id, last: id, blocks: 1, pc: c.pc, next: c.next, end: c.end, insts: c.insts}
		s.edges[0].to, s.edges[1].to = noBlock, noBlock
		s.ends = paths.endsPath(c.end)
		paths.codes, paths.sims = append(paths.codes, c), append(paths.sims, s)
		p.code[paths.name(id)] = id
	}
}

// basicBlock finds the block of the program that a block of the tables is.
func (p *playback) basicBlock(c *codeBlock) (cfg.Ref, bool) {
	ref, ok := p.shell.Program.At(c.pc)
	if !ok {
		return ref, false
	}
	b, sites := p.shell.Program.Block(ref), p.shell.Program.Sites(ref)
	if b.Bytes != c.bytes || b.Insts != c.insts || b.End != c.end || len(sites) != len(c.sites) {
		return ref, false
	}
	for i, s := range sites {
		if Site(s) != p.tab.sites[c.sites[i]] {
			return ref, false
		}
	}
	return ref, true
}

// errOtherFlow says what is wrong when a flow cannot be followed.
var errOtherFlow = fmt.Errorf("the control flow leads elsewhere than the program: %w", tracefmt.ErrMalformed)

// control plays a flow block back. c says what it has to come to.
func (p *playback) control(payload []byte, c *counts) (*control, error) {
	f, err := decodeFlow(payload)
	if err != nil {
		return nil, err
	}
	p.learn()
	shell := &flowShell{Shell: p.shell, codes: p.rec.paths.codeEnd, marks: f.marks}
	if c.blocks > maxFlowBlocks+maxTableRows {
		return nil, fmt.Errorf("flow: %w", tracefmt.ErrTooLarge)
	}
	d, err := app.NewDecoder(bytes.NewReader(f.stream), shell)
	if err != nil {
		return nil, fmt.Errorf("flow: %w", err)
	}
	t := &threadRec{rec: p.rec, pending: f.pending}
	t.stack.Frames = f.stack
	base := append([]uint64(nil), t.frames()...)
	blocks, marks := uint64(0), uint64(0)
	for {
		name, err := d.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("flow: %w: %w", tracefmt.ErrMalformed, err)
		}
		if name&nameKinds == markName {
			i := name >> nameBits
			marks++
			if i >= uint64(len(f.marks)) || marks > c.events+maxFlowBlocks {
				return nil, fmt.Errorf("flow: mark: %w", tracefmt.ErrMalformed)
			}
			t.play(f.marks[i])
		} else {
			id, ok := p.code[name]
			blocks++
			if !ok || blocks > c.blocks {
				return nil, fmt.Errorf("flow: %w", errOtherFlow)
			}
			t.step(id)
		}
		if t.control.Symbols() > maxPlayed || len(t.terms) > maxTerms {
			return nil, fmt.Errorf("flow: %w", tracefmt.ErrTooLarge)
		}
	}
	t.endPath()
	p.namePaths()
	return &control{base: base, terms: t.terms, g: t.control.Grammar()}, nil
}

// playBlocks returns the blocks of a flow from the last checkpoint that is not
// after the from-th block on, and says how many it passed over.
func (t *Trace) playBlocks(epoch int, c *counts, from uint64, passed func(uint64), yield func(uint64, error) bool) bool {
	fail := func(err error) bool {
		yield(0, err)
		return false
	}
	p, err := t.player()
	if err != nil {
		return fail(err)
	}
	h, ok := t.blocks[blockKey{tracefmt.KindFlow, uint32(epoch), c.thread}]
	if !ok {
		return fail(fmt.Errorf("thread %d has no flow block in epoch %d: %w", c.thread, epoch, tracefmt.ErrMalformed))
	}
	payload, err := t.r.Read(h)
	if err != nil {
		return fail(err)
	}
	d, skipped, err := p.decoder(payload, from)
	if err != nil {
		return fail(corrupt(h, err))
	}
	passed(skipped)
	for n := skipped; ; {
		name, err := d.Next()
		if errors.Is(err, io.EOF) {
			if n != c.blocks {
				return fail(corrupt(h, errOtherFlow))
			}
			return true
		}
		if err != nil {
			return fail(corrupt(h, fmt.Errorf("flow: %w: %w", tracefmt.ErrMalformed, err)))
		}
		if name&nameKinds == markName {
			continue
		}
		id, ok := p.code[name]
		n++
		if !ok || n > c.blocks {
			return fail(corrupt(h, errOtherFlow))
		}
		if !yield(p.tab.blocks[id].pc, nil) {
			return false
		}
	}
}

// decoder starts at the last checkpoint that is not after the from-th block.
func (p *playback) decoder(payload []byte, from uint64) (d *app.Decoder, skipped uint64, err error) {
	f, err := decodeFlow(payload)
	if err != nil {
		return nil, 0, err
	}
	p.learn()
	shell := &flowShell{Shell: p.shell, codes: p.rec.paths.codeEnd, marks: f.marks}
	in := bytes.NewReader(f.stream)
	at := sort.Search(len(f.points), func(i int) bool { return f.points[i] > from }) - 1
	if at < 0 {
		d, err = app.NewDecoder(in, shell)
		return d, 0, err
	}
	list, err := app.Checkpoints(in, in.Size())
	if err == nil && len(list) != len(f.points) {
		err = fmt.Errorf("flow: checkpoints: %w", tracefmt.ErrMalformed)
	}
	if err == nil {
		d, err = app.NewDecoderAt(in, in.Size(), shell, list[at])
	}
	return d, f.points[at], err
}

// play takes up a mark.
func (t *threadRec) play(m mark) {
	t.endPath()
	switch m.kind {
	case markUnwound:
		t.unwound(m.a)
	case markRewound:
		t.rewound(m.a)
	case markPop:
		t.settled()
		if m.a == 0 {
			break
		}
		t.append(term{kind: termPop, a: m.a})
		t.stack.Frames = t.stack.Frames[:len(t.stack.Frames)-int(min(m.a, uint64(len(t.stack.Frames))))]
	case markPush:
		t.settled()
		t.rewound(m.a)
	default:
		e := event.Event{PC: m.a, Kind: event.Kind(m.b >> 1)}
		if m.returns() {
			e.Mode = event.Returns
		}
		t.syncPoint(&e)
	}
}

// settled takes a return for done.
func (t *threadRec) settled() {
	t.stack.Frames, t.pending = t.frames(), false
}

// namePaths puts the paths that were met into the trace's tables.
func (p *playback) namePaths() {
	paths, tab := p.rec.paths, p.tab
	for _, n := range paths.lengths {
		tab.pathOff = append(tab.pathOff, tab.pathOff[len(tab.pathOff)-1]+n)
	}
	tab.path = append(tab.path, paths.rows...)
	paths.rows, paths.lengths = paths.rows[:0], paths.lengths[:0]
}
