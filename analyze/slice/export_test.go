package slice

// Slotted is what a graph must be for the faster way.
type Slotted = slotted

// Impatient makes a forward slice be found in a pass at once.
func Impatient(o Options) Options {
	o.patience = 1
	return o
}

var Housekeeping = housekeeping
