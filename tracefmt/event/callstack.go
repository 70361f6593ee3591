package event

// CallStack follows calls and returns of one thread. Frames are return
// addresses, outermost first. The zero value is an empty stack.
//
// A return pops up to the innermost frame that expects its target. That is a guess where
// frames are left by other means than returns (longjmp, unwinding): the machine, which
// knows the stack pointer, says what happened to the stack then by [Unwound] and
// [Rewound].
type CallStack struct {
	Frames []uint64
}

// unwindLimit bounds the search for the frame that a return goes to.
const unwindLimit = 1 << 12

// Call enters a function that will return to ret.
func (s *CallStack) Call(ret uint64) { s.Frames = append(s.Frames, ret) }

// Return leaves to target and says how many frames that popped: 1 for an
// ordinary return, more for a long jump, 0 when no frame expects target (a
// tail of a hand-written routine, a coroutine switch).
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
