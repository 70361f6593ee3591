package cdr

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"os"
	"sync"

	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/cdr/synclog"
	"hindsight/mpsim/image"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

var (
	// ErrNotRecorded says that the record mode omits the requested data.
	ErrNotRecorded = errors.New("not in this trace")
	// ErrNoSuch says that a thread, site, event or access does not exist.
	ErrNoSuch = errors.New("no such thing in the trace")
)

// Trace is a lazy view of a trace file. Opening it reads the tables and the counts of
// each epoch. Grammars are loaded on demand, and the memory for them is limited.
//
// A Trace and its iterators belong to one goroutine at a time; iterators may be
// interleaved.
type Trace struct {
	r       *tracefmt.Reader
	file    io.Closer // nil if the caller owns the file
	meta    format.Meta
	tab     *format.Tables
	epochs  []epoch
	threads []Thread
	blocks  map[blockKey]tracefmt.Handle
	cache   stretchCache
	totals  map[siteKey]uint64
	events  *eventLog // all of S_synch, kept by the first walk if it is not too long

	usedOnce sync.Once
	used     []bytesUsed // of each site; nil if the program is not known

	stores      []format.ImageStore
	known       *image.Space                             // see UseProgram; nil: read it from the trace
	play        *recorder.Playback                       // of flow blocks; nil until needed
	loadProgram func(elf []byte) (format.Program, error) // nil: cfg.Parse
}

// epoch says what each thread did in an epoch.
type epoch struct {
	threads []format.Counts
	events  uint64 // of all threads
}

type blockKey struct {
	kind   tracefmt.Kind
	epoch  uint32
	thread event.ThreadID
}

// Open opens a trace file. The caller closes it.
func Open(path string) (*Trace, error) {
	// This check comes first because opening a FIFO waits for its writer.
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		return nil, fmt.Errorf("open trace %s: not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	st, err := f.Stat()
	var t *Trace
	if err == nil {
		t, err = OpenReaderAt(f, st.Size())
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open trace %s: %w", path, err)
	}
	t.file = f
	return t, nil
}

// OpenReaderAt opens a trace of size bytes.
func OpenReaderAt(r io.ReaderAt, size int64) (*Trace, error) {
	tr, err := tracefmt.NewReader(r, size, tracefmt.ReaderOptions{MaxBlock: format.MaxPayload})
	if err != nil {
		return nil, err
	}
	t := &Trace{r: tr, tab: format.NewTables(), blocks: map[blockKey]tracefmt.Handle{}, totals: map[siteKey]uint64{}}
	if err := t.load(); err != nil {
		return nil, err
	}
	return t, nil
}

// Close closes the file that [Open] opened.
func (t *Trace) Close() error {
	if t.file == nil {
		return nil
	}
	return t.file.Close()
}

func (t *Trace) load() error {
	var meta *tracefmt.Handle
	epoch, bytes := uint32(0), uint64(0)
	for _, h := range t.r.Blocks() {
		var err error
		switch h.Kind {
		case tracefmt.KindMeta:
			meta = &h
		case tracefmt.KindTables:
			err = t.read(h, t.tab.Add)
		case tracefmt.KindCommit:
			err = t.read(h, t.addEpoch)
		case tracefmt.KindControl, tracefmt.KindFlow, tracefmt.KindData, tracefmt.KindSync, tracefmt.KindSchedule:
			key := blockKey{h.Kind, h.Epoch, event.ThreadID(h.Thread)}
			if _, twice := t.blocks[key]; twice {
				err = corrupt(h, fmt.Errorf("second block of its kind: %w", tracefmt.ErrMalformed))
			}
			t.blocks[key] = h
			if h.Epoch != epoch {
				epoch, bytes = h.Epoch, 0
			}
			bytes += uint64(h.Raw)
			if bytes > format.MaxEpoch {
				err = corrupt(h, fmt.Errorf("epoch %d: %w", epoch, tracefmt.ErrTooLarge))
			}
		}
		if err != nil {
			return err
		}
	}
	if meta == nil {
		return tracefmt.Corrupt(t.r.Size(), tracefmt.KindMeta, tracefmt.ErrTruncated)
	}
	if err := t.read(*meta, func(b []byte) (err error) {
		t.meta, err = format.DecodeMeta(b)
		return err
	}); err != nil {
		return err
	}
	t.meta.Complete, t.meta.Epochs = t.r.Complete(), len(t.epochs)
	if n := t.meta.ThreadInsts; len(n) > 0 {
		for i := range t.threads {
			if int(t.threads[i].ID) < len(n) {
				t.threads[i].Insts = n[t.threads[i].ID]
			}
		}
	}
	return nil
}

// addEpoch adds the counts of a commit block.
func (t *Trace) addEpoch(payload []byte) error {
	list, err := format.DecodeCommit(payload)
	if err != nil {
		return err
	}
	e := epoch{threads: list}
	for _, c := range list {
		for int(c.Thread) >= len(t.threads) {
			t.threads = append(t.threads, Thread{ID: event.ThreadID(len(t.threads))})
		}
		e.events += c.Events
		th := &t.threads[c.Thread]
		th.Insts += c.Insts
		th.Blocks += c.Blocks
		th.Accesses += c.Accesses
		th.Recorded += c.Recorded
		th.Events += c.Events
		if max(th.Insts, th.Blocks, th.Accesses, th.Events) > math.MaxInt64/2 {
			return fmt.Errorf("counts: %w", tracefmt.ErrTooLarge)
		}
	}
	t.epochs = append(t.epochs, e)
	return nil
}

// read passes the payload of a block to decode, and adds the place to its error.
func (t *Trace) read(h tracefmt.Handle, decode func([]byte) error) error {
	payload, err := t.r.Read(h)
	if err != nil {
		return err
	}
	if err := decode(payload); err != nil {
		return corrupt(h, err)
	}
	return nil
}

func corrupt(h tracefmt.Handle, err error) error {
	return tracefmt.Corrupt(h.Offset, h.Kind, err)
}

// Info returns the description of the run and of how it was recorded.
func (t *Trace) Info() format.Meta { return t.meta }

// Threads returns the threads, ordered by number.
func (t *Trace) Threads() []Thread { return t.threads }

// NumSites returns the number of sites.
func (t *Trace) NumSites() int { return len(t.tab.Sites) }

// Site returns a site, or the zero Site if there is none with that number.
func (t *Trace) Site(id format.SiteID) format.Site {
	if int(id) >= len(t.tab.Sites) {
		return format.Site{}
	}
	return t.tab.Sites[id]
}

// Image returns the program's ELF file, or nil if the trace has none.
func (t *Trace) Image() ([]byte, error) {
	var image bytes.Buffer
	part := uint32(0)
	for _, h := range t.r.Blocks() {
		if h.Kind != tracefmt.KindImage {
			continue
		}
		if h.Thread != part || image.Len()+int(h.Raw) > format.MaxImage {
			return nil, corrupt(h, fmt.Errorf("part of the image: %w", tracefmt.ErrMalformed))
		}
		part++
		if err := t.read(h, func(b []byte) error {
			image.Write(b)
			return nil
		}); err != nil {
			return nil, err
		}
	}
	if part == 0 {
		return t.storedImage()
	}
	return image.Bytes(), nil
}

// Events returns S_synch in its total order. It ends after the first error.
func (t *Trace) Events() iter.Seq2[format.Event, error] {
	return func(yield func(format.Event, error) bool) {
		if t.events != nil {
			for e := range t.events.all(len(t.threads)) {
				if !yield(e, nil) {
					return
				}
			}
			return
		}
		kept := &eventLog{}
		for e, err := range t.decodeEvents() {
			if err == nil && kept != nil && !kept.add(&e) {
				kept = nil
			}
			if !yield(e, err) || err != nil {
				return
			}
		}
		t.events = kept
	}
}

// decodeEvents reads S_synch epoch by epoch.
func (t *Trace) decodeEvents() iter.Seq2[format.Event, error] {
	return func(yield func(format.Event, error) bool) {
		index := make([]uint64, len(t.threads))
		seq := uint64(0)
		for i := range t.epochs {
			h, ok := t.blocks[blockKey{tracefmt.KindSync, uint32(i), 0}]
			if !ok {
				if t.epochs[i].events != 0 {
					yield(format.Event{}, fmt.Errorf("epoch %d has no sync block: %w", i, tracefmt.ErrMalformed))
					return
				}
				continue
			}
			var c *synclog.Cursor
			if err := t.read(h, func(b []byte) (err error) {
				c, err = format.ReplaySync(b, t.epochs[i].threads)
				return err
			}); err != nil {
				yield(format.Event{}, err)
				return
			}
			for {
				th, e, ok, err := c.Next()
				if err != nil {
					yield(format.Event{}, corrupt(h, err))
					return
				}
				if !ok {
					break
				}
				if !yield(format.Event{Event: e, Thread: th, Seq: seq, Index: index[th]}, nil) {
					return
				}
				seq++
				index[th]++
			}
		}
	}
}

// thread returns what a thread did in the epoch, or nil if it did nothing.
func (e *epoch) thread(id event.ThreadID) *format.Counts {
	lo, hi := 0, len(e.threads)
	for lo < hi {
		mid := (lo + hi) / 2
		if e.threads[mid].Thread < id {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	if lo < len(e.threads) && e.threads[lo].Thread == id {
		return &e.threads[lo]
	}
	return nil
}

// Sizes are the sizes of a trace and of its parts, in bytes.
type Sizes struct {
	File, Control, Data, Sync, Tables, Image int64  // in the file; blocks with their headers
	Schedule                                 int64  // in the file
	RawControl                               uint64 // 4 for each block execution; 0 in DOR mode
	RawData                                  uint64 // 4 for each recorded access
}

// Sizes returns the sizes of the parts of the file, and the size of the uncompressed
// trace as PPoPP 2003 counts it. Synch counts take no space, because they are computed
// when a grammar is loaded.
func (t *Trace) Sizes() Sizes {
	s := Sizes{File: t.r.Size()}
	for _, h := range t.r.Blocks() {
		switch h.Kind {
		case tracefmt.KindControl, tracefmt.KindFlow:
			s.Control += h.Size()
		case tracefmt.KindData:
			s.Data += h.Size()
		case tracefmt.KindSync:
			s.Sync += h.Size()
		case tracefmt.KindSchedule:
			s.Schedule += h.Size()
		case tracefmt.KindTables:
			s.Tables += h.Size()
		case tracefmt.KindImage, tracefmt.KindObject:
			s.Image += h.Size()
		}
	}
	for _, th := range t.threads {
		if t.meta.Mode != format.ModeDOR {
			s.RawControl += 4 * th.Blocks
		}
		s.RawData += 4 * th.Recorded
	}
	return s
}
