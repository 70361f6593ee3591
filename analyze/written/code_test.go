package written

import (
	"testing"

	"hindsight/tracefmt/event"
)

// noCode is a program without code.
type noCode struct{}

func (noCode) Code(uint64, int) []byte { return nil }

// TestScanForeign checks that a run continues after a signal handler returns to the
// kernel's page, which is in no file, but not after other code that the program
// generated.
func TestScanForeign(t *testing.T) {
	back := event.Block{PC: 0x3fffffe000, Bytes: 8, Insts: 2, End: event.EndSyscall}
	if b := scan(noCode{}, &back); !b.known || len(b.defs) != 1 || b.defs[0].reg != 17 || b.values != 0 {
		t.Errorf("the return from a signal handler: %+v", b)
	}
	made := event.Block{PC: 0x3000, Bytes: 8, Insts: 2, End: event.EndReturn}
	if scan(noCode{}, &made).known {
		t.Error("code that is in no file counts as known")
	}
}
