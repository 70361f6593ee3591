package vpc3

import (
	"encoding/binary"
	"math/rand/v2"
	"slices"
	"testing"
)

// plainMixed keeps the whole history of a trace and computes the candidates of the mixed
// profile from it for every record. Its tables are maps with the same line numbers.
type plainMixed struct {
	params mixParams
	n      mixSizes
	right  map[uint32][]uint32 // predictors that were right, by line of the first level, the latest last
	ids    []uint32            // the same for all records
	joint  []bool              // whether each record was as expected
	streak int                 // consecutive records as expected so far
	pcs    []uint32            // the latest last
	eds    []uint64
	at     map[uint32][]uint64 // extended data by line of the first level, the latest last
	tables map[string]map[uint32][2]uint64
}

func newPlainMixed(params mixParams) *plainMixed {
	return &plainMixed{params: params, n: params.sizes(), right: map[uint32][]uint32{}, at: map[uint32][]uint64{}, tables: map[string]map[uint32][2]uint64{}}
}

// back returns the nth last element of a history, from 0, or zero before its beginning.
func back[T any](s []T, n int) (v T) {
	if n < len(s) {
		v = s[len(s)-1-n]
	}
	return v
}

func (p *plainMixed) line(table string, key uint32) [2]uint64 { return p.tables[table][key] }

func (p *plainMixed) put(table string, key uint32, v uint64) {
	if p.tables[table] == nil {
		p.tables[table] = map[uint32][2]uint64{}
	}
	if l := p.tables[table][key]; l[0] != v {
		p.tables[table][key] = [2]uint64{v, l[0]}
	}
}

// chain joins values, from first to last.
func chain(values ...uint64) uint64 {
	h := values[0]
	for _, v := range values[1:] {
		h = join(h, v)
	}
	return h
}

func (p *plainMixed) pcKeys() map[string]uint32 {
	var far uint32
	for _, pc := range p.pcs[max(0, len(p.pcs)-32):] {
		far = far<<p.params.pcShift ^ pc*0x9e3779b1
	}
	v := make([]uint64, 3)
	for i := range v {
		v[i] = uint64(back(p.pcs, i))
	}
	return map[string]uint32{
		"pc6": hash(uint64(far), p.n.pcs), "pc3": hash(chain(v...), p.n.pcs), "pc1": hash(v[0], p.n.pcs),
	}
}

// rolling returns a hash of values, the latest first, of which only the first four have
// an influence.
func rolling(values [4]uint64) (h uint64) {
	for i := 3; i >= 0; i-- {
		h = h<<21 ^ values[i]*0x9e3779b97f4a7c15>>20
	}
	return h
}

func (p *plainMixed) edKeys(pc uint32) map[string]uint32 {
	here := uint64(pc)
	seen := p.at[hash(here, p.n.slots)]
	stride := func(n int) uint64 { return back(seen, n) - back(seen, n+1) }
	var values, strides [4]uint64
	for i := range values {
		values[i], strides[i] = back(seen, i), stride(i)
	}
	return map[string]uint32{
		"dfcm3":  hash(rolling(strides), p.n.values),
		"dfcm1":  hash(chain(stride(0), here), p.n.values),
		"fcm3":   hash(chain(rolling(values), here), p.n.values),
		"fcm1":   hash(chain(back(seen, 0), here), p.n.values),
		"global": hash(chain(here, uint64(back(p.pcs, 0))), p.n.pcs),
		"after":  hash(chain(back(p.eds, 0), here), p.n.values),
	}
}

func (p *plainMixed) candidates(pc uint32) (pcs [mixPCs]uint32, eds [mixEDs]uint64) {
	k := p.pcKeys()
	for i, name := range []string{"pc6", "pc3", "pc1"} {
		l := p.line(name, k[name])
		pcs[i], pcs[i+3] = uint32(l[0]), uint32(l[1])
	}
	k = p.edKeys(pc)
	seen := p.at[hash(uint64(pc), p.n.slots)]
	last := back(seen, 0)
	d3, d1 := p.line("dfcm3", k["dfcm3"]), p.line("dfcm1", k["dfcm1"])
	f3, f1 := p.line("fcm3", k["fcm3"]), p.line("fcm1", k["fcm1"])
	eds = [mixEDs]uint64{
		last + d3[0], last + d1[0], f3[0], f1[0], last,
		back(p.eds, 0) + p.line("global", k["global"])[0], p.line("after", k["after"])[0],
		last + d3[1], last + d1[1], f3[1], f1[1], back(seen, 1),
	}
	return pcs, eds
}

// take adds a record. If everything was as expected for long enough, and the same
// predictor of the instruction was right often enough, the tables stay as they are.
func (p *plainMixed) take(pc uint32, ed uint64) {
	slot := hash(uint64(pc), p.n.slots)
	pcs, eds := p.candidates(pc)
	right := p.right[slot]
	first := p.first(pc)
	id := first
	if eds[id] != ed {
		id = uint32(slices.Index(eds[:], ed)) & 15 // 15: none
	}
	steady := p.streak >= runAfter && back(right, 0) <= mixLast
	for i := range steadyAfter + 1 {
		if i >= len(right) {
			steady = steady && first == 0 && len(right) >= steadyAfter // a predictor of before the first record has number 0
		} else if back(right, i) != first {
			steady = false
		}
	}
	expected := pcs[0] == pc && eds[first] == ed
	p.streak++
	if !expected {
		p.streak = 0
	}
	if !steady || !expected {
		p.enter(pc, ed)
	}
	p.pcs, p.eds = append(p.pcs, pc), append(p.eds, ed)
	p.at[slot] = append(p.at[slot], ed)
	p.right[slot] = append(right, id)
	p.ids = append(p.ids, id)
	p.joint = append(p.joint, expected)
}

// first returns the expected candidate at a PC.
func (p *plainMixed) first(pc uint32) uint32 {
	if id := back(p.right[hash(uint64(pc), p.n.slots)], 0); id < mixEDs {
		return id
	}
	return 0
}

func (p *plainMixed) enter(pc uint32, ed uint64) {
	last := back(p.at[hash(uint64(pc), p.n.slots)], 0)
	for name, key := range p.pcKeys() {
		p.put(name, key, uint64(pc))
	}
	for name, key := range p.edKeys(pc) {
		v := ed
		switch name {
		case "dfcm3", "dfcm1":
			v = ed - last
		case "global":
			v = ed - back(p.eds, 0)
		}
		p.put(name, key, v)
	}
}

// TestMixedAgainstPlain checks, before every record, that every predictor of the mixed
// profile agrees with the plain one.
func TestMixedAgainstPlain(t *testing.T) {
	rnd := rand.New(rand.NewPCG(9, 9))
	for name, trace := range traces() {
		params := mixParams{smaller: byte(rnd.IntN(mixSmallest + 1)), pcShift: byte(1 + rnd.IntN(16))}
		m, p := newMixedModel(params, false), newPlainMixed(params)
		m.Begin(nil, nil)
		for i := 0; len(trace) >= RecordSize && i < 8000; i++ {
			pc, ed := binary.LittleEndian.Uint32(trace), binary.LittleEndian.Uint64(trace[4:])
			trace = trace[RecordSize:]
			ask := pc
			if rnd.IntN(4) == 0 {
				ask = rnd.Uint32() // an instruction not seen before
			}
			m.viewPC6()
			m.viewPC()
			m.viewED(ask)
			pcs, eds := p.candidates(ask)
			if m.pcView.candidates != pcs || m.edView.candidates != eds {
				t.Fatalf("%s, record %d:\n%x %x, want\n%x %x", name, i, m.pcView.candidates, m.edView.candidates, pcs, eds)
			}
			m.record(pc, ed)
			p.take(pc, ed)
		}
	}
}
