// Package rewind saves the content of everything that can be reached from some values, and
// restores it in place.
//
// Pointers keep their values: an object is not copied to another address, but its previous
// content is restored. So closures and pointers into the middle of an object remain valid,
// and types need no code to copy themselves. Variables that only a closure captures are not
// reached.
//
// A [State] may be restored any number of times, by one goroutine at a time, while nothing
// else uses the values.
package rewind

import (
	"reflect"
	"unsafe"
)

// State is the content of a graph of values at one time.
type State struct {
	objects []object
	slices  []elements
	ends    []reflect.Value // slices to which elements are only appended
	maps    []entries
	bytes   uint64
}

// object is what a pointer points to.
type object struct{ at, saved reflect.Value }

// elements are the elements of a slice.
type elements struct{ of, saved reflect.Value }

// entries are the entries of a map.
type entries struct{ of, keys, values reflect.Value }

// Constant is a value that can say that what it leads to never changes.
type Constant interface{ Constant() bool }

// Appended marks a type whose values do not change once they are in a slice. Such slices
// are only appended to.
type Appended interface{ Appended() }

// Save saves what can be reached from the roots, which are pointers. Values of types for
// which shared returns true are not saved, because they do not change or are saved in
// another way. (Such a value inside a structure is restored with the structure.) Slices of
// such types are restored to their length.
func Save(shared func(reflect.Type) bool, roots ...any) *State {
	s := saver{state: new(State), shared: shared, seen: map[key]bool{}, types: map[reflect.Type]kind{}}
	for _, r := range roots {
		s.walk(reflect.ValueOf(r))
	}
	return s.state
}

// Bytes estimates the memory that the state uses, in bytes.
func (s *State) Bytes() uint64 { return s.bytes }

// Restore restores the content.
func (s *State) Restore() {
	for i := range s.objects {
		s.objects[i].at.Set(s.objects[i].saved)
	}
	for _, v := range s.ends {
		v.SetCap(v.Len()) // the elements after that belong to others
	}
	for i := range s.slices {
		reflect.Copy(s.slices[i].of, s.slices[i].saved)
	}
	for i := range s.maps {
		m := &s.maps[i]
		m.of.Clear()
		for n := range m.keys.Len() {
			m.of.SetMapIndex(m.keys.Index(n), m.values.Index(n))
		}
	}
}

// key identifies an object, slice or map that was visited: its address, length and type.
type key struct {
	at   unsafe.Pointer
	len  int
	what reflect.Type
}

// kind is what is known about a type.
type kind struct {
	leads    bool // values may lead to others
	shared   bool
	constant bool // they are Constants
}

type saver struct {
	state  *State
	shared func(reflect.Type) bool
	seen   map[key]bool
	types  map[reflect.Type]kind
}

// kind returns the kind of a type. It examines each type once.
func (s *saver) kind(t reflect.Type) kind {
	k, ok := s.types[t]
	if !ok {
		k = kind{shared: s.shared(t) || t.Implements(reflect.TypeFor[Appended]()), constant: t.Kind() == reflect.Pointer && t.Implements(reflect.TypeFor[Constant]())}
		s.types[t] = k // for a type that contains itself, through a pointer
		k.leads = s.leads(t)
		s.types[t] = k
	}
	return k
}

// leads reports whether values of a type may lead to others.
func (s *saver) leads(t reflect.Type) bool {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	case reflect.Array:
		return s.kind(t.Elem()).leads
	case reflect.Struct:
		for i := range t.NumField() {
			if s.kind(t.Field(i).Type).leads {
				return true
			}
		}
	}
	return false
}

// first records a visit, and reports whether it is the first.
func (s *saver) first(at unsafe.Pointer, n int, what reflect.Type) bool {
	k := key{at, n, what}
	if s.seen[k] {
		return false
	}
	s.seen[k] = true
	return true
}

// walk saves what a value leads to. Structures and arrays must be addressable.
func (s *saver) walk(v reflect.Value) {
	if k := s.kind(v.Type()); !k.leads || k.shared {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() || s.kind(v.Type().Elem()).shared {
			return
		}
		if s.kind(v.Type()).constant && v.Interface().(Constant).Constant() {
			return
		}
		s.object(v)
	case reflect.Interface:
		s.dynamic(v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			s.walk(open(v.Field(i)))
		}
	case reflect.Array:
		for i := range v.Len() {
			s.walk(v.Index(i))
		}
	case reflect.Slice:
		switch {
		case !s.kind(v.Type().Elem()).shared:
			s.slice(v)
		case v.CanSet():
			s.state.ends = append(s.state.ends, v)
		}
	case reflect.Map:
		if !v.IsNil() {
			s.table(v)
		}
	}
}

// open returns a field without the mark that it is not exported.
func open(f reflect.Value) reflect.Value {
	return reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()
}

// dynamic visits the value in an interface, which itself cannot change.
func (s *saver) dynamic(v reflect.Value) {
	if !v.IsValid() {
		return
	}
	if k := v.Kind(); k == reflect.Struct || k == reflect.Array {
		own := reflect.New(v.Type()).Elem()
		own.Set(v)
		v = own
	}
	s.walk(v)
}

func (s *saver) object(p reflect.Value) {
	t := p.Type().Elem()
	if t.Size() == 0 || !s.first(p.UnsafePointer(), 1, t) {
		return
	}
	at := reflect.NewAt(t, p.UnsafePointer()).Elem()
	saved := reflect.New(t).Elem()
	saved.Set(at)
	s.state.objects = append(s.state.objects, object{at, saved})
	s.state.bytes += uint64(t.Size())
	s.walk(at)
}

func (s *saver) slice(v reflect.Value) {
	t := v.Type()
	if v.Len() == 0 || !s.first(v.UnsafePointer(), v.Len(), t) {
		return
	}
	of := v.Slice(0, v.Len()) // a copy, since the header may change
	saved := reflect.MakeSlice(t, v.Len(), v.Len())
	reflect.Copy(saved, of)
	s.state.slices = append(s.state.slices, elements{of, saved})
	s.state.bytes += uint64(v.Len()) * uint64(t.Elem().Size())
	if s.kind(t.Elem()).leads {
		for i := range of.Len() {
			s.walk(of.Index(i))
		}
	}
}

func (s *saver) table(v reflect.Value) {
	t := v.Type()
	if !s.first(v.UnsafePointer(), 0, t) {
		return
	}
	of := reflect.New(t).Elem() // a copy, since v may be a variable that will hold another map
	of.Set(v)
	n := v.Len()
	e := entries{of, reflect.MakeSlice(reflect.SliceOf(t.Key()), n, n), reflect.MakeSlice(reflect.SliceOf(t.Elem()), n, n)}
	at := 0
	for it := of.MapRange(); it.Next(); at++ {
		e.keys.Index(at).SetIterKey(it)
		e.values.Index(at).SetIterValue(it)
	}
	s.state.maps = append(s.state.maps, e)
	s.state.bytes += uint64(n) * uint64(t.Key().Size()+t.Elem().Size())
	for i := range n {
		s.walk(e.keys.Index(i))
		s.walk(e.values.Index(i))
	}
}
