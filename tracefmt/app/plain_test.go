package app

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plain is a second implementation of sections 3.1, 5.2 and 5.3 of the paper that
// disregards speed: histories are strings, counters are in a map, and the code is one big
// number, the low end of the interval.
type plain struct {
	shell mapShell
	o     Options

	numbers  map[string]int    // of conditionals, by name
	local    map[string]string // history by name
	all      map[string]string // directions by name
	dirs     string            // all directions
	places   map[uint32]int    // places in dirs, by hash
	far      map[uint64]int    // places in dirs, by hash of the last 128 directions
	again    int               // the place in dirs that is expected to repeat
	agreed   int               // directions that have agreed, or 0
	global   string
	counters map[string][2]int
	low      *big.Int
	width    uint32
	shifts   int
	stack    []plainFrame

	ids   []uint64
	sites map[uint64]int
}

type plainFrame struct {
	ret    uint64
	global string
}

func newPlain(s mapShell, o Options) *plain {
	o, _ = o.withDefaults()
	return &plain{
		shell: s, o: o, numbers: map[string]int{}, local: map[string]string{}, all: map[string]string{}, places: map[uint32]int{}, far: map[uint64]int{},
		global: strings.Repeat("1", o.Global), counters: map[string][2]int{},
		low: new(big.Int), width: 1<<32 - 1, sites: map[uint64]int{},
	}
}

// code narrows the interval to the part of direction y, by the counters of a
// context.
func (p *plain) code(context string, y int) {
	c, ok := p.counters[context]
	if !ok {
		c = [2]int{1, 1}
	}
	first := 0 // the direction at the low end of the interval
	if c[1] < c[0] {
		first = 1
	}
	part := p.width / uint32(c[0]+c[1]) * uint32(c[first])
	if y == first {
		p.width = part
	} else {
		p.low.Add(p.low, big.NewInt(int64(part)))
		p.width -= part
	}
	for p.width < 1<<24 {
		p.width *= 256
		p.low.Mul(p.low, big.NewInt(256))
		p.shifts++
	}
	c[y] += p.o.Step
	if c[0]+c[1] > p.o.Limit {
		c[0], c[1] = (c[0]+1)/2, (c[1]+1)/2
	}
	p.counters[context] = c
}

// number gives a conditional its number and its history.
func (p *plain) number(name string) {
	if _, ok := p.numbers[name]; !ok {
		p.numbers[name] = len(p.numbers)
		p.local[name] = strings.Repeat("1", p.o.Local)
	}
}

// decide codes a direction of a conditional.
func (p *plain) decide(name string, yes bool) {
	p.number(name)
	y := 0
	if yes {
		y = 1
	}
	slot := p.numbers[name] % (1 << p.o.Table)
	context := fmt.Sprint(p.local[name], "/", p.global)
	if p.o.Repeats {
		context = p.repeat(p.numbers[name], context)
	}
	p.code(fmt.Sprint(slot, "/", context, p.runs(name)), y)
	p.all[name] += fmt.Sprint(y)
	if p.agreed > 0 {
		if int(p.dirs[p.again]-'0') == y {
			p.agreed, p.again = p.agreed+1, p.again+1
		} else {
			p.agreed = 0
		}
	}
	p.dirs += fmt.Sprint(y)
	last := func(history string, n int) string {
		history += fmt.Sprint(y)
		return history[len(history)-n:]
	}
	p.local[name], p.global = last(p.local[name], p.o.Local), last(p.global, p.o.Global)
}

// runs returns the context of a conditional's loops, from all its directions.
func (p *plain) runs(name string) string {
	if !p.o.Loops {
		return ""
	}
	var lengths [3]int // of the current run and the two before it in that direction
	all := "1" + p.all[name]
	way := all[len(all)-1]
	for i, n := len(all)-1, 0; i >= 0 && n < 3; n++ {
		for ; i >= 0 && all[i] == way; i-- {
			lengths[n]++
		}
		for ; i >= 0 && all[i] != way; i-- {
		}
	}
	return fmt.Sprint("runs", lengths[0] == lengths[1], lengths[0] == 2*lengths[1]-lengths[2])
}

// repeat returns the context of a conditional that was reached before by the same
// directions.
func (p *plain) repeat(number int, otherwise string) string {
	bits := uint32(0)
	for _, d := range p.dirs[max(0, len(p.dirs)-24):] {
		bits = bits*2 + uint32(d-'0')
	}
	h := (bits*0x9e3779b1 ^ uint32(number)*0x85ebca6b) * 0xc2b2ae35 >> 14
	p.repeatFar(number)
	if before, ok := p.places[h]; ok && p.agreed == 0 {
		n := 0
		for n < 32 && n < before && p.dirs[before-1-n] == p.dirs[len(p.dirs)-1-n] {
			n++
		}
		if n >= 16 {
			p.agreed, p.again = n, before
		}
	}
	p.places[h] = len(p.dirs)
	if p.agreed == 0 {
		return otherwise
	}
	length := 0
	for _, bound := range []int{32, 128, 512} {
		if p.agreed >= bound {
			length++
		}
	}
	return fmt.Sprint("again ", p.dirs[p.again:p.again+1], " after ", length)
}

// repeatFar looks for the place found by the last 128 directions.
func (p *plain) repeatFar(number int) {
	var past [2]uint64
	for i := 1; i <= min(128, len(p.dirs)); i++ {
		past[(i-1)/64] |= uint64(p.dirs[len(p.dirs)-i]-'0') << ((i - 1) % 64)
	}
	h := (past[0]*0x9e3779b97f4a7c15 ^ past[1]*0xc2b2ae3d27d4eb4f ^ uint64(number)*0x85ebca6b85ebca6b) * 0xff51afd7ed558ccd >> 46
	before, ok := p.far[h]
	p.far[h] = len(p.dirs)
	if !ok || p.agreed >= 64 {
		return
	}
	n := 0
	for n < 32 && n < before && p.dirs[before-1-n] == p.dirs[len(p.dirs)-1-n] {
		n++
	}
	if n >= 16 {
		p.agreed, p.again = 64, before
	}
}

// identifier codes the place of a target in the list of all.
func (p *plain) identifier(site uint64, id int) {
	if p.sites[site] == 0 {
		p.sites[site] = len(p.sites) + 1
	}
	before := 0
	for i := 0; 1<<i < len(p.ids); i++ {
		// The table of counters is shared by a hash, which is part of the
		// format.
		h := (uint32(p.sites[site])*0x9e3779b1 ^ uint32(before+1<<i)*0x85ebca6b) * 0xc2b2ae35
		y := id / (1 << i) % 2
		p.code(fmt.Sprint("id/", h>>16), y)
		before += y << i
	}
}

// enter saves the current activation, and leave restores one.
func (p *plain) enter(ret uint64) {
	p.stack = append(p.stack, plainFrame{ret, p.global})
	if p.o.Intraprocedural {
		p.global = strings.Repeat("1", p.o.Global)
	}
}

func (p *plain) leave() {
	last := len(p.stack) - 1
	if p.o.Intraprocedural {
		p.global = p.stack[last].global
	}
	p.stack = p.stack[:last]
}

// body returns the body of the only chunk of a walk that follows the shell, except for
// targets of indirect jumps that are in no list.
func (p *plain) body(pcs []uint64) []byte {
	var gaps []int
	var targets []uint64
	gap := 0
	learned := map[uint64][]uint64{}
	except := func(pc uint64) {
		gaps, targets = append(gaps, gap), append(targets, pc)
		gap = -1
	}
	for i, pc := range pcs {
		if i == 0 {
			except(pc)
			gap++
			continue
		}
		from := pcs[i-1]
		b := p.shell[from]
		switch b.Kind {
		case Branch:
			p.decide(fmt.Sprint("if", from), pc == b.Targets[0])
		case Call:
			p.enter(b.Return)
		case Return:
			p.leave()
		case Indirect, CallIndirect:
			if p.o.Scheme == Asymmetric {
				if id := slices.Index(p.ids, pc); id >= 0 {
					p.identifier(from, id)
				} else {
					except(pc)
					p.ids = append(p.ids, pc)
				}
			} else {
				learned[from] = p.symmetric(from, pc, learned[from], except)
			}
			if b.Kind == CallIndirect {
				p.enter(b.Return)
			}
		}
		gap++
	}
	out := binary.AppendUvarint(nil, uint64(len(pcs)))
	out = append(out, 0)
	out = binary.AppendUvarint(out, uint64(len(gaps)))
	last := uint64(0)
	for i, t := range targets {
		out = binary.AppendVarint(binary.AppendUvarint(out, uint64(gaps[i])), int64(t-last))
		last = t
	}
	return append(out, p.low.FillBytes(make([]byte, p.shifts+4))...)
}

// symmetric codes a target by comparisons, and returns the extended list of learned
// targets.
func (p *plain) symmetric(from, pc uint64, learned []uint64, except func(uint64)) []uint64 {
	static := slices.Clone(p.shell[from].Targets)
	slices.Sort(static)
	static = slices.Compact(static)
	known, seen := slices.Contains(static, pc), slices.Contains(learned, pc)
	if !known && !seen {
		except(pc)
		if len(static) > 0 {
			p.number(fmt.Sprint("known", from))
		}
		p.number(fmt.Sprint("is", from, pc))
		return append(learned, pc)
	}
	if len(static) > 0 && len(learned) > 0 {
		p.decide(fmt.Sprint("known", from), known)
	}
	if !known {
		for _, t := range learned[:len(learned)-1] {
			if p.decide(fmt.Sprint("is", from, t), t == pc); t == pc {
				break
			}
		}
		return learned
	}
	for len(static) > 1 {
		mid := len(static) / 2
		// A comparison with one target of one jump is one conditional.
		p.decide(fmt.Sprint("from", from, static[mid]), pc >= static[mid])
		if pc >= static[mid] {
			static = static[mid:]
		} else {
			static = static[:mid]
		}
	}
	return learned
}

// obedient returns a walk that follows the shell, and stops where the shell ends.
func obedient(rng *rand.Rand, s mapShell, n int) []uint64 {
	var pcs, stack []uint64
	pc := uint64(0)
	bias := rng.IntN(10)
	for len(pcs) < n {
		b, ok := s[pc]
		if !ok {
			break
		}
		pcs = append(pcs, pc)
		switch b.Kind {
		case Return:
			if len(stack) == 0 {
				return pcs
			}
			pc, stack = stack[len(stack)-1], stack[:len(stack)-1]
			continue
		case Branch:
			pc = b.Targets[truth(rng.IntN(10) < bias)]
			continue
		case Call, CallIndirect:
			stack = append(stack, b.Return)
		}
		if len(b.Targets) > 0 && (b.Kind == Next || b.Kind == Call || rng.IntN(8) > 0) {
			pc = b.Targets[rng.IntN(len(b.Targets))]
		} else {
			pc = 1000 * rng.Uint64N(6)
		}
	}
	return pcs
}

// TestPlain compares the stream with that of the plain implementation, byte by byte.
func TestPlain(t *testing.T) {
	blocks, indirect := 0, 0
	for seed := range uint64(400) {
		rng := rand.New(rand.NewPCG(seed, 4))
		s, o := randomShell(rng), randomOptions(rng)
		o.Checkpoint = 0
		pcs := obedient(rng, s, 2000)
		if len(pcs) == 0 {
			continue
		}
		for _, pc := range pcs {
			if k := s[pc].Kind; k == Indirect || k == CallIndirect {
				indirect++
			}
		}
		blocks += len(pcs)
		data, _ := encode(t, s, o, pcs)
		filled, _ := o.withDefaults()
		got := data[len(appendHeader(nil, &filled))+1:]
		n, k := binary.Uvarint(got)
		got = got[k : k+int(n)]
		if want := newPlain(s, o).body(pcs); !bytes.Equal(got, want) {
			t.Fatalf("seed %d, %+v: % x, want % x", seed, o, got, want)
		}
	}
	if blocks < 50_000 || indirect < 1000 {
		t.Errorf("%d blocks only, %d of them indirect jumps", blocks, indirect)
	}
}
