package event

// CallStack follows the calls and returns of one thread. Frames are return addresses,
// outermost first. The zero value is an empty stack.
//
// A return pops up to the innermost frame that expects its target. This is a guess if
// frames are left by other means than returns (longjmp, unwinding). The machine knows the
// stack pointer, and reports by [Unwound] and [Rewound] what happened to the stack in
// such cases.
type CallStack struct {
	Frames []uint64
}

// unwindLimit limits the search for the frame that a return goes to.
const unwindLimit = 1 << 12

// Call enters a function that will return to ret.
func (s *CallStack) Call(ret uint64) { s.Frames = append(s.Frames, ret) }

// Return leaves to target and returns the number of frames popped: 1 for an ordinary
// return, more for a long jump, and 0 if no frame expects target (the tail of a
// hand-written routine, a coroutine switch).
func (s *CallStack) Return(target uint64) int {
	n := len(s.Frames)
	for i := n - 1; i >= 0 && n-i <= unwindLimit; i-- {
		if s.Frames[i] == target {
			s.Frames = s.Frames[:i]
			return n - i
		}
	}
	return 0
}
