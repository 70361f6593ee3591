package wet

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestShadow compares every byte's last writer with a plain table.
func TestShadow(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 5))
		s, plain := newShadow(), map[uint64]cell{}
		base := uint64(1<<pageShift) * rng.Uint64N(1<<40)
		where := func() uint64 { return base + rng.Uint64N(200)*rng.Uint64N(200)%(3<<pageShift) }
		for step := range 4000 {
			addr, size := where(), uint64(1)<<rng.IntN(4)
			switch rng.IntN(10) {
			case 0:
				size = rng.Uint64N(3 << pageShift)
				s.forget(addr, size)
				for i := range size {
					delete(plain, addr+i)
				}
			case 1, 2, 3, 4:
				if rng.IntN(50) == 0 {
					size = rng.Uint64N(1 << pageShift)
				}
				by := cell{src(rng.Uint64N(5) + 1), markOf(uint64(step), 3, uint8(min(size, 8)))}
				s.write(addr, size, by)
				for i := range size {
					plain[addr+i] = cell{by.src, by.mark.from(i)}
				}
			default:
				compareShadow(t, s, plain, addr, size)
			}
		}
	}
}

func compareShadow(t *testing.T, s *shadow, plain map[uint64]cell, addr, size uint64) {
	t.Helper()
	var want []cell
	whole := true
	for i := range size {
		c, ok := plain[addr+i]
		if whole = whole && ok; ok && !slices.ContainsFunc(want, c.same) {
			want = append(want, c)
		}
	}
	var out producers
	s.read(addr, size, &out)
	if !slices.EqualFunc(out.cells[:out.n], want, cell.same) || out.whole != whole {
		t.Fatalf("%d bytes at %#x: %v %v, want %v %v", size, addr, out.cells[:out.n], out.whole, want, whole)
	}
	for n, c := range want {
		part := out.parts[n]
		if part == 0 {
			part = part16(1<<size-1)<<4 | 7
		}
		for i := range size {
			by, ok := plain[addr+i]
			if own := ok && by.same(c); own != (part>>(4+i)&1 != 0) {
				t.Fatalf("byte %d of %d at %#x: producer %d has %#x", i, size, addr, n, part)
			} else if own && uint64(by.mark.first()) != (uint64(part&15)+1+i)&7 {
				t.Fatalf("byte %d of %d at %#x is byte %d of its store, not as %#x says", i, size, addr, by.mark.first(), part)
			}
		}
	}
	var all []cell
	s.scan(addr, size, func(c cell) {
		if !slices.ContainsFunc(all, c.same) {
			all = append(all, c)
		}
	})
	if !slices.EqualFunc(all, want, cell.same) {
		t.Fatalf("scan of %d bytes at %#x: %v, want %v", size, addr, all, want)
	}
}

// TestFrames compares the decisions in each frame, including recursion and long jumps,
// with those of a stack of tables.
func TestFrames(t *testing.T) {
	type table map[uint32]ref
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 6))
		var f frames
		plain, calls, rets := []table{{}}, []ref{{}}, []uint64(nil)
		last := []map[uint32]uint64{{}}
		for step := range uint64(3000) {
			by := ref{src(step + 1), step}
			switch rng.IntN(8) {
			case 0:
				ret := rng.Uint64N(4)
				f.call(ret, by)
				plain, calls, rets, last = append(plain, table{}), append(calls, by), append(rets, ret), append(last, map[uint32]uint64{})
			case 1:
				target := rng.Uint64N(4)
				f.leave(target)
				for i := len(rets) - 1; i >= 0; i-- {
					if rets[i] == target {
						plain, calls, rets, last = plain[:i+1], calls[:i+1], rets[:i], last[:i+1]
						break
					}
				}
			case 2, 3, 4:
				d := rng.Uint32N(10)
				f.decide(d, step+1, by)
				plain[len(plain)-1][d], last[len(last)-1][d] = by, step+1
			default:
				ask := []uint32{rng.Uint32N(10), rng.Uint32N(10), rng.Uint32N(12)}
				want, order := calls[len(calls)-1], uint64(0)
				for _, d := range ask {
					if n := last[len(last)-1][d]; n > order {
						want, order = plain[len(plain)-1][d], n
					}
				}
				if got, _ := f.find(ask, 0, 0); got != want {
					t.Fatalf("seed %d, step %d: %v, want %v", seed, step, got, want)
				}
			}
		}
	}
}

// someSequence returns sequences of many kinds.
func someSequence(rng *rand.Rand) []uint64 {
	n := rng.IntN(3000)
	out := make([]uint64, n)
	v, stride := rng.Uint64N(1<<20), rng.Uint64N(5)
	kind := rng.IntN(6)
	period := 2 + rng.IntN(60)
	for i := range out {
		switch kind {
		case 0:
			v = rng.Uint64()
		case 1:
			v += rng.Uint64N(3)
		case 2:
			v += stride
		case 3:
			if v += stride; i%period == 0 {
				v = rng.Uint64N(1 << 30)
			}
		case 4:
			v = uint64(i % period)
		case 5:
			if v -= stride; rng.IntN(100) == 0 {
				stride = -stride
			}
		}
		out[i] = v
	}
	return out
}

// TestNumbers checks that a sequence can be read from a part as it was added, by number,
// in a walk, and by value, whatever else the part contains.
func TestNumbers(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 7))
		var p part
		var size Size
		p.reset(0)
		var all [][]uint64
		for range 20 {
			values := someSequence(rng)
			if len(all) > 0 && rng.IntN(3) == 0 { // the same, with an offset
				values = slices.Clone(all[rng.IntN(len(all))])
				by := rng.Uint64N(100)
				for i := range values {
					values[i] += by
				}
			}
			all = append(all, values)
			var s seq
			for _, v := range values {
				s.add(v)
			}
			p.seq(&s, 4, &size)
		}
		l, err := decodePart(p.payload())
		if err != nil {
			t.Fatal(err)
		}
		d := decode(l.records)
		for n, values := range all {
			x := d.numbers(l, 1<<20)
			if d.Err != nil {
				t.Fatal(d.Err)
			}
			if _, err := x.open(); err != nil {
				t.Fatal(err)
			}
			compareNumbers(t, rng, n, x, values)
		}
		if len(d.Rest) != 0 {
			t.Errorf("%d bytes left", len(d.Rest))
		}
	}
}

func compareNumbers(t *testing.T, rng *rand.Rand, n int, x *numbers, values []uint64) {
	t.Helper()
	var walked []uint64
	x.each(func(_ int, v uint64) { walked = append(walked, v) })
	if x.n != uint64(len(values)) || !slices.Equal(walked, values) {
		t.Fatalf("sequence %d, form %d, differs", n, x.form)
	}
	for range min(50, len(values)) {
		i := rng.IntN(len(values))
		if v := x.get(uint64(i)); v != values[i] {
			t.Fatalf("sequence %d, form %d: number %d is %d, want %d", n, x.form, i, v, values[i])
		}
		ask := values[i] + uint64(rng.IntN(2))
		var want, got []uint64
		for j, v := range values {
			if v == ask {
				want = append(want, uint64(j))
			}
		}
		x.find(ask, func(j uint64) bool { // in any order
			got = append(got, j)
			return true
		})
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("sequence %d, form %d: %d stands at %v, want %v", n, x.form, ask, got, want)
		}
		if slices.IsSorted(values) {
			j, found := x.search(ask)
			if w, ok := slices.BinarySearch(values, ask); int(j) != w || ok != found {
				t.Fatalf("sequence %d: search of %d gives %d, want %d", n, ask, j, w)
			}
		}
	}
}
