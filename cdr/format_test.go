package cdr

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"hindsight/cdr/format"
	"hindsight/cdr/internal/madeup"
	"hindsight/cdr/recorder"
	"hindsight/tracefmt"
	"hindsight/tracefmt/event"
)

// tinyTrace returns the worked example of docs/trace-format.md: two threads run a loop
// under a lock, and enter it by falling through.
func tinyTrace(t *testing.T, control format.Control) []byte {
	t.Helper()
	static := []event.Block{
		{PC: 0x10100, Bytes: 8, Insts: 2, End: event.EndFall},
		{PC: 0x10108, Bytes: 12, Insts: 4, End: event.EndBranch, Target: 0x10108, Sites: []event.Site{{PC: 0x10108, Size: 8, Access: event.Read}}},
		{PC: 0x10114, Bytes: 8, Insts: 2, End: event.EndCall, Target: 0x10200, Sites: []event.Site{{PC: 0x10114, Size: 4, Access: event.Write}}},
		{PC: 0x1011c, Bytes: 4, Insts: 1, End: event.EndReturn},
	}
	flow := madeup.New()
	flow.Add(rand.New(rand.NewPCG(1, 1)), static)
	run := static[0]
	run.Bytes, run.Insts, run.End, run.Sites = 20, 6, event.EndBranch, static[1].Sites
	blocks := []event.Block{run, static[1], static[2], static[3]}
	for i := range blocks {
		blocks[i].ID = event.BlockID(i)
	}
	var out bytes.Buffer
	r, err := recorder.New(&out, recorder.Options{Program: flow, Meta: format.Meta{Program: "tiny", Seed: 1, Control: control}, Image: []byte("\x7fELF")})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Define(blocks); err != nil {
		t.Fatal(err)
	}
	turn := func(th event.ThreadID, base uint64) {
		b := event.Batch{Thread: th, Insts: 40}
		b.Events = append(b.Events, event.Event{Kind: event.ThreadStart, Arg: 0x7000})
		for i := range uint64(2) {
			b.Blocks = append(b.Blocks, 0, 1, 1, 2)
			b.Addrs = append(b.Addrs, base, base+8, base+16, 0x20000+4*i)
			at := uint32(len(b.Blocks))
			b.Events = append(b.Events, event.Event{At: at, Kind: event.MutexLock, Mode: event.Returns, PC: 0x10118, Obj: 0x20040})
			b.Blocks = append(b.Blocks, 3)
		}
		if err := r.Batch(&b); err != nil {
			t.Fatal(err)
		}
	}
	turn(0, 0x30000)
	turn(1, 0x30100)
	if err := r.Finish(event.Outcome{Insts: 80, Threads: 2}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestFormatDocument decodes the worked example by the rules of docs/trace-format.md, and
// compares the result with the dump in that page.
func TestFormatDocument(t *testing.T) {
	const page = "../docs/trace-format.md"
	file := tinyTrace(t, format.ControlWPP)
	tr, err := openBytes(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := tr.Verify(); err != nil {
		t.Fatal(err)
	}
	d := dumper{t: t}
	d.file(file)
	d.flowOf(tinyTrace(t, format.ControlAPP))
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- dump -->\n```\n", "```\n<!-- end -->\n"
	head, rest, ok := strings.Cut(string(text), begin)
	old, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the dump", page)
	}
	if *update {
		if err := os.WriteFile(page, []byte(head+begin+d.out.String()+end+tail), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if old != d.out.String() {
		t.Errorf("%s is not up to date (go test ./cdr -run Document -update); the dump is\n%s", page, &d.out)
	}
}

// dumper reads a trace number by number, without the package's own decoders, and writes
// what each number means.
type dumper struct {
	t   *testing.T
	out strings.Builder
	b   []byte // what is left of the payload
	row []byte // bytes of the current line
}

// take returns the next n bytes.
func (d *dumper) take(n int) []byte {
	d.t.Helper()
	if n < 0 || n > len(d.b) {
		d.t.Fatalf("payload ends early, behind\n%s", &d.out)
	}
	b := d.b[:n]
	d.b = d.b[n:]
	d.row = append(d.row, b...)
	return b
}

func (d *dumper) u() uint64 {
	d.t.Helper()
	v, n := binary.Uvarint(d.b)
	d.take(n)
	return v
}

func (d *dumper) v() int64 {
	d.t.Helper()
	v, n := binary.Varint(d.b)
	d.take(n)
	return v
}

// us returns the next n numbers.
func (d *dumper) us(n uint64) (list []uint64) {
	for range n {
		list = append(list, d.u())
	}
	return list
}

func (d *dumper) vs(n uint64) (list []int64) {
	for range n {
		list = append(list, d.v())
	}
	return list
}

// line writes the bytes taken since the last line, and their meaning.
func (d *dumper) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	for first := true; first || len(d.row) > 0; first = false {
		n := min(16, len(d.row))
		fmt.Fprintf(&d.out, "  %-49s%s\n", fmt.Sprintf("% x", d.row[:n]), text)
		d.row, text = d.row[n:], ""
	}
}

func (d *dumper) file(b []byte) {
	r, err := tracefmt.NewReader(bytes.NewReader(b), int64(len(b)), tracefmt.ReaderOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	fmt.Fprintf(&d.out, "%06x header\n", 0)
	d.b = b[:16]
	d.take(8)
	d.line("magic")
	d.take(8)
	d.line("version %d, flags %d, CRC", binary.LittleEndian.Uint16(b[8:]), binary.LittleEndian.Uint16(b[10:]))
	at := int64(16)
	for _, h := range r.Blocks() {
		payload, err := r.Read(h)
		if err != nil || h.Offset != at {
			d.t.Fatalf("block at %d: %+v, %v", at, h, err)
		}
		d.header(b[at:at+28], at)
		at += 28 + int64(h.Stored)
		d.payload(h.Kind, payload)
	}
	d.header(b[at:at+28], at)
	stored := int64(binary.LittleEndian.Uint32(b[at+16:]))
	fmt.Fprintf(&d.out, "  …%51sas the block headers above\n", "")
	foot := b[at+28+stored:]
	fmt.Fprintf(&d.out, "%06x footer\n", at+28+stored)
	d.b = foot
	offset := binary.LittleEndian.Uint64(d.take(8))
	d.line("index block at %#x", offset)
	length := binary.LittleEndian.Uint32(d.take(4))
	d.take(4)
	d.line("of %d bytes, CRC", length)
	d.take(8)
	d.line("magic")
	if len(d.b) != 0 || int64(offset) != at || int64(length) != 28+stored {
		d.t.Errorf("footer: index at %d, %d bytes; want %d, %d", offset, length, at, 28+stored)
	}
}

func (d *dumper) header(h []byte, at int64) {
	le := binary.LittleEndian.Uint32
	fmt.Fprintf(&d.out, "%06x %s block\n", at, tracefmt.Kind(h[0]))
	d.b = h
	d.take(4)
	d.line("kind %d, codec %d", h[0], h[1])
	d.take(8)
	d.line("epoch %d, thread %d", int32(le(h[4:])), le(h[8:]))
	d.take(8)
	d.line("%d bytes, %d stored", le(h[12:]), le(h[16:]))
	d.take(8)
	d.line("CRC of the payload as stored, of the header")
}

func (d *dumper) payload(kind tracefmt.Kind, payload []byte) {
	d.t.Helper()
	d.b = payload
	switch kind {
	case tracefmt.KindMeta:
		for text := string(payload); text != ""; {
			n := min(len(text), 100)
			fmt.Fprintf(&d.out, "  %s\n", text[:n])
			text = text[n:]
		}
		return
	case tracefmt.KindImage:
		d.take(len(payload))
		d.line("the ELF file (here only its magic)")
	case tracefmt.KindTables:
		d.tables()
	case tracefmt.KindControl:
		d.control()
	case tracefmt.KindFlow:
		d.flow()
	case tracefmt.KindData:
		d.data()
	case tracefmt.KindSync:
		d.sync()
	case tracefmt.KindCommit:
		n := d.u()
		d.line("%d threads", n)
		for range n {
			v := d.us(6)
			d.line("thread %d: %d instructions, %d blocks, %d accesses, %d recorded, %d events", v[0], v[1], v[2], v[3], v[4], v[5])
		}
	}
	if len(d.b) != 0 {
		d.t.Errorf("%v: % x left over", kind, d.b)
	}
}

func (d *dumper) tables() {
	first, n := d.u(), d.u()
	d.line("blocks: from %d, %d of them", first, n)
	pcs := d.vs(n)
	d.line("  pc, from the end of the block before: %+d", pcs)
	lengths := d.us(n)
	d.line("  bytes %d", lengths)
	d.line("  instructions %d", d.us(n))
	d.line("  end %d", d.take(int(n)))
	sites := d.us(n)
	d.line("  sites %d", sites)
	pc := int64(0)
	for i := range sites {
		pc += pcs[i]
		for range sites[i] {
			delta, x := d.u(), d.take(1)[0]
			d.line("  site of block %d: pc %#x, %d bytes, %v", i, uint64(pc)+delta, x>>1, event.Access(x&1))
		}
		pc += int64(lengths[i])
	}
	first, n = d.u(), d.u()
	d.line("paths: from %d, %d of them", first, n)
	blocks := d.us(n)
	d.line("  blocks in each %d", blocks)
	for i, k := range blocks {
		id, path := int64(0), []int64{}
		for _, step := range d.vs(k) {
			id += step
			path = append(path, id)
		}
		d.line("  path %d: blocks %d", first+uint64(i), path)
	}
}

func (d *dumper) control() {
	n := d.u()
	d.vs(n)
	d.line("call stack: %d frames", n)
	n = d.u()
	d.line("%d terminals", n)
	kinds := bytes.Clone(d.take(int(n)))
	d.line("  kinds %d", kinds)
	a := make([]uint64, n)
	var last [8]uint64
	for i, k := range kinds {
		last[k&7] += uint64(d.v())
		a[i] = last[k&7]
	}
	d.line("  a, from the one before of its kind: %#x", a)
	for i, k := range kinds {
		switch k {
		case 0:
			d.line("  %d: path %d", i, a[i])
		case 8:
			d.line("  %d: path %d, %d times", i, a[i], d.u())
		case 1:
			b := d.u()
			d.line("  %d: event at %#x: %v, returns %d", i, a[i], event.Kind(b>>1), b&1)
		default:
			d.t.Fatalf("terminal of kind %d", k)
		}
	}
	d.grammar()
}

// flowOf adds the first flow block of the same run recorded as app.
func (d *dumper) flowOf(b []byte) {
	r, err := tracefmt.NewReader(bytes.NewReader(b), int64(len(b)), tracefmt.ReaderOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, h := range r.Blocks() {
		if h.Kind != tracefmt.KindFlow {
			continue
		}
		payload, err := r.Read(h)
		if err != nil {
			d.t.Fatal(err)
		}
		fmt.Fprintf(&d.out, "\nthe same run with control app: thread %d's flow block in place of its control block; no paths in the tables\n", h.Thread)
		d.payload(h.Kind, payload)
		return
	}
	d.t.Error("no flow block")
}

func (d *dumper) flow() {
	d.line("version %d", d.take(1)[0])
	n := d.u()
	d.vs(n)
	d.line("call stack: %d frames", n)
	d.line("return pending: %d", d.take(1)[0])
	n = d.u()
	d.line("%d marks", n)
	kinds := bytes.Clone(d.take(int(n)))
	d.line("  kinds %d", kinds)
	a := make([]uint64, n)
	var last [8]uint64
	for i, k := range kinds {
		last[k] += uint64(d.v())
		a[i] = last[k]
	}
	d.line("  a, from the one before of its kind: %#x", a)
	for i, k := range kinds {
		if k == 0 {
			b := d.u()
			d.line("  mark %d: event at %#x: %v, returns %d", i, a[i], event.Kind(b>>1), b&1)
		}
	}
	n = d.u()
	d.us(n)
	d.line("%d checkpoints", n)
	d.line("stream: %s", d.take(4))
	x := d.take(6)
	d.line("  version %d, flags %d, local %d, global %d, table %d, step %d", x[0], x[1], x[2], x[3], x[4], x[5])
	d.line("  limit %d", d.u())
	d.line("  functions %d", d.u())
	d.take(4)
	d.line("  CRC-32 of the stream so far")
	for d.take(1)[0] == 1 {
		length := d.u()
		rest := len(d.b) - int(length)
		d.line("  chunk of %d bytes", length)
		blocks, mark, exceptions := d.u(), d.u(), d.u()
		d.line("    %d names, checkpoint %d, %d exceptions", blocks, mark, exceptions)
		name := int64(0)
		for range exceptions {
			gap := d.u()
			name += d.v()
			d.line("      after %d: %#x", gap, uint64(name))
		}
		d.take(len(d.b) - rest)
		d.line("    directions, coded")
		d.take(4)
		d.line("    CRC-32 of the chunk")
	}
	d.line("  end")
	d.line("    %d names, %d checkpoints", d.u(), d.u())
	d.take(4)
	d.line("    CRC-32 of the end")
	d.take(8)
	d.line("    where the end begins in the stream")
	d.line("    %s", d.take(4))
}

func (d *dumper) grammar() {
	rules, symbols := d.u(), d.u()
	d.line("grammar: %d rules, %d symbols", rules, symbols)
	if rules > 1 {
		lengths, uses := d.us(rules-1), d.us(rules-1)
		for i := range lengths {
			lengths[i] += 2
			uses[i]++
		}
		d.line("  symbols %d, uses %d of the rules but the start", lengths, uses)
	}
	var codes []string
	next := uint64(0)
	for _, c := range d.us(symbols) {
		switch {
		case c == 0:
			codes = append(codes, "rule(")
		case c == 1:
			codes = append(codes, fmt.Sprint(next))
			next++
		case c&1 == 0:
			codes = append(codes, fmt.Sprint(c/2-1))
		default:
			codes = append(codes, fmt.Sprintf("rule-%d", c/2-1))
		}
	}
	d.line("  %s", strings.Join(codes, " "))
}

func (d *dumper) data() {
	n := d.u()
	d.line("%d terminals", n)
	counts := d.us(n)
	var terms []string
	for _, c := range counts {
		if c&1 != 0 {
			terms = append(terms, fmt.Sprintf("%d left out", c>>1))
		} else {
			terms = append(terms, fmt.Sprintf("%d times %+d", c>>1, d.v()))
		}
	}
	d.line("  %s", strings.Join(terms, ", "))
	n = d.u()
	d.line("%d streams", n)
	d.line("  site, from the one before: %+d", d.us(n))
	addr, addrs := int64(0), []int64{}
	for _, step := range d.vs(n) {
		addr += step
		addrs = append(addrs, addr)
	}
	d.line("  first addresses %#x", addrs)
	d.line("  left out before %d", d.us(n))
	plain := d.us(n)
	d.line("  symbols+1 of plain strings %d", plain)
	for i, k := range plain {
		if k > 0 {
			d.line("  stream %d: terminals %d", i, d.us(k-1))
		}
	}
	for _, k := range plain {
		if k == 0 {
			d.grammar()
		}
	}
}

func (d *dumper) sync() {
	d.line("%d events", d.u())
	n := d.u()
	d.line("%d lags", n)
	for range n {
		v := d.us(3)
		d.line("  thread +%d, row %d: %d events", v[0], v[1], v[2])
	}
	d.take(len(d.b))
	d.line("the string")
}
