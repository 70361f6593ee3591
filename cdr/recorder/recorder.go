package recorder

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"hindsight/cdr/format"
	"hindsight/cdr/synclog"
	"hindsight/tracefmt"
	"hindsight/tracefmt/app"
	"hindsight/tracefmt/event"
)

const (
	// DefaultBudget is the memory of the grammars of one epoch, in bytes.
	DefaultBudget = 64 << 20
	// DefaultInsts is the number of instructions after which an epoch is closed even
	// if it takes little memory, so that a recording that is killed loses only some
	// seconds of the run.
	DefaultInsts = 128 << 20

	minBudget = 4 << 10
	maxBudget = 64 << 20 // keeps every block of an epoch within the reader's limits

	// pathBudget bounds the names of paths, which outlive epochs.
	pathBudget = 32 << 20
)

// Options of a [Recorder]. The zero value records CDR over paths, keeping all
// accesses.
type Options struct {
	// Meta describes the run. Mode and Alphabet choose what is recorded;
	// empty means ModeCDR and AlphabetPath.
	Meta format.Meta
	// Program is the program's control flow: its basic blocks become the blocks
	// of the trace, and paths run along its edges. With nil, the simulator's
	// blocks are the trace's, and every block is a path.
	Program format.Program
	// Image is the program's ELF file, carried in the trace. It may be nil.
	Image []byte
	// Packed is Image in compressed form, and takes precedence over it. It saves time
	// when many runs of one program are recorded.
	Packed PackedImage
	// Store, if not nil, holds the executable and the shared objects in place of the
	// trace.
	Store *format.ImageStore
	// Objects, if not nil, holds compressed shared objects for several recorders.
	Objects *PackedObjects
	// Budget is the memory in bytes at which an epoch is closed. 0 means [DefaultBudget];
	// other values are clamped to the range of 4 KiB to 64 MiB.
	Budget uint64
	// Insts is the number of instructions, of all threads, after which an epoch is
	// closed in any case. 0 means [DefaultInsts].
	Insts uint64
	// Flow is the options of arithmetic program paths, for Meta.Control = ControlAPP,
	// which needs a Program and an Image. Functions must be nil.
	Flow app.Options
	// Chosen, if not nil, selects the blocks whose control flow is recorded, by the
	// address of their first instruction. Instructions and accesses of the other blocks
	// are not counted. Events and call stacks stay complete. It needs ControlAPP and
	// ModeCOR.
	Chosen func(pc uint64) bool
	// Keep reports whether the accesses to an 8-byte granule (address / 8) are
	// recorded. An access to two granules is recorded when either is. nil
	// records all. See [Scout].
	Keep func(granule uint64) bool
	// PathBlocks bounds the blocks of all paths in the tables. Beyond it, paths are
	// written block by block. 0 means as many as the format can hold.
	PathBlocks int
	// NoSchedule omits the order of the accesses between two events. Only mode CDR
	// records that order.
	NoSchedule bool
	// Plain leaves blocks uncompressed; tracefmt.Compress compresses them later.
	Plain bool
	// Extra, if not nil, returns blocks to add to the trace: to each epoch just
	// before it is closed and, with end, after the last one.
	Extra func(end bool) []format.Extra
	// Committed, if not nil, is called after each epoch is written. From then on that
	// epoch can be read, whatever happens to the recording.
	Committed func() error
}

// Recorder is the [event.Observer] that writes a CDR, COR or DOR trace.
//
// It holds the open epoch in memory and nothing of earlier ones, except for
// tables that grow with the program and not with the run.
type Recorder struct {
	w    *tracefmt.Writer
	opts Options

	paths    *paths
	sites    []format.Site
	siteIDs  map[format.Site]format.SiteID
	siteRows int // sites of all blocks
	objects  uint32
	threads  []*threadRec // nil: nothing happened, or the thread ended in an earlier epoch
	executed []uint64     // instructions of each thread in the run, by the counts of the batches
	slab     []stream     // streams that are not in use yet
	feed     feed
	sync     synclog.Recorder
	schedule scheduleRec

	mem      uint64 // estimate of the memory of the open epoch
	insts    uint64 // of the batches of the open epoch
	due      bool   // a bound is exceeded: close the epoch after this block
	finished bool
	err      error
}

// imagePart is the size in bytes of the part of an image that a block holds.
const imagePart = format.MaxPayload / 2

// PackedImage is a program's ELF file, compressed for [Options]. It may be used
// by several recorders at once.
type PackedImage []*tracefmt.Packed

// PackImage compresses an ELF file as a recorder does.
func PackImage(elf []byte) (PackedImage, error) {
	var out PackedImage
	for part := range slices.Chunk(elf, imagePart) {
		p, err := tracefmt.Pack(part)
		if err != nil {
			return nil, err
		}
		out = append(out, p)
	}
	return out, nil
}

// New starts a trace on w, which it does not close.
func New(w io.Writer, opts Options) (*Recorder, error) {
	if opts.Meta.Mode == "" {
		opts.Meta.Mode = format.ModeCDR
	}
	if opts.Meta.Alphabet == "" {
		opts.Meta.Alphabet = format.AlphabetPath
	}
	if a := opts.Meta.Alphabet; a != format.AlphabetPath && a != format.AlphabetBlock {
		return nil, fmt.Errorf("record: no alphabet %q", a)
	}
	switch opts.Meta.Mode {
	case format.ModeCDR, format.ModeCOR, format.ModeDOR, format.ModeSchedule:
	default:
		return nil, fmt.Errorf("record: no mode %q", opts.Meta.Mode)
	}
	if err := opts.checkControl(); err != nil {
		return nil, err
	}
	if opts.Budget == 0 {
		opts.Budget = DefaultBudget
	}
	if opts.Insts == 0 {
		opts.Insts = DefaultInsts
	}
	opts.Budget = min(max(opts.Budget, minBudget), maxBudget)
	opts.Meta.Outcome, opts.Meta.ThreadInsts = nil, nil
	opts.Meta.Schedule = opts.Meta.Mode == format.ModeCDR && !opts.NoSchedule

	begin := tracefmt.NewWriter
	if opts.Plain {
		begin = tracefmt.NewPlainWriter
	}
	tw, err := begin(w)
	if err != nil {
		return nil, err
	}
	r := &Recorder{w: tw, opts: opts, paths: newPaths(opts.Meta.Alphabet, opts.Program), siteIDs: map[format.Site]format.SiteID{}}
	if opts.PathBlocks > 0 {
		r.paths.limit = min(opts.PathBlocks, format.MaxPathsTotal)
	}
	r.paths.named, r.paths.chosen = opts.Meta.Control == format.ControlAPP, opts.Chosen
	if err := r.writeMeta(); err != nil {
		return nil, err
	}
	if opts.Store != nil && opts.Image != nil {
		if err := r.storeObject(&event.Image{Data: opts.Image}, format.MainObject); err != nil {
			return nil, err
		}
		opts.Image, opts.Packed = nil, nil
	}
	if opts.Packed == nil {
		if opts.Packed, err = PackImage(opts.Image); err != nil {
			return nil, err
		}
	}
	for i, p := range opts.Packed {
		if err := tw.AppendPacked(tracefmt.KindImage, uint32(i), p); err != nil {
			return nil, err
		}
	}
	r.opts.Image = nil
	return r, nil
}

// checkControl checks how control flow is to be recorded.
func (o *Options) checkControl() error {
	if o.Chosen != nil && o.Meta.Control != format.ControlAPP {
		return errors.New("record: functions can be chosen only with control flow as app")
	}
	switch o.Meta.Control {
	case "":
	case format.ControlWPP:
		o.Meta.Control = "" // an empty Control is the only spelling of ControlWPP
	case format.ControlAPP:
		if o.Program == nil {
			return errors.New("record: control flow as app needs the program's")
		}
		if o.Meta.Mode == format.ModeDOR {
			return errors.New("record: mode dor has no control flow")
		}
		if o.Flow.Functions != nil {
			return errors.New("record: chosen functions are left to the recorder")
		}
		if o.Chosen != nil && o.Meta.Mode != format.ModeCOR {
			return errors.New("record: functions can be chosen only in mode cor")
		}
	default:
		return fmt.Errorf("record: no control flow as %q", o.Meta.Control)
	}
	return nil
}

func (r *Recorder) writeMeta() error {
	b, err := r.opts.Meta.Encode()
	if err != nil {
		return err
	}
	return r.w.Append(tracefmt.KindMeta, 0, b)
}

// Define implements [event.Observer].
func (r *Recorder) Define(blocks []event.Block) error {
	if len(r.paths.sims)+len(blocks) > format.MaxTableRows {
		return r.fail(fmt.Errorf("record: more than %d blocks", format.MaxTableRows))
	}
	for i := range blocks {
		b := &blocks[i]
		if int(b.ID) != len(r.paths.sims) {
			return r.fail(fmt.Errorf("record: block %d defined out of order", b.ID))
		}
		if len(b.Sites) > format.MaxBlockSites {
			return r.fail(fmt.Errorf("record: block %d has %d sites", b.ID, len(b.Sites)))
		}
		r.siteRows += len(b.Sites)
		if r.siteRows > format.MaxTableRows {
			return r.fail(fmt.Errorf("record: more than %d sites in blocks", format.MaxTableRows))
		}
		if b.End > event.EndTrap {
			return r.fail(fmt.Errorf("record: block %d has end %d", b.ID, b.End))
		}
		for j, s := range b.Sites {
			if s.Size > format.MaxSiteSize || s.Access > event.Write {
				return r.fail(fmt.Errorf("record: block %d: site %d has size %d and access %d", b.ID, j, s.Size, s.Access))
			}
		}
		r.paths.define(b, r.siteID)
		if len(r.paths.codes) > format.MaxTableRows {
			return r.fail(fmt.Errorf("record: more than %d basic blocks", format.MaxTableRows))
		}
	}
	return nil
}

func (r *Recorder) siteID(s format.Site) format.SiteID {
	id, ok := r.siteIDs[s]
	if !ok {
		id = format.SiteID(len(r.sites))
		r.sites = append(r.sites, s)
		r.siteIDs[s] = id
	}
	return id
}

// Batch implements [event.Observer].
func (r *Recorder) Batch(b *event.Batch) error {
	if r.err != nil {
		return r.err
	}
	t, err := r.thread(b.Thread)
	if err != nil {
		return r.fail(err)
	}
	if r.opts.Meta.Schedule {
		r.takeTurn(t)
	}
	r.executed[b.Thread] += b.Insts
	r.insts += b.Insts
	if r.insts > r.opts.Insts {
		r.due = true
	}
	addrs, from := b.Addrs, 0
	for i := range b.Events {
		e := &b.Events[i]
		if int(e.At) < from || int(e.At) > len(b.Blocks) {
			return r.fail(fmt.Errorf("record: event %d of a batch is at block %d of %d", i, e.At, len(b.Blocks)))
		}
		if e.Kind >= event.NumKinds {
			return r.fail(fmt.Errorf("record: event %d of a batch is of kind %d", i, e.Kind))
		}
		if addrs, err = r.run(t, b.Blocks[from:e.At], addrs); err != nil {
			return r.fail(err)
		}
		from = int(e.At)
		if err := r.event(t, e); err != nil {
			return r.fail(err)
		}
		if r.due {
			if err := r.closeEpoch(); err != nil {
				return r.fail(err)
			}
		}
	}
	if addrs, err = r.run(t, b.Blocks[from:], addrs); err != nil {
		return r.fail(err)
	}
	t.flowGrow()
	if len(addrs) != 0 {
		return r.fail(fmt.Errorf("record: a batch of thread %d has %d addresses too many", b.Thread, len(addrs)))
	}
	return nil
}

func (r *Recorder) thread(id event.ThreadID) (*threadRec, error) {
	if id >= event.MaxThreads {
		return nil, fmt.Errorf("record: %w", event.ErrThreads)
	}
	for int(id) >= len(r.threads) {
		r.threads, r.executed = append(r.threads, nil), append(r.executed, 0)
	}
	t := r.threads[id]
	if t == nil {
		t = &threadRec{id: id, rec: r}
		r.threads[id] = t
	}
	return t, nil
}

var errAddrs = errors.New("record: a batch has too few addresses")

// run records a stretch of blocks without events and returns the addresses that
// it did not use. This is the recorder's hot loop.
func (r *Recorder) run(t *threadRec, blocks []event.BlockID, addrs []uint64) ([]uint64, error) {
	control, data := r.opts.Meta.Mode != format.ModeDOR, r.opts.Meta.Mode != format.ModeCOR
	flow := r.paths.named
	for _, id := range blocks {
		if int(id) >= len(r.paths.sims) {
			return nil, fmt.Errorf("record: block %d is not defined", id)
		}
		info := &r.paths.sims[id]
		if info.outside {
			if len(addrs) < len(info.sites) {
				return nil, errAddrs
			}
			addrs = addrs[len(info.sites):]
			t.flowSkip(info)
			continue
		}
		t.blocks += uint64(info.blocks)
		t.insts += uint64(info.insts)
		if flow {
			if err := t.flowStep(uint32(id)); err != nil {
				return nil, err
			}
		} else if control {
			t.step(uint32(id))
		}
		if n := len(info.sites); n > 0 {
			if len(addrs) < n {
				return nil, errAddrs
			}
			t.accesses += uint64(n)
			if data {
				if control {
					t.access(info.sites, addrs[:n])
				} else {
					t.accessString(info.sites, addrs[:n])
				}
			}
			addrs = addrs[n:]
		}
		if r.due {
			if err := r.closeEpoch(); err != nil {
				return nil, err
			}
		}
	}
	return addrs, nil
}

func (r *Recorder) event(t *threadRec, e *event.Event) error {
	switch {
	case r.paths.named:
		if err := t.flowMark(e); err != nil {
			return err
		}
	case r.opts.Meta.Mode != format.ModeDOR:
		t.endPath()
	}
	switch e.Kind {
	case event.Unwound:
		t.unwound(e.Arg)
		return nil
	case event.Rewound:
		t.rewound(e.Obj)
		return nil
	}
	t.syncPoint(e)
	t.flowKept()
	r.grow(r.sync.Add(t.id, e))
	r.due = r.due || r.sync.Full()
	t.events++
	t.ended = t.ended || e.Kind == event.ThreadEnd
	r.schedule.seq++
	t.told()
	return nil
}

// grow adds to the memory of the open epoch.
func (r *Recorder) grow(bytes uint64) {
	r.mem += bytes
	if r.mem > r.opts.Budget {
		r.due = true
	}
}

func (r *Recorder) fail(err error) error {
	if r.err == nil {
		r.err = err
	}
	return r.err
}

// Finish implements [event.Observer]: it closes the last epoch and the file.
func (r *Recorder) Finish(outcome event.Outcome) error {
	if r.err != nil {
		return r.err
	}
	if r.finished {
		return errors.New("record: finished twice")
	}
	r.finished = true
	if err := r.closeEpoch(); err != nil {
		return r.fail(err)
	}
	if err := r.writeExtra(true); err != nil {
		return r.fail(err)
	}
	r.opts.Meta.Outcome = &outcome
	r.opts.Meta.ThreadInsts = r.executed
	if err := r.writeMeta(); err != nil {
		return r.fail(err)
	}
	if err := r.w.Close(); err != nil {
		return r.fail(err)
	}
	return nil
}

// Size returns the number of bytes written so far.
func (r *Recorder) Size() int64 { return r.w.Offset() }

func (r *Recorder) newStream() *stream {
	if len(r.slab) == 0 {
		r.slab = make([]stream, 64)
	}
	s := &r.slab[0]
	r.slab = r.slab[1:]
	return s
}
