package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"hindsight/cdr"
	"hindsight/cdr/format"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
	"hindsight/wpp/cfg"
)

// parallelRun is what was measured of a kernel with a number of threads.
type parallelRun struct {
	kernel  string
	threads int
	cdr     [2]cdr.Sizes // with the accesses to shared memory, and with all
	dor     cdr.Sizes    // of shared memory
	rivals  []rivalSizes
	// gzipAll is gzip of control and all accesses.
	gzipAll float64
}

// rivalSizes are the sizes that a general compressor reaches; NaN for unknown.
type rivalSizes struct{ control, data float64 }

func (s rivalSizes) total() float64 { return s.control + s.data }

// Which accesses are recorded, and in which row of a table.
const (
	keepShared = iota
	keepAll
)

func parallelRivals() []rival {
	return []rival{gzipRival("-6"), zstdRival("-19", "--long=27"), xzRival()}
}

// parallel measures Tables 3, 4 and 5 of the parallel-trace paper.
func (c *comparison) parallel(ctx context.Context) ([]*table, error) {
	rivals := parallelRivals()
	var missing []string
	for i := range rivals {
		if n := rivals[i].find(); n != "" {
			missing = append(missing, n)
		}
	}
	tables := []*table{corTable(), dorTable(), cdrTable(missing)}
	for _, kernel := range c.kernels {
		for _, threads := range c.threads {
			m, err := c.parallelRun(ctx, kernel, threads, rivals)
			if err != nil {
				return nil, fmt.Errorf("%s, %d threads: %w", kernel, threads, err)
			}
			p := published(kernel, threads, c.small)
			m.corRow(tables[0], p)
			m.dorRow(tables[1], p)
			m.cdrRows(tables[2], p)
		}
	}
	return tables, nil
}

const controlNote = "Sizes in bytes. Raw control is 4 bytes per block execution, as in the paper. Our sizes are the blocks of the trace file with their headers. The tables of blocks and paths and the program are left out, as in the paper."

func corTable() *table {
	return &table{
		id: "ppopp2003-3", title: "PPoPP 2003, Table 3: COR, control flow and synchronisation",
		notes: []string{controlNote, "Synch counts take no bytes in our traces, because they are computed when a grammar is loaded. The paper's % does not include them either."},
		head:  []string{"kernel", "threads", "raw", "WPP", "S_synch", "%", "paper raw", "paper WPP", "paper S_synch", "paper %", "against paper"},
	}
}

func (m *parallelRun) corRow(t *table, p publishedRow) {
	s := m.cdr[keepShared]
	ours := percent(s.Control+s.Sync, s.RawControl)
	t.add(m.kernel, m.threads, s.RawControl, s.Control, s.Sync, ours,
		paperBytes(p.corRaw), paperBytes(p.corWPP), paperBytes(p.sync), p.corPercent, above(ours, p.corPercent))
}

func dorTable() *table {
	return &table{
		id: "ppopp2003-4", title: "PPoPP 2003, Table 4: DOR, one string of accesses per thread",
		notes: []string{"Sizes in bytes. Raw is 4 bytes per access to shared memory. Our grammars have bounded memory (epochs); the paper's cover the whole string."},
		head:  []string{"kernel", "threads", "raw", "SQ", "S_synch", "%", "paper raw", "paper SQ", "paper S_synch", "paper %", "against paper"},
	}
}

func (m *parallelRun) dorRow(t *table, p publishedRow) {
	s := m.dor
	ours := percent(s.Control+s.Sync, s.RawData)
	t.add(m.kernel, m.threads, s.RawData, s.Control, s.Sync, ours,
		paperBytes(p.dorRaw), paperBytes(p.dorSQ), paperBytes(p.sync), p.dorPercent, above(ours, p.dorPercent))
}

func cdrTable(missing []string) *table {
	return &table{
		id: "ppopp2003-5", title: "PPoPP 2003, Table 5: CDR, control flow and data",
		notes: slices.Concat(missing, []string{
			controlNote,
			"Raw data is 4 bytes per access. Shared: granules of 8 bytes that two threads touch, because the paper kept only shared memory. All: every load and store, including stacks and private memory, for which the paper has no figures.",
			"control is WPP and S_synch, as in the paper. The general compressors get the same raw trace: the control of all threads, one after the other, as one input, and their data as another. smaller: whether ours is smaller than xz -9 and zstd -19 --long=27.",
		}),
		head: []string{"kernel", "threads", "kept", "raw", "control", "data", "total", "%", "paper %", "against paper",
			"gzip control", "gzip data", "gzip %", "paper gzip %", "zstd -19 %", "xz -9 %", "smaller"},
	}
}

func (m *parallelRun) cdrRows(t *table, p publishedRow) {
	s := m.cdr[keepShared]
	raw := s.RawControl + s.RawData
	total := s.Control + s.Sync + s.Data
	ours := percent(total, raw)
	of := func(size float64) float64 { return 100 * size / float64(raw) }
	smaller := "–"
	for _, r := range m.rivals[1:] {
		switch {
		case float64(total) >= r.total():
			smaller = "NO"
		case smaller != "NO" && !math.IsNaN(r.total()):
			smaller = "yes"
		}
	}
	gz := m.rivals[0]
	t.add(m.kernel, m.threads, "shared", raw, s.Control+s.Sync, s.Data, total, ours, p.cdrPercent, above(ours, p.cdrPercent),
		paperBytes(gz.control), paperBytes(gz.data), of(gz.total()), p.gzipPercent, of(m.rivals[1].total()), of(m.rivals[2].total()), smaller)
	s = m.cdr[keepAll]
	raw = s.RawControl + s.RawData
	total = s.Control + s.Sync + s.Data
	t.add(m.kernel, m.threads, "all", raw, s.Control+s.Sync, s.Data, total, percent(total, raw), "", "",
		paperBytes(gz.control), paperBytes(m.gzipAll-gz.control), 100*m.gzipAll/float64(raw), "", "", "", "")
}

// paperBytes writes a size of the paper; – when it has none.
func paperBytes(v float64) string {
	if math.IsNaN(v) {
		return "–"
	}
	return numtext.Grouped(uint64(math.Round(v)))
}

// parallelRun records a kernel in every way and compresses the same raw traces with the
// general compressors.
func (c *comparison) parallelRun(ctx context.Context, kernel string, threads int, rivals []rival) (*parallelRun, error) {
	what := fmt.Sprintf("ppopp2003: %s, %d threads", kernel, threads)
	c.progress(what)
	out := &parallelRun{kernel: kernel, threads: threads}
	raw, err := c.recordings(ctx, out)
	if err != nil {
		return nil, err
	}
	for i := range rivals {
		c.progress(what + ", " + rivals[i].name)
		s := rivalSizes{math.NaN(), math.NaN()}
		if rivals[i].there() {
			if s.control, err = c.packedSize(ctx, &rivals[i], []string{c.file("control")}); err != nil {
				return nil, err
			}
			if s.data, err = c.packedSize(ctx, &rivals[i], raw[keepShared].files); err != nil {
				return nil, err
			}
		}
		out.rivals = append(out.rivals, s)
	}
	all, err := c.packedSize(ctx, &rivals[0], raw[keepAll].files)
	out.gzipAll = all + out.rivals[0].control
	return out, err
}

// recordings records the traces of a run and its raw traces, in files that the next run
// overwrites, and sets the sizes of the traces. The program runs twice: first to find out
// which memory is shared.
func (c *comparison) recordings(ctx context.Context, out *parallelRun) ([2]*rawData, error) {
	var raw [2]*rawData
	r, err := c.recording(out.kernel, out.threads)
	if err != nil {
		return raw, err
	}
	scout := new(recorder.Scout)
	if err := c.simulate(ctx, r, scout); err != nil {
		return raw, err
	}
	raw = [2]*rawData{{dir: c.file("shared"), keep: scout.Keep}, {dir: c.file("all")}}
	observers := []event.Observer{raw[keepShared], raw[keepAll]}
	traces := []struct {
		name string
		mode format.Mode
		keep func(uint64) bool
		to   *cdr.Sizes
	}{
		{"shared.hst", format.ModeCDR, scout.Keep, &out.cdr[keepShared]},
		{"all.hst", format.ModeCDR, nil, &out.cdr[keepAll]},
		{"dor.hst", format.ModeDOR, scout.Keep, &out.dor},
	}
	for _, t := range traces {
		f, err := os.Create(c.file(t.name))
		if err != nil {
			return raw, err
		}
		defer f.Close()
		meta := r.Meta()
		meta.Mode = t.mode
		rec, err := recorder.New(f, recorder.Options{Meta: meta, Image: r.Image.Main.Data, Program: cfg.New(r.Image), Keep: t.keep})
		if err != nil {
			return raw, err
		}
		observers = append(observers, rec)
	}
	if err := c.simulate(ctx, r, event.Tee(observers...)); err != nil {
		return raw, err
	}
	for i, t := range traces {
		var of *rawData
		if i < len(raw) {
			of = raw[i]
		}
		if *t.to, err = c.traceSizes(c.file(t.name), of, i == keepShared); err != nil {
			return raw, err
		}
	}
	return raw, nil
}

// traceSizes reads the sizes of a trace, checks that the raw data is what the
// trace was built from, and writes the raw control on demand.
func (c *comparison) traceSizes(file string, raw *rawData, control bool) (s cdr.Sizes, err error) {
	t, err := cdr.OpenFile(file)
	if err != nil {
		return s, err
	}
	defer t.Close()
	s = t.Sizes()
	if raw != nil && raw.size != s.RawData {
		return s, fmt.Errorf("%d bytes of raw data, the trace says %d", raw.size, s.RawData)
	}
	if control {
		err = c.rawControl(t, s.RawControl)
	}
	return s, err
}

// packedSize returns the size to which a rival compresses files, one after the other.
func (c *comparison) packedSize(ctx context.Context, r *rival, files []string) (float64, error) {
	var readers []io.Reader
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return 0, err
		}
		defer f.Close()
		readers = append(readers, f)
	}
	size := new(byteCount)
	_, err := r.pack(ctx, size, io.MultiReader(readers...))
	return float64(*size), err
}

// rawControl writes the uncompressed control flow of a trace: for each thread,
// 4 bytes per block execution, the low half of its address.
func (c *comparison) rawControl(t *cdr.Trace, want uint64) (err error) {
	f, err := os.Create(c.file("control"))
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	w := bufio.NewWriterSize(f, 1<<18)
	var size uint64
	var word [4]byte
	for _, th := range t.Threads() {
		for pc, err := range t.Blocks(th.ID) {
			if err != nil {
				return err
			}
			binary.LittleEndian.PutUint32(word[:], uint32(pc))
			if _, err := w.Write(word[:]); err != nil {
				return err
			}
			size += 4
		}
	}
	if size != want {
		return fmt.Errorf("%d bytes of raw control, the trace says %d", size, want)
	}
	return w.Flush()
}

// rawData is an event.Observer that writes the uncompressed accesses of each
// thread into a separate file: 4 bytes per access, the low half of its address.
type rawData struct {
	dir     string // created when it is needed
	keep    func(granule uint64) bool
	sites   [][]event.Site // by block
	threads map[event.ThreadID]*rawDataFile
	files   []string // once finished, by thread
	size    uint64
}

type rawDataFile struct {
	f *os.File
	w *bufio.Writer
}

// Define implements event.Observer.
func (d *rawData) Define(blocks []event.Block) error {
	for _, b := range blocks {
		for int(b.ID) >= len(d.sites) {
			d.sites = append(d.sites, nil)
		}
		d.sites[b.ID] = slices.Clone(b.Sites)
	}
	return nil
}

// Batch implements event.Observer.
func (d *rawData) Batch(b *event.Batch) error {
	out, err := d.thread(b.Thread)
	if err != nil {
		return err
	}
	addrs := b.Addrs
	var word [4]byte
	for _, id := range b.Blocks {
		for i, s := range d.sites[id] {
			if !d.kept(addrs[i], s.Size) {
				continue
			}
			binary.LittleEndian.PutUint32(word[:], uint32(addrs[i]))
			if _, err := out.w.Write(word[:]); err != nil {
				return err
			}
			d.size += 4
		}
		addrs = addrs[len(d.sites[id]):]
	}
	return nil
}

// kept reports whether an access is recorded. As in package cdr, it is if one of the
// granules that it touches is.
func (d *rawData) kept(addr uint64, size uint8) bool {
	return d.keep == nil || d.keep(addr>>3) || d.keep((addr+uint64(size)-1)>>3)
}

func (d *rawData) thread(id event.ThreadID) (*rawDataFile, error) {
	if t := d.threads[id]; t != nil {
		return t, nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(fmt.Sprintf("%s/%06d", d.dir, id))
	if err != nil {
		return nil, err
	}
	if d.threads == nil {
		d.threads = map[event.ThreadID]*rawDataFile{}
	}
	t := &rawDataFile{f, bufio.NewWriterSize(f, 1<<18)}
	d.threads[id] = t
	d.files = append(d.files, f.Name())
	return t, nil
}

// Finish implements event.Observer.
func (d *rawData) Finish(event.Outcome) error {
	slices.Sort(d.files)
	var err error
	for _, t := range d.threads {
		if ferr := t.w.Flush(); err == nil {
			err = ferr
		}
		if cerr := t.f.Close(); err == nil {
			err = cerr
		}
	}
	return err
}
