package ldr

import (
	"encoding/binary"
	"slices"
)

// list is a part of the tree of a window: items, and the values of all of them.
type list struct {
	ids    []uint32
	values []uint64
}

func (l *list) clear() { l.ids, l.values = l.ids[:0], l.values[:0] }

func (l *list) append(m *list) {
	l.ids = append(l.ids, m.ids...)
	l.values = append(l.values, m.values...)
}

// open is a loop that has not ended yet.
type open struct {
	header    int32
	iteration list // the current one
	run       list // items of one iteration, and the values of all iterations in the run
	count     int  // iterations in the run
	done      list // the preceding runs
}

// reducer turns windows into items, and defines shapes as needed.
type reducer struct {
	table table
	known map[string]uint32 // shapes by content
	def   []byte            // new definitions, to be written before the items
	stack []*open
	spare []*open
	key   []byte
}

// define returns the number of a shape, and writes its definition if it is new. ok is
// false if the table is full.
func (r *reducer) define(s shape) (id uint32, ok bool) {
	k := r.key[:0]
	k = append(k, byte(s.kind))
	switch s.kind {
	case blockShape:
		k = binary.AppendUvarint(k, uint64(s.words))
		k = binary.AppendUvarint(k, s.leader)
	case sequenceShape:
		for _, m := range s.members {
			k = binary.AppendUvarint(k, uint64(m))
		}
	case loopShape:
		k = binary.AppendUvarint(k, uint64(s.members[0]))
		k = binary.AppendUvarint(k, uint64(s.count))
		k = appendBits(k, s.chaotic)
	}
	r.key = k
	if id, ok := r.known[string(k)]; ok {
		return id, true
	}
	s.members, s.chaotic = slices.Clone(s.members), slices.Clone(s.chaotic)
	id, err := r.table.add(s)
	if err != nil {
		return 0, false
	}
	r.known[string(k)] = id
	r.def = s.appendDefinition(r.def, id, &r.table)
	return id, true
}

func appendBits(dst []byte, bits []bool) []byte {
	for len(bits) > 0 {
		n := min(8, len(bits))
		var b byte
		for i, set := range bits[:n] {
			if set {
				b |= 1 << i
			}
		}
		dst, bits = append(dst, b), bits[n:]
	}
	return dst
}

func (s *shape) appendDefinition(dst []byte, id uint32, t *table) []byte {
	dst = append(dst, byte(s.kind))
	switch s.kind {
	case blockShape:
		if s.leader == 0 {
			return binary.AppendUvarint(dst, uint64(s.words)*2)
		}
		dst = binary.AppendUvarint(dst, uint64(s.words-1)*2+1)
		d := s.leader&^leaderBit - t.leader
		t.leader += d
		return binary.AppendUvarint(dst, zigzag(d))
	case sequenceShape:
		dst = binary.AppendUvarint(dst, uint64(len(s.members)))
		for _, m := range s.members {
			dst = binary.AppendUvarint(dst, uint64(id-m))
		}
	case loopShape:
		dst = binary.AppendUvarint(dst, uint64(id-s.members[0]))
		dst = appendBits(dst, s.chaotic)
		if s.count > 0 {
			dst = binary.AppendUvarint(dst, uint64(s.count))
		}
	}
	return dst
}

// reduce reads a window as a tree and returns its top level. nodes[i] is the node of the
// ith block and blocks[i] its shape. values are those of all blocks.
func (r *reducer) reduce(nodes []int32, blocks []uint32, values []uint64, n *nest) *list {
	top := new(list)
	for i, x := range nodes {
		for len(r.stack) > 0 && !n.contains(r.stack[len(r.stack)-1].header, x) {
			r.close(top)
		}
		if k := len(r.stack); k > 0 && r.stack[k-1].header == x {
			r.iterate(r.stack[k-1])
		} else if n.header[x] {
			r.open(x)
		}
		to := top
		if k := len(r.stack); k > 0 {
			to = &r.stack[k-1].iteration
		}
		k := int(r.table.shapes[blocks[i]].values)
		to.ids = append(to.ids, blocks[i])
		to.values = append(to.values, values[:k]...)
		values = values[k:]
	}
	for len(r.stack) > 0 {
		r.close(top)
	}
	return top
}

func (r *reducer) open(header int32) {
	var o *open
	if k := len(r.spare); k > 0 {
		o, r.spare = r.spare[k-1], r.spare[:k-1]
	} else {
		o = new(open)
	}
	o.header = header
	r.stack = append(r.stack, o)
}

// iterate ends an iteration. It adds the iteration to the run if both took the same path.
func (r *reducer) iterate(o *open) {
	if o.count > 0 && !slices.Equal(o.iteration.ids, o.run.ids) {
		r.collapse(o)
	}
	if o.count == 0 {
		o.run.ids = append(o.run.ids, o.iteration.ids...)
	}
	o.run.values = append(o.run.values, o.iteration.values...)
	o.count++
	o.iteration.clear()
}

// close ends the innermost open loop. Its items become part of the enclosing iteration.
func (r *reducer) close(top *list) {
	k := len(r.stack) - 1
	o := r.stack[k]
	r.stack = r.stack[:k]
	r.iterate(o)
	r.collapse(o)
	if k > 0 {
		top = &r.stack[k-1].iteration
	}
	top.append(&o.done)
	o.done.clear()
	r.spare = append(r.spare, o)
}

// collapse ends a run of iterations: the run becomes a loop if that is shorter.
func (r *reducer) collapse(o *open) {
	if o.count == 1 || !r.loop(o) {
		for range o.count {
			o.done.ids = append(o.done.ids, o.run.ids...)
		}
		o.done.values = append(o.done.values, o.run.values...)
	}
	o.run.clear()
	o.count = 0
}

// loop adds the run as a loop. It reports false if the run is not a loop.
func (r *reducer) loop(o *open) bool {
	width := len(o.run.values) / o.count
	chaotic := make([]bool, width)
	wild := 0
	for j := range chaotic {
		if !linear(o.run.values[j:], width, o.count) {
			chaotic[j] = true
			wild++
		}
	}
	// A loop with chaotic values has their kinds and its count in its shape. The loop
	// must save enough space to pay for that. It saves about a byte per value.
	if wild > 0 && (width-wild)*(o.count-1) < width/8+8 {
		return false
	}
	body := o.run.ids[0]
	if len(o.run.ids) > 1 {
		var ok bool
		body, ok = r.define(shape{kind: sequenceShape, members: o.run.ids})
		if !ok {
			return false
		}
	}
	s := shape{kind: loopShape, members: []uint32{body}, chaotic: chaotic}
	if wild > 0 {
		s.count = uint32(o.count)
	}
	id, ok := r.define(s)
	if !ok {
		return false
	}
	o.done.ids = append(o.done.ids, id)
	v := o.done.values
	if wild == 0 {
		v = append(v, uint64(o.count))
	}
	for j, c := range chaotic {
		if !c {
			first := o.run.values[j]
			v = append(v, first, o.run.values[width+j]-first)
			continue
		}
		for i := range o.count {
			v = append(v, o.run.values[i*width+j])
		}
	}
	o.done.values = v
	return true
}

// linear reports whether count values, width apart, change by a constant.
func linear(v []uint64, width, count int) bool {
	stride := v[width] - v[0]
	for i := 2; i < count; i++ {
		if v[i*width]-v[(i-1)*width] != stride {
			return false
		}
	}
	return true
}
