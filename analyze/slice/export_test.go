package slice

// Slotted is the interface of graphs with the faster algorithm.
type Slotted = slotted

// Impatient makes a forward slice use a pass at once.
func Impatient(o Options) Options {
	o.patience = 1
	return o
}

var Housekeeping = housekeeping
