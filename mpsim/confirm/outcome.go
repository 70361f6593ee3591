package confirm

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux"
	"hindsight/mpsim/schedule"
)

// Outcome is the result of a run.
type Outcome struct {
	Status         int
	Signal         int
	Ended          string // how it ended if not by itself: a crash with its place, a deadlock, too long a run; otherwise ""
	Stdout, Stderr []byte
	Files          map[string][sha256.Size]byte // by path, those that the guest wrote
	Schedule       *schedule.Schedule

	memory map[string][]byte // at the end, by name: variables and what they point to
}

// noEnd says that a run takes many times as long as the recorded one.
const noEnd = "no end"

// Endless reports whether the run was stopped because it took too long.
func (o *Outcome) Endless() bool { return o.Ended == noEnd }

// Bounds of what is stored for a run.
const (
	maxOutput   = 16 << 20 // bytes of each stream
	maxVariable = 1 << 20  // bytes of a variable that is compared
)

// output stores the beginning of a stream, and counts the rest.
type output struct {
	bytes.Buffer
	more int
}

func (o *output) Write(p []byte) (int, error) {
	n := min(len(p), maxOutput-o.Len())
	o.Buffer.Write(p[:n])
	o.more += len(p) - n
	return len(p), nil
}

// outcomeOf reads the result of a run from its machine.
func outcomeOf(w *course, res *mpsim.Result) *Outcome {
	o := &Outcome{Status: res.Status, Signal: res.Signal, Stdout: bytes.Clone(w.out.Bytes()), Stderr: bytes.Clone(w.errs.Bytes()), Schedule: res.Schedule, Files: res.Written.Digests()}
	o.memory = w.names.read(w.m.Space(), w.img)
	img := w.img
	switch {
	case res.Deadlock != nil:
		o.Ended = "deadlock"
	case res.LimitReached:
		o.Ended = noEnd
	case res.Fault != nil:
		o.Ended = fmt.Sprintf("%s at %s", linux.SignalName(res.Fault.Signal), function(img, res.Fault.PC))
	case res.Message != "":
		o.Ended = res.Message
	}
	if o.Endless() || o.Ended == "deadlock" {
		o.Status = 0
	}
	return o
}

// function names the code at pc.
func function(img *image.Space, pc uint64) string {
	if s, ok := img.Func(pc); ok {
		return s.Name
	}
	return fmt.Sprintf("0x%x", pc)
}

// differs describes the difference from other that the program's user sees, or returns "".
func (o *Outcome) differs(other *Outcome) string {
	switch {
	case o.Ended != other.Ended:
		return fmt.Sprintf("%s or %s", ending(o), ending(other))
	case o.Status != other.Status:
		return fmt.Sprintf("exit status %d or %d", o.Status, other.Status)
	case !bytes.Equal(o.Stdout, other.Stdout):
		return "output: " + firstDifference(o.Stdout, other.Stdout)
	case !bytes.Equal(o.Stderr, other.Stderr):
		return "error output: " + firstDifference(o.Stderr, other.Stderr)
	}
	for name, digest := range o.Files {
		if other.Files[name] != digest {
			return "the file " + name
		}
	}
	for name := range other.Files {
		if _, both := o.Files[name]; !both {
			return "the file " + name
		}
	}
	return ""
}

// same reports whether the program's user sees no difference.
func (o *Outcome) same(other *Outcome) bool { return o.differs(other) == "" }

func ending(o *Outcome) string {
	if o.Ended == "" {
		return fmt.Sprintf("exit status %d", o.Status)
	}
	return o.Ended
}

// maxShown bounds the text of a line that is shown, in bytes.
const maxShown = 60

// firstDifference returns the first lines that differ.
func firstDifference(a, b []byte) string {
	la, lb := strings.SplitAfter(string(a), "\n"), strings.SplitAfter(string(b), "\n")
	for i := range max(len(la), len(lb)) {
		var x, y string
		if i < len(la) {
			x = la[i]
		}
		if i < len(lb) {
			y = lb[i]
		}
		if x != y {
			return fmt.Sprintf("%s or %s", shown(x), shown(y))
		}
	}
	return "none"
}

func shown(line string) string {
	if line == "" {
		return "nothing"
	}
	line = strings.TrimSuffix(line, "\n")
	if len(line) > maxShown {
		line = line[:maxShown] + "…"
	}
	return fmt.Sprintf("%q", line)
}

// state returns the variables whose values at the end differ, with the values of short
// ones.
func (o *Outcome) state(other *Outcome) []string {
	var names []string
	for name, b := range o.memory {
		was, ok := other.memory[name]
		if !ok || bytes.Equal(b, was) {
			continue
		}
		if v, w := value(b), value(was); v != "" {
			name += ": " + v + " or " + w
		}
		names = append(names, name)
	}
	sort.Strings(names)
	return slices.Clip(names)
}

// value formats a variable of the size of an integer.
func value(b []byte) string {
	switch len(b) {
	case 1, 2, 4, 8:
		var wide [8]byte
		copy(wide[:], b)
		return fmt.Sprint(binary.LittleEndian.Uint64(wide[:]))
	}
	return ""
}

// String says how the run ended, and shows the last line that it wrote.
func (o *Outcome) String() string {
	text := ending(o)
	lines := strings.Split(strings.TrimSuffix(string(o.Stdout), "\n"), "\n")
	if last := lines[len(lines)-1]; last != "" {
		text += ", " + shown(last)
	}
	return text
}
