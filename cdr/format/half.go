package format

import "fmt"

// HalfError says that a trace lacks the control flow of the run, its accesses, or
// both. Races need both.
type HalfError struct {
	Meta    Meta
	Missing string // the missing half, in words
}

func (e *HalfError) Error() string {
	if e.Meta.Mode == ModeSchedule {
		return fmt.Sprintf("recorded with --record %s, without %s", e.Meta.Mode, e.Missing)
	}
	return fmt.Sprintf("recorded with --record %s, without %s; to find races record the same run again", e.Meta.Mode, e.Missing)
}

// CheckBothHalves returns a [*HalfError] unless a trace has control flow and
// accesses.
func (m Meta) CheckBothHalves() error {
	switch m.Mode {
	case ModeCOR:
		return &HalfError{m, "the addresses of the accesses"}
	case ModeDOR:
		return &HalfError{m, "the control flow that says which instructions made the accesses"}
	case ModeSchedule:
		return &HalfError{m, "what the threads did, which a second run tells"}
	}
	return nil
}
