package tracefmt

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

type item struct {
	kind    Kind
	thread  uint32
	payload []byte
}

// sample writes a file of n epochs. It returns the items written, and the offset at which
// each epoch was committed.
func sample(t testing.TB, n int) (file []byte, items []item, commits []int64) {
	t.Helper()
	return sampleBy(t, n, NewWriter)
}

func sampleBy(t testing.TB, n int, begin func(io.Writer) (*Writer, error)) (file []byte, items []item, commits []int64) {
	t.Helper()
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	var out bytes.Buffer
	w, err := begin(&out)
	if err != nil {
		t.Fatal(err)
	}
	put := func(kind Kind, thread uint32, payload []byte) {
		t.Helper()
		items = append(items, item{kind, thread, payload})
		if err := w.Append(kind, thread, payload); err != nil {
			t.Fatal(err)
		}
	}
	put(KindMeta, 0, []byte("{}"))
	code := bytes.Repeat([]byte("code"), 1000)
	items = append(items, item{KindImage, 0, code})
	packed, err := Pack(code)
	if err == nil {
		err = w.AppendPacked(KindImage, 0, packed)
	}
	if err != nil {
		t.Fatal(err)
	}
	for e := range n {
		put(KindTables, 0, nil)
		for th := range uint32(3) {
			noise := make([]byte, rng.IntN(300))
			for i := range noise {
				noise[i] = byte(rng.Uint32())
			}
			put(KindControl, th, noise)
			put(KindData, th, bytes.Repeat([]byte{byte(e), byte(th)}, rng.IntN(5000)))
		}
		items = append(items, item{KindCommit, 7, []byte{byte(e)}})
		if err := w.Commit([]byte{byte(e)}); err != nil {
			t.Fatal(err)
		}
		commits = append(commits, w.Offset())
	}
	put(KindMeta, 0, []byte(`{"outcome":{}}`))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), items, commits
}

func open(b []byte) (*Reader, error) {
	return NewReader(bytes.NewReader(b), int64(len(b)), ReaderOptions{})
}

func TestRoundTrip(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		file, items, _ := sample(t, n)
		r, err := open(file)
		if err != nil {
			t.Fatal(err)
		}
		if !r.Complete() || r.Epochs() != n || len(r.Blocks()) != len(items) {
			t.Fatalf("complete %v, %d epochs, %d blocks; want true, %d, %d", r.Complete(), r.Epochs(), len(r.Blocks()), n, len(items))
		}
		for i, h := range r.Blocks() {
			got, err := r.Read(h)
			if err != nil {
				t.Fatal(err)
			}
			if h.Kind != items[i].kind || h.Thread != items[i].thread || !bytes.Equal(got, items[i].payload) {
				t.Errorf("block %d: %v thread %d, %d bytes; want %v thread %d, %d bytes", i, h.Kind, h.Thread, len(got), items[i].kind, items[i].thread, len(items[i].payload))
			}
		}
	}
}

// TestCompress writes plain files, compresses them later, and compares the result with
// files that were compressed at once.
func TestCompress(t *testing.T) {
	for _, n := range []int{0, 1, 5} {
		want, _, _ := sample(t, n)
		plain, _, _ := sampleBy(t, n, NewPlainWriter)
		r, err := open(plain)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := Compress(&got, r); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d epochs: %d bytes, want %d others", n, got.Len(), len(want))
		}
		if r, err = open(plain[:len(plain)-1]); err == nil && Compress(io.Discard, r) == nil {
			t.Errorf("%d epochs: a file without its end was compressed", n)
		}
	}
}

// TestLayout reads a file by the layout in the package comment, without this package's
// own parsers.
func TestLayout(t *testing.T) {
	file, items, _ := sample(t, 2)
	le := binary.LittleEndian
	sum := func(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }
	if string(file[:8]) != "\x89HST\r\n\x1a\n" || le.Uint16(file[8:]) != 2 || le.Uint32(file[12:]) != sum(file[:12]) {
		t.Fatal("header")
	}
	at := 16
	for i := 0; ; i++ {
		b := file[at:]
		stored := int(le.Uint32(b[16:]))
		if le.Uint32(b[24:]) != sum(b[:24]) || le.Uint32(b[20:]) != sum(b[28:28+stored]) {
			t.Fatalf("block %d: checksums", i)
		}
		at += 28 + stored
		if b[0] == 8 {
			if i != len(items) {
				t.Errorf("index is block %d, want %d", i, len(items))
			}
			foot := file[at:]
			if len(foot) != 24 || string(foot[16:]) != "\x89HSTEND\n" || int(le.Uint64(foot))+int(le.Uint32(foot[8:])) != at {
				t.Error("footer")
			}
			return
		}
		if Kind(b[0]) != items[i].kind || int(le.Uint32(b[12:])) != len(items[i].payload) {
			t.Errorf("block %d: kind %d raw %d", i, b[0], le.Uint32(b[12:]))
		}
	}
}

// TestCut cuts a file at every length. The reader must offer exactly what was committed
// before the cut.
func TestCut(t *testing.T) {
	file, items, commits := sample(t, 4)
	for n := range file {
		r, err := open(file[:n])
		if n < headerSize {
			want := ErrTruncated
			if n < 8 {
				want = ErrMagic
			}
			if !errors.Is(err, want) {
				t.Fatalf("cut at %d: %v, want %v", n, err, want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("cut at %d: %v", n, err)
		}
		want := 0
		for want < len(commits) && commits[want] <= int64(n) {
			want++
		}
		if r.Complete() || r.Epochs() != want {
			t.Fatalf("cut at %d: complete %v, %d epochs, want %d", n, r.Complete(), r.Epochs(), want)
		}
		for i, h := range r.Blocks() {
			got, err := r.Read(h)
			if err != nil || h.Epoch == NoEpoch && h.Kind != KindMeta && h.Kind != KindImage {
				t.Fatalf("cut at %d, block %d: %v", n, i, err)
			}
			if i < len(items)-1 && h.Offset < commits[max(want, 1)-1] && !bytes.Equal(got, items[i].payload) {
				t.Fatalf("cut at %d, block %d: wrong payload", n, i)
			}
		}
	}
}

func readAll(b []byte) error {
	r, err := NewReader(bytes.NewReader(b), int64(len(b)), ReaderOptions{MaxBlock: 1 << 20})
	if err != nil {
		return err
	}
	var first error
	for _, h := range r.Blocks() {
		if _, err := r.Read(h); err != nil && first == nil {
			first = err
		}
	}
	if first == nil && !r.Complete() {
		first = io.ErrUnexpectedEOF
	}
	return first
}

// TestFlip changes single bits. Every change must be noticed.
func TestFlip(t *testing.T) {
	file, _, _ := sample(t, 2)
	for i := range file {
		b := bytes.Clone(file)
		b[i] ^= 1 << (i % 8)
		if readAll(b) == nil {
			t.Fatalf("bit flip at offset %d unnoticed", i)
		}
	}
}

func TestErrors(t *testing.T) {
	file, _, _ := sample(t, 1)
	version := bytes.Clone(file)
	version[8] = 9
	// The version is checked before the checksum, because another version may have
	// another checksum.
	if _, err := open(version); !errors.Is(err, ErrVersion) {
		t.Errorf("version 9: %v", err)
	}
	if _, err := open([]byte(strings.Repeat("x", 100))); !errors.Is(err, ErrMagic) {
		t.Errorf("no trace: %v", err)
	}
	r, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	file[r.Blocks()[1].Offset+blockHeaderSize] ^= 1
	_, err = r.Read(r.Blocks()[1])
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || !errors.Is(err, ErrChecksum) || corrupt.Block != KindImage || corrupt.Offset != r.Blocks()[1].Offset {
		t.Errorf("damaged image: %v", err)
	}
	small, err := NewReader(bytes.NewReader(file), int64(len(file)), ReaderOptions{MaxBlock: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := small.Read(small.Blocks()[1]); !errors.Is(err, ErrTooLarge) {
		t.Errorf("limit: %v", err)
	}
}

// TestBomb reads a block that claims to contain 100 bytes and decodes to a mebibyte.
func TestBomb(t *testing.T) {
	w, err := NewWriter(io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	payload := w.enc.EncodeAll(make([]byte, 1<<20), nil)
	h := Handle{Offset: headerSize, Kind: KindImage, Codec: CodecZstd, Epoch: NoEpoch, Raw: 100, Stored: uint32(len(payload))}
	file := append(appendBlockHeader(appendHeader(nil), h, checksum(payload)), payload...)
	r, err := open(file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Read(r.Blocks()[0]); !errors.Is(err, ErrMalformed) {
		t.Errorf("got %v, want ErrMalformed", err)
	}
}

type fullDisk struct{ room int }

func (d *fullDisk) Name() string { return "disk.hst" }
func (d *fullDisk) Write(b []byte) (int, error) {
	if d.room -= len(b); d.room < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

func TestFullDisk(t *testing.T) {
	w, err := NewWriter(&fullDisk{room: 50})
	if err != nil {
		t.Fatal(err)
	}
	noise := []byte("abcdefghijklmnopqrstuvwxyz0123456789")
	err = w.Append(KindControl, 0, noise)
	var we *WriteError
	if !errors.As(err, &we) || we.File != "disk.hst" || we.Offset != headerSize {
		t.Errorf("got %v", err)
	}
	if again := w.Close(); !errors.Is(again, err) {
		t.Errorf("close: %v", again)
	}
}

func FuzzReader(f *testing.F) {
	file, _, _ := sample(f, 2)
	f.Add(file)
	f.Add(file[:len(file)-1])
	f.Add(file[:headerSize])
	f.Add(appendFooter(appendHeader(nil), Handle{Offset: headerSize}))
	f.Fuzz(func(t *testing.T, b []byte) { _ = readAll(b) })
}
