package race

import (
	"cmp"
	"slices"
)

// Partial is the error of an interrupted analysis, with what it found.
type Partial struct {
	Pairs []Pair // by their places
	// Counted says that the counts are those of the whole run; otherwise they
	// are those of a part of it, and there may be more pairs.
	Counted bool
	Err     error // why it ended
}

// Pair is two places that raced, the first of which is the lower.
type Pair struct {
	Places  [2]Place
	Dynamic uint64 // dynamic pairs seen
}

func (p *Partial) Error() string { return p.Err.Error() }
func (p *Partial) Unwrap() error { return p.Err }

// PartialOf returns what is left to say of a whole result when what was to be done with
// it was interrupted.
func PartialOf(res *Result, err error) *Partial {
	p := &Partial{Counted: true, Err: err}
	for i := range res.Races {
		r := &res.Races[i]
		p.add(r.First.Earlier.Place, r.First.Later.Place, r.Dynamic)
	}
	return p.sorted()
}

// partial returns the error of an analysis that ended because of err.
func (e *engine) partial(counted bool, err error) *Partial {
	p := &Partial{Counted: counted, Err: err}
	for key, found := range e.pairs.Pairs {
		x, y := key.Places()
		p.add(e.places[x], e.places[y], found.Dynamic)
	}
	return p.sorted()
}

func (p *Partial) add(a, b Place, dynamic uint64) {
	if comparePlaces(a, b) > 0 {
		a, b = b, a
	}
	p.Pairs = append(p.Pairs, Pair{[2]Place{a, b}, dynamic})
}

func (p *Partial) sorted() *Partial {
	slices.SortFunc(p.Pairs, func(a, b Pair) int {
		return cmp.Or(comparePlaces(a.Places[0], b.Places[0]), comparePlaces(a.Places[1], b.Places[1]))
	})
	return p
}

func comparePlaces(a, b Place) int {
	return cmp.Or(cmp.Compare(a.PC, b.PC), cmp.Compare(a.Op, b.Op))
}
