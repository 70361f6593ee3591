package resolve

import (
	"cmp"

	"hindsight/tracefmt/event"
)

// ref identifies an execution: its position in the order of units (see pass.Unit.Order),
// and the ordinal of the site or the index of the event.
type ref struct{ Order, Ordinal uint64 }

// Execution is one execution of an access.
type Execution struct {
	Access uint32
	Thread event.ThreadID
	Addr   uint64
	ref
}

// Instance is a dynamic pair; later belongs to the unit that ended later.
type Instance struct {
	Later, Earlier Execution
	Addr           uint64 // first common byte
}

// compare orders the instances of a static pair (docs/semantics.md, "First and
// last").
func (x *Instance) compare(y *Instance) int {
	return cmp.Or(
		cmp.Compare(x.Later.Order, y.Later.Order),
		cmp.Compare(x.Earlier.Order, y.Earlier.Order),
		cmp.Compare(x.Later.Ordinal, y.Later.Ordinal),
		cmp.Compare(x.Earlier.Ordinal, y.Earlier.Ordinal),
		cmp.Compare(x.Later.Access, y.Later.Access),
		cmp.Compare(x.Earlier.Access, y.Earlier.Access),
		cmp.Compare(x.Addr, y.Addr),
	)
}
