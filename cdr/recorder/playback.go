package recorder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"sort"

	"hindsight/cdr/format"
	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
	"hindsight/wpp/cfg"
)

// Playback rebuilds control strings from flow blocks. It adds paths to the
// trace's tables as it meets them.
type Playback struct {
	shell format.Shell
	Tab   *format.Tables
	rec   *Recorder         // only its paths are used
	code  map[uint64]uint32 // code blocks by their names in flows
	known int               // blocks of the tables that are already in code
}

// maxPlayed bounds the symbols of a grammar that is built from a flow.
const maxPlayed = 8 * format.MaxSymbols

// NewPlayback plays back the flows of the trace whose tables are tab.
func NewPlayback(meta *format.Meta, program format.Program, tab *format.Tables) (*Playback, error) {
	if tab.Paths() != 0 {
		return nil, fmt.Errorf("paths in the tables beside flow blocks: %w", tracefmt.ErrMalformed)
	}
	rec := &Recorder{opts: Options{Meta: *meta, Budget: math.MaxUint64}, paths: newPaths(meta.Alphabet, program)}
	return &Playback{shell: format.Shell{Program: program}, Tab: tab, rec: rec, code: map[uint64]uint32{}}, nil
}

// Block returns the block of the tables that a name in a flow stands for.
func (p *Playback) Block(name uint64) (id uint32, ok bool) {
	id, ok = p.code[name]
	return id, ok
}

// learn adds the blocks that are new in the tables.
func (p *Playback) learn() {
	paths := p.rec.paths
	for ; p.known < len(p.Tab.Blocks); p.known++ {
		id, row := uint32(p.known), &p.Tab.Blocks[p.known]
		c := codeBlock{CodeRow: format.CodeRow{PC: row.PC, Next: row.Next(), Bytes: row.Bytes, Insts: row.Insts, Sites: p.Tab.BlockSites(row), End: row.End}}
		if ref, ok := p.basicBlock(&c); ok {
			if _, twice := paths.static[ref]; !twice {
				c.static, c.ref = paths.program.Block(ref), ref
				paths.static[ref] = id
			}
		}
		paths.codes = append(paths.codes, c)
		paths.sims = append(paths.sims, simBlock{step: paths.steps.Add(paths.stepBlock(id)), ends: paths.endsPath(c.End),
			blocks: 1, pc: c.PC, next: c.Next, end: c.End, insts: c.Insts})
		p.code[paths.name(id)] = id
	}
}

// basicBlock finds the block of the program that c is.
func (p *Playback) basicBlock(c *codeBlock) (cfg.Ref, bool) {
	ref, ok := p.shell.Program.At(c.PC)
	if !ok {
		return ref, false
	}
	b, sites := p.shell.Program.Block(ref), p.shell.Program.Sites(ref)
	if b.Bytes != c.Bytes || b.Insts != c.Insts || b.End != c.End || len(sites) != len(c.Sites) {
		return ref, false
	}
	for i, s := range sites {
		if format.Site(s) != p.Tab.Sites[c.Sites[i]] {
			return ref, false
		}
	}
	return ref, true
}

// ErrOtherFlow says that a flow does not fit the program.
var ErrOtherFlow = fmt.Errorf("the control flow does not follow the program: %w", tracefmt.ErrMalformed)

// Control plays a flow block back and returns the control string. It must agree with the
// counts c of the commit block.
func (p *Playback) Control(payload []byte, c *format.Counts) (*format.ControlString, error) {
	f, err := format.DecodeFlow(payload)
	if err != nil {
		return nil, err
	}
	p.learn()
	shell := &format.FlowShell{Shell: p.shell, Codes: p.rec.paths.codeEnd, Marks: f.Marks}
	if c.Blocks > format.MaxFlowBlocks+format.MaxTableRows {
		return nil, fmt.Errorf("flow: %w", tracefmt.ErrTooLarge)
	}
	d, err := app.NewDecoder(bytes.NewReader(f.Stream), shell)
	if err != nil {
		return nil, fmt.Errorf("flow: %w", err)
	}
	t := &threadRec{rec: p.rec, pending: f.Pending}
	t.stack.Frames = f.Stack
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
		if format.IsMark(name) {
			i := name >> format.NameBits
			marks++
			if i >= uint64(len(f.Marks)) || marks > c.Events+format.MaxFlowBlocks {
				return nil, fmt.Errorf("flow: mark: %w", tracefmt.ErrMalformed)
			}
			t.play(f.Marks[i])
		} else {
			id, ok := p.code[name]
			blocks++
			if !ok || blocks > c.Blocks {
				return nil, fmt.Errorf("flow: %w", ErrOtherFlow)
			}
			t.step(id)
		}
		if t.control.Symbols() > maxPlayed || len(t.terms.terms) > format.MaxTerms {
			return nil, fmt.Errorf("flow: %w", tracefmt.ErrTooLarge)
		}
	}
	t.endPath()
	p.rec.feed.drain()
	p.namePaths()
	return &format.ControlString{Base: base, Terms: t.terms.terms, Grammar: t.control.Grammar()}, nil
}

// Decoder returns a decoder at the last checkpoint that is not after block from, and the
// number of blocks before it.
func (p *Playback) Decoder(payload []byte, from uint64) (d *app.Decoder, skipped uint64, err error) {
	f, err := format.DecodeFlow(payload)
	if err != nil {
		return nil, 0, err
	}
	p.learn()
	shell := &format.FlowShell{Shell: p.shell, Codes: p.rec.paths.codeEnd, Marks: f.Marks}
	in := bytes.NewReader(f.Stream)
	at := sort.Search(len(f.Points), func(i int) bool { return f.Points[i] > from }) - 1
	if at < 0 {
		d, err = app.NewDecoder(in, shell)
		return d, 0, err
	}
	list, err := app.Checkpoints(in, in.Size())
	if err == nil && len(list) != len(f.Points) {
		err = fmt.Errorf("flow: checkpoints: %w", tracefmt.ErrMalformed)
	}
	if err == nil {
		d, err = app.NewDecoderAt(in, in.Size(), shell, list[at])
	}
	return d, f.Points[at], err
}

// play applies a mark to the call stack.
func (t *threadRec) play(m format.Mark) {
	t.endPath()
	switch m.Kind {
	case format.MarkUnwound:
		t.unwound(m.A)
	case format.MarkRewound:
		t.rewound(m.A)
	case format.MarkPop:
		t.settled()
		if m.A == 0 {
			break
		}
		t.append(format.Term{Kind: format.TermPop, A: m.A})
		t.stack.Frames = t.stack.Frames[:len(t.stack.Frames)-int(min(m.A, uint64(len(t.stack.Frames))))]
	case format.MarkPush:
		t.settled()
		t.rewound(m.A)
	default:
		e := event.Event{PC: m.A, Kind: event.Kind(m.B >> 1)}
		if m.Returns() {
			e.Mode = event.Returns
		}
		t.syncPoint(&e)
	}
}

// settled completes a pending return.
func (t *threadRec) settled() {
	t.stack.Frames, t.pending = t.frames(), false
}

// namePaths adds the paths that were met to the trace's tables.
func (p *Playback) namePaths() {
	paths, tab := p.rec.paths, p.Tab
	for _, n := range paths.lengths {
		tab.PathOff = append(tab.PathOff, tab.PathOff[len(tab.PathOff)-1]+n)
	}
	tab.Path = append(tab.Path, paths.rows...)
	paths.rows, paths.lengths = paths.rows[:0], paths.lengths[:0]
}
