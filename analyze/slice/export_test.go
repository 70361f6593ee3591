package slice

// Slotted is what a graph must be for the faster way.
type Slotted = slotted
