package wet

import (
	"hindsight/mpsim/rv"
	"hindsight/tracefmt/event"
)

// NodeID numbers the nodes of a graph, dense from 0. All threads share them.
type NodeID uint32

// NodeKind says what a node stands for.
type NodeKind uint8

const (
	NodePath   NodeKind = iota // a Ball–Larus path: instructions
	NodeStart                  // a thread begins with the registers it was given
	NodeCall                   // a hooked function ran without being recorded
	NodeSignal                 // a signal's handler is entered or left
)

var nodeKindNames = [...]string{"path", "start", "call", "signal"}

func (k NodeKind) String() string {
	if int(k) < len(nodeKindNames) {
		return nodeKindNames[k]
	}
	return "kind?"
}

// Node is a path with its statements, or an outside statement.
type Node struct {
	Kind   NodeKind
	Func   uint32      // of a path: index of the function, by the numbering of package cfg
	Blocks []NodeBlock // of a path
	Stmts  []Stmt
	Callee uint64 // of a call: the function's address
	Args   uint8  // of a call: how many integer arguments it takes
}

// NodeBlock is a basic block of a path.
type NodeBlock struct {
	PC    uint64
	First int // its first statement, as an index into Node.Stmts
}

// Stmt is a statement: an instruction, or what happened outside.
type Stmt struct {
	PC     uint64  // of the instruction; of a call: the call instruction; otherwise 0
	Inst   rv.Inst // of a path's statements
	Block  int     // index into Node.Blocks
	Valued bool    // its values are recorded; see Graph.Value for those that need no record
}

// Instance is one execution of one statement.
type Instance struct {
	Thread event.ThreadID
	Node   NodeID
	Stmt   uint32 // index into Node.Stmts
	K      uint64 // earlier executions of the node by the thread
}

// Site is a place of an instruction.
type Site struct {
	Node NodeID
	Stmt uint32
}

// Thread says how much a thread executed.
type Thread struct {
	ID    event.ThreadID
	Times uint64 // executions of nodes; its timestamps are 0 … Times-1
	Stmts uint64 // instances of statements
}

// Execution is one execution of a node.
type Execution struct {
	Node NodeID
	K    uint64
	Time uint64 // the thread's timestamp
}

// DepKind says what a dependence goes through.
type DepKind uint8

const (
	DepRegister DepKind = iota
	DepMemory
	DepControl
	DepSync // order: an unlock and the next lock, the end of a thread and the thread that joined it
	// DepExit is not in a graph. Package slice finds it: the decision that ended a loop,
	// for a later use of what was defined in the loop.
	DepExit
	// DepPotential is not in a graph either: a decision that could have led to another
	// write of what is read.
	DepPotential
)

var depKindNames = [...]string{"register", "memory", "control", "sync", "exit", "potential"}

func (k DepKind) String() string {
	if int(k) < len(depKindNames) {
		return depKindNames[k]
	}
	return "kind?"
}

// Dep is a dependence: Used used what From produced, or ran because of it.
type Dep struct {
	Kind DepKind
	Reg  uint8 // of DepRegister: 0–31 integer, 32–63 floating-point
	From Instance
	To   Instance
}
