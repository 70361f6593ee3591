package vpc3

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"testing"
)

// plainCoder is a plain implementation of the entropy coder of the mixed profile: chances
// in a map by their context, and no tables of logarithms.
type plainCoder struct {
	low, high uint64 // both inclusive, 32 bits
	out       []byte
	chances   map[plainContext][2]int // probability of 1 in 22 bits, times seen
	weights   map[int]*[4]int
}

type plainContext struct {
	input, index, node int
	number             bool
}

func (c *plainCoder) decide(set int, at [4]plainContext, y int) {
	w := c.weights[set]
	if w == nil {
		w = &[4]int{26214, 26214, 26214, 26214}
		c.weights[set] = w
	}
	var s [4]int
	sum := 0
	for i := range at {
		if _, seen := c.chances[at[i]]; !seen {
			c.chances[at[i]] = [2]int{1 << 21, 0}
		}
		q := (float64(c.chances[at[i]][0]>>10) + 0.5) / 4096
		s[i] = int(math.Round(math.Log(q/(1-q)) * 256))
		sum += w[i] * s[i]
	}
	x := math.Floor(float64(sum) / 65536)
	x = max(-2048, min(2047, x))
	p := int(max(8, min(65528, math.Round(65536/(1+math.Exp(-x/256))))))

	mid := c.low + (c.high-c.low)*uint64(p)/65536
	if y == 1 {
		c.high = mid
	} else {
		c.low = mid + 1
	}
	for c.low>>24 == c.high>>24 {
		c.out = append(c.out, byte(c.low>>24))
		c.low, c.high = c.low<<8&math.MaxUint32, (c.high<<8|255)&math.MaxUint32
	}

	miss := int(math.Floor(float64((y*65536-p)*6) / 16))
	for i := range at {
		w[i] += int(math.Floor(float64(s[i]*miss+8192) / 16384))
		v := c.chances[at[i]]
		rate := int(65536 / (float64(v[1]) + 1.6))
		v[0] += int(math.Floor(float64((y*(1<<22-1)-v[0])*rate) / 65536))
		v[1] = min(v[1]+1, 60)
		c.chances[at[i]] = v
	}
}

// plainMixedEncoder encodes a trace of one chunk.
type plainMixedEncoder struct {
	*plainMixed
	plainCoder
	runKeys []uint64 // of an open run
	run     int
	past    uint64
}

// last returns the predictors that were right in the last n of a history, the
// latest in the low four bits.
func last(ids []uint32, n int) (v uint64) {
	for i := n - 1; i >= 0; i-- {
		v = v<<4 | uint64(back(ids, i))
	}
	return v
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

// ctx codes a decision in contexts that are hashed into the tables.
func (e *plainMixedEncoder) ctx(set, y int, c ...uint64) {
	var at [4]plainContext
	for i := range at {
		at[i] = plainContext{input: i, index: int(hash(c[i], e.n.chances))}
	}
	e.decide(set, at, y)
}

// number codes a number of width bits.
func (e *plainMixedEncoder) number(set int, v uint64, width int, c ...uint64) {
	c = slices.Clone(c)
	for width > 0 {
		n := min(width, 4)
		width -= n
		node := 1
		for i := n - 1; i >= 0; i-- {
			var at [4]plainContext
			for j := range at {
				at[j] = plainContext{input: j, index: int(hash(c[j], e.n.trees-4)), node: node, number: true}
			}
			y := int(v >> (width + i) & 1)
			e.decide(set, at, y)
			node = 2*node + y
		}
		for j := range c {
			c[j] = join(c[j], uint64(node))
		}
	}
}

func (e *plainMixedEncoder) far() (h uint64) {
	var far uint32
	for _, pc := range e.pcs[max(0, len(e.pcs)-32):] {
		far = far<<e.params.pcShift ^ pc*0x9e3779b1
	}
	return uint64(far)
}

func (e *plainMixedEncoder) recent() (bits uint64) {
	for i := 7; i >= 0; i-- {
		bits = bits<<1 | uint64(truth(back(e.joint, i)))
	}
	return bits
}

func (e *plainMixedEncoder) encode(pc uint32, ed uint64) {
	pcs, _ := e.candidates(pc)
	_, eds := e.candidates(pcs[0])
	here, h1 := uint64(pcs[0]), uint64(back(e.pcs, 0))
	first := e.first(pcs[0])
	pcAgree, edAgree := uint64(0), uint64(0)
	for i, c := range pcs[1:] {
		pcAgree |= uint64(truth(c == pcs[0])) << i
	}
	for i, c := range eds {
		edAgree |= uint64(truth(c == eds[first])) << i
	}
	expected := pc == pcs[0] && ed == eds[first]
	if e.streak >= runAfter {
		if e.runKeys == nil {
			e.runKeys = []uint64{e.far(), h1, last(e.ids, 8)}
		}
		e.run += truth(expected)
		if !expected || e.run == runMax {
			e.endRun()
		}
	} else {
		right := last(e.right[hash(here, e.n.slots)], 2)
		e.ctx(0, truth(expected), join(h1, join(right, edAgree)), e.far()+1, join(e.recent(), pcAgree<<12|edAgree), join(last(e.ids, 4), h1))
	}
	if !expected {
		// The decision on the record is already in the recent ones.
		joint := e.recent() << 1 & 0xff
		e.pc(pc, pcs[:], pcAgree, joint)
		e.ed(pc, ed, pc == pcs[0])
	}
	e.take(pc, ed)
}

func (e *plainMixedEncoder) endRun() {
	k := e.runKeys
	c := []uint64{join(k[0], e.past&0xfff), join(k[1], e.past&0xffffff), join(e.past, 5), join(k[0], join(k[2], 6))}
	e.ctx(7, truth(e.run == runMax), c...)
	if e.run < runMax {
		e.number(55, uint64(e.run), 5, c...)
	}
	e.past = e.past<<6 | uint64(e.run)
	e.run, e.runKeys = 0, nil
}

func (e *plainMixedEncoder) pc(pc uint32, pcs []uint32, agree, joint uint64) {
	h1 := uint64(back(e.pcs, 0))
	for k, c := range pcs {
		if slices.Contains(pcs[:k], c) {
			continue
		}
		key := uint64(k)<<5 | agree
		e.ctx(1+k, truth(c == pc), join(h1, key), join(e.far(), key), join(joint, key)+1, join(last(e.ids, 4), join(h1, key)))
		if c == pc {
			return
		}
	}
	e.literal(uint64(pc), h1, 3, 1)
}

func (e *plainMixedEncoder) ed(pc uint32, ed uint64, known bool) {
	_, eds := e.candidates(pc)
	right := e.right[hash(uint64(pc), e.n.slots)]
	first := int(e.first(pc))
	tried := uint64(0)
	try := func(v uint64) {
		for i, c := range eds {
			tried |= uint64(truth(c == v)) << i
		}
	}
	decide := func(set int, key uint64, y bool) {
		here := join(uint64(pc), key)
		e.ctx(set, truth(y), join(last(right, 4), key), join(here, last(right, 2)), join(tried, here), join(last(e.ids, 6), here))
	}
	try(eds[first])
	if !known {
		decide(8+first, uint64(first)|1<<6, eds[first] == ed)
		if eds[first] == ed {
			return
		}
	}
	decide(40, 1<<7, slices.Contains(eds[:], ed))
	if !slices.Contains(eds[:], ed) {
		e.literal(ed, back(e.at[hash(uint64(pc), e.n.slots)], 0), 7, uint64(pc)<<1)
		return
	}
	for id, k := 0, 1; id < mixEDs; id++ {
		if tried>>id&1 == 1 {
			continue
		}
		try(eds[id])
		if tried == 1<<mixEDs-1 {
			return
		}
		decide(24+id, uint64(id|min(k, 3)<<4|1<<6), eds[id] == ed)
		if eds[id] == ed {
			return
		}
		k++
	}
}

func (e *plainMixedEncoder) literal(v, near uint64, top int, where uint64) {
	high := func(x uint64, i int) uint64 { return x >> (8 * (top - i)) & 255 }
	same := 0
	for same < top && high(v, same) == high(near, same) {
		same++
	}
	e.number(56, uint64(same), 3, join(where, 99), join(where, near>>16), where&1|98<<8, join(last(e.ids, 3), 97))
	for i := same; i <= top; i++ {
		at := uint64(i)<<8 | where&1<<16
		above := v >> (8 * (top - i + 1))
		if i == 0 {
			above = 0
		}
		e.number(57+min(i-same, 3), high(v, i), 8,
			join(above, at), join(where, at|high(near, i)), join(high(near, i), join(high(back(e.eds, 0), i), at)), join(where, at)+1)
	}
}

// TestMixedBytes compares with the bytes of the plain encoder.
func TestMixedBytes(t *testing.T) {
	for name, trace := range traces() {
		trace = trace[:min(len(trace), 4000*RecordSize)/RecordSize*RecordSize]
		if len(trace) == 0 {
			continue
		}
		fast := new(mixedEncoder)
		if _, err := fast.encode(trace); err != nil {
			t.Fatal(err)
		}
		cut, err := fast.cut(false)
		if err != nil {
			t.Fatal(err)
		}
		params := mixParams{cut[0][0], cut[0][1]}
		e := &plainMixedEncoder{plainMixed: newPlainMixed(params), plainCoder: plainCoder{
			high: math.MaxUint32, out: bytes.Clone(cut[0][:2]),
			chances: map[plainContext][2]int{}, weights: map[int]*[4]int{},
		}}
		for b := trace; len(b) > 0; b = b[RecordSize:] {
			e.encode(binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint64(b[4:]))
		}
		if e.runKeys != nil {
			e.endRun()
		}
		e.out = binary.BigEndian.AppendUint32(e.out, uint32(e.high))
		if !bytes.Equal(e.out, cut[0]) {
			n := 0
			for n < min(len(e.out), len(cut[0])) && e.out[n] == cut[0][n] {
				n++
			}
			t.Errorf("%s: %d bytes, want %d; the first %d agree", name, len(e.out), len(cut[0]), n)
		}
	}
}
