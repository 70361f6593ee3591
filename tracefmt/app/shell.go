package app

// Kind says how control leaves a block.
type Kind uint8

const (
	// Indirect leads to one of Targets, or to any other block. An unknown block is
	// Indirect without targets.
	Indirect     Kind = iota
	Next              // to Targets[0]
	Branch            // to Targets[0] when taken, else to Targets[1]
	Call              // calls Targets[0] and returns to Return
	CallIndirect      // calls one of Targets, or anything, and returns to Return
	Return            // to the innermost call's Return
	numKinds
)

// Block is what a [Shell] says about a block.
type Block struct {
	Kind    Kind
	Targets []uint64 // see the kind
	Return  uint64   // the return address of a call
	Func    uint64   // identifier of the function; for Options.Functions
}

// Shell is a program's control flow (section 5.1). Block must always return the same
// result for the same pc. It returns false for an address that it does not know. The
// codec caches the results.
type Shell interface {
	Block(pc uint64) (Block, bool)
}

// node is a block that was executed, with what the codec learned about it.
type node struct {
	pc      uint64
	kind    Kind
	outside bool     // its function was not chosen
	targets []uint64 // of the indirect kinds: sorted, without duplicates
	ret     uint64
	cond    *conditional // of a branch

	to      [2]uint64 // of the other kinds
	toNode  [2]*node  // nil until needed
	retNode *node

	learned []uint64       // targets of exceptions, in order
	flag    *conditional   // decides whether control goes where the shell says
	tests   []*conditional // decides whether the target is learned[i]
	search  []*conditional // decides the binary search, by index into targets
	site    uint32         // number among jumps of the asymmetric scheme, from 1
}

// maxLearned limits the targets that a block learns.
const maxLearned = 256

// forget removes what was learned about the node.
func (n *node) forget() {
	n.cond, n.flag, n.tests, n.search, n.learned, n.site = nil, nil, nil, nil, n.learned[:0], 0
}
