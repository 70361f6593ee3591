package vpc3

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"hindsight/tracefmt/codectest"
)

// This file is a second implementation of the paper's predictors, written from sections
// 2.2, 3.3 and 4.4 for clarity alone. A predictor is an object, a table is a map, and a
// hash is recomputed from its values.

// plainHash folds each value to 17 bits and shifts it by its age.
func plainHash(values []uint64, order int) uint64 {
	var h uint64
	for age := range order {
		h ^= plainFold(values[age], 17) << age
	}
	return h
}

func plainFold(v uint64, bits int) uint64 {
	var f uint64
	for v != 0 {
		f ^= v % (1 << bits)
		v /= 1 << bits
	}
	return f
}

// plainTable is a second-level table: two values a line, the latest first.
type plainTable map[uint64][2]uint64

func (t plainTable) put(line, v uint64) { t[line] = [2]uint64{v, t[line][0]} }

type plainLine struct {
	values  []uint64 // seen at this line, the latest first
	strides []uint64
}

type plainModel struct {
	width            int // of a value in its stream
	index            func(pc uint32) uint32
	lines            map[uint32]*plainLine
	fcm1, fcm3       plainTable
	dfcm1, dfcm3     plainTable
	hash1            func(values []uint64) uint64
	predict          func(m *plainModel, l *plainLine) []uint64
	uses             []int
	ids, unpredicted []byte
}

func (m *plainModel) at(pc uint32) *plainLine {
	i := m.index(pc)
	if m.lines[i] == nil {
		m.lines[i] = &plainLine{values: make([]uint64, 4), strides: make([]uint64, 4)}
	}
	return m.lines[i]
}

func (m *plainModel) take(pc uint32, v uint64) {
	l := m.at(pc)
	predictions := m.predict(m, l)
	if m.uses == nil {
		m.uses = make([]int, len(predictions))
	}
	best := -1
	for id, p := range predictions {
		if p == v && (best < 0 || m.uses[id] > m.uses[best]) {
			best = id
		}
	}
	if best < 0 {
		m.ids = append(m.ids, byte(len(predictions)))
		for i := range m.width {
			m.unpredicted = append(m.unpredicted, byte(v>>(8*i)))
		}
	} else {
		m.ids = append(m.ids, byte(best))
		m.uses[best]++
	}
	stride := v - l.values[0]
	m.fcm1.put(m.hash1(l.values), v)
	m.fcm3.put(plainHash(l.values, 3), v)
	m.dfcm1.put(plainHash(l.strides, 1), stride)
	m.dfcm3.put(plainHash(l.strides, 3), stride)
	l.values = append([]uint64{v}, l.values[:3]...)
	l.strides = append([]uint64{stride}, l.strides[:3]...)
}

func plainStreams(trace []byte) [numStreams][]byte {
	pcs := &plainModel{
		width: 4, index: func(uint32) uint32 { return 0 },
		hash1: func(v []uint64) uint64 { return plainHash(v, 1) },
		predict: func(m *plainModel, l *plainLine) []uint64 {
			a, b := m.fcm1[plainHash(l.values, 1)], m.fcm3[plainHash(l.values, 3)]
			return []uint64{a[0], a[1], b[0], b[1]}
		},
	}
	eds := &plainModel{
		width: 8, index: func(pc uint32) uint32 { return pc % 65536 },
		hash1: func(v []uint64) uint64 { return plainFold(v[0], 19) },
		predict: func(m *plainModel, l *plainLine) []uint64 {
			d1, d3 := m.dfcm1[plainHash(l.strides, 1)], m.dfcm3[plainHash(l.strides, 3)]
			f := m.fcm1[plainFold(l.values[0], 19)]
			v := l.values
			return []uint64{v[0] + d1[0], v[0] + d1[1], v[0] + d3[0], v[0] + d3[1], v[0], v[1], v[2], v[3], f[0], f[1]}
		},
	}
	for _, m := range []*plainModel{pcs, eds} {
		m.lines = map[uint32]*plainLine{}
		m.fcm1, m.fcm3, m.dfcm1, m.dfcm3 = plainTable{}, plainTable{}, plainTable{}, plainTable{}
	}
	for ; len(trace) >= RecordSize; trace = trace[RecordSize:] {
		pc := binary.LittleEndian.Uint32(trace)
		pcs.take(0, uint64(pc))
		eds.take(pc, binary.LittleEndian.Uint64(trace[4:]))
	}
	return [numStreams][]byte{pcs.ids, pcs.unpredicted, eds.ids, eds.unpredicted}
}

// TestPaperAgainstPlain compares the four streams with those of the plain predictors,
// byte by byte.
func TestPaperAgainstPlain(t *testing.T) {
	for name, trace := range traces() {
		want := plainStreams(trace)
		var got [numStreams][]byte
		new(paperModel).encode(trace, &got)
		for i := range want {
			if !bytes.Equal(got[i], want[i]) {
				t.Errorf("%s: stream %d has %d bytes, want %d", name, i, len(got[i]), len(want[i]))
			}
		}
	}
}

// TestPaperExamples checks what section 2.2 says predictors can do.
func TestPaperExamples(t *testing.T) {
	last := func(values ...uint64) byte {
		var trace []byte
		for range 12 {
			for _, v := range values {
				trace = record(trace, 0x400, v)
			}
		}
		var out [numStreams][]byte
		new(paperModel).encode(trace, &out)
		return out[2][len(out[2])-1]
	}
	// Repeating sequences of up to four arbitrary values, longer ones by FCM.
	for n := 1; n <= 12; n++ {
		values := make([]uint64, n)
		for i := range values {
			values[i] = uint64(i*i*i*977 + 13)
		}
		if id := last(values...); id == edNone {
			t.Errorf("a repeating sequence of %d values is not predicted", n)
		}
	}
	// Strides, over values that did not occur before.
	var trace []byte
	for i := range uint64(50) {
		trace = record(trace, 0x400, 1<<40+i*24)
	}
	var out [numStreams][]byte
	new(paperModel).encode(trace, &out)
	// A context of three strides is known after four of them.
	if missed := len(out[3]) / 8; missed > 5 {
		t.Errorf("%d of 50 strided values are not predicted", missed)
	}
	// Once a predictor leads, it remains the one that is named.
	if tail := out[2][20:]; len(slices.Compact(slices.Clone(tail))) != 1 {
		t.Errorf("predictors of a strided sequence: %v", tail)
	}
	// The PCs of a loop are known after one round by their order-one context.
	trace = nil
	for range 10 {
		for _, pc := range []uint32{0x100, 0x104, 0x10c} {
			trace = record(trace, pc, 0)
		}
	}
	out = [numStreams][]byte{}
	new(paperModel).encode(trace, &out)
	if len(out[1]) > 4*4 || out[0][29] != pcFCM1a {
		t.Errorf("PCs of a loop: %v, %d bytes unpredicted", out[0], len(out[1]))
	}
}

func FuzzReader(f *testing.F) {
	trace := append(loops(300), codectest.Noise(100)...)
	for opts := range eachOptions {
		if opts.Header == 0 {
			f.Add(pack(f, trace, opts))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) { readAnything(t, b) })
}

func FuzzRoundTrip(f *testing.F) {
	f.Add(loops(50), uint8(0))
	f.Add(codectest.Noise(60), uint8(9))
	f.Fuzz(func(t *testing.T, b []byte, which uint8) {
		opts := Options{Profile: Profile(which) % numProfiles, Header: int(which>>4) % 8}
		if opts.Profile == Paper {
			opts.Post = Store
		}
		got, err := unpack(pack(t, b, opts))
		if err != nil || !bytes.Equal(got, b) {
			t.Fatalf("%+v: %d bytes became %d, %v", opts, len(b), len(got), err)
		}
	})
}
