package schedule

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"hindsight/tracefmt/event"
)

// header is the first line of the text form. The number is the version of the form.
const header = "hindsight schedule 1"

// Limits of what [Parse] accepts.
const (
	maxLine   = 4096    // bytes
	maxSteps  = 1 << 24 // steps
	maxCount  = math.MaxInt64 / 4
	maxThread = event.MaxThreads - 1
)

// ErrSyntax wraps errors in the text of a schedule.
var ErrSyntax = errors.New("schedule")

// Parse reads the text form. name is the file's, for messages. Errors name the line and
// wrap [ErrSyntax], or come from r.
func Parse(name string, r io.Reader) (*Schedule, error) {
	s := &Schedule{Name: name}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	n, begun := 0, false
	for lines.Scan() {
		n++
		text, _, _ := strings.Cut(lines.Text(), "#")
		words := strings.Fields(text)
		if len(words) == 0 {
			continue
		}
		if !begun {
			if strings.Join(words, " ") != header {
				return nil, fmt.Errorf("%w: %s:%d: want %q in the first line", ErrSyntax, name, n, header)
			}
			begun = true
			continue
		}
		step, err := parseStep(words)
		if err != nil {
			return nil, fmt.Errorf("%w: %s:%d: %w", ErrSyntax, name, n, err)
		}
		if len(s.Steps) == maxSteps {
			return nil, fmt.Errorf("%w: %s:%d: more than %d steps", ErrSyntax, name, n, maxSteps)
		}
		step.Line = n
		s.Steps = append(s.Steps, step)
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%w: %s:%d: a line of more than %d bytes", ErrSyntax, name, n+1, maxLine)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", name, err)
	case !begun:
		return nil, fmt.Errorf("%w: %s:%d: want %q in the first line", ErrSyntax, name, n+1, header)
	}
	return s, nil
}

// parseStep reads the words of a line.
func parseStep(words []string) (Step, error) {
	if words[0] == "clock" {
		if len(words) != 2 {
			return Step{}, errors.New("want: clock NANOSECONDS")
		}
		t, err := number(words[1], maxCount, "a time in nanoseconds")
		return Step{Kind: Clock, Time: t}, err
	}
	id, ok := strings.CutPrefix(words[0], "T")
	if !ok {
		return Step{}, fmt.Errorf("%q: want a thread, such as T1, or clock", words[0])
	}
	thread, err := number(id, maxThread, "the number of a thread")
	if err != nil {
		return Step{}, err
	}
	if len(words) < 2 {
		return Step{}, errors.New("want after the thread: a number of instructions, to ADDRESS, events NUMBER, or rest")
	}
	s := Step{Thread: event.ThreadID(thread)}
	rest := words[2:]
	switch words[1] {
	case "rest":
		s.Kind = Rest
	case "to":
		s.Kind, s.Count = To, 1
		if len(rest) == 0 {
			return Step{}, errors.New("to: want an address after it, such as 0x10450")
		}
		if s.PC, err = place(rest[0]); err != nil {
			return Step{}, err
		}
		rest = rest[1:]
		if len(rest) > 0 && strings.HasPrefix(rest[0], "x") {
			if s.Count, err = number(rest[0][1:], maxCount, "how many times"); err == nil && s.Count == 0 {
				err = errors.New("x0: want 1 or more")
			}
			if err != nil {
				return Step{}, err
			}
			rest = rest[1:]
		}
	case "events":
		if rest, err = s.parseUntil(rest); err != nil {
			return Step{}, err
		}
	default:
		if s.Count, err = number(words[1], maxCount, "a number of instructions, to, events, or rest"); err != nil {
			return Step{}, err
		}
	}
	if s.Kind != To && len(rest) > 0 && strings.HasPrefix(rest[0], "@") {
		if s.At, err = place(rest[0][1:]); err != nil {
			return Step{}, err
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return Step{}, fmt.Errorf("%q: nothing more is expected here", rest[0])
	}
	return s, nil
}

// parseUntil reads what follows "events", and returns the words after that.
func (s *Step) parseUntil(words []string) (rest []string, err error) {
	s.Kind = Until
	if len(words) == 0 {
		return nil, errors.New("events: want a number after it")
	}
	if s.Events, err = number(words[0], maxCount, "a number of events"); err != nil {
		return nil, err
	}
	rest = words[1:]
	if len(rest) == 0 || rest[0] != "accesses" {
		return rest, nil
	}
	if len(rest) == 1 {
		return nil, errors.New("accesses: want a number after it")
	}
	s.Accesses, err = number(rest[1], maxCount, "a number of accesses")
	return rest[2:], err
}

// number reads a decimal number of at most limit.
func number(text string, limit uint64, what string) (uint64, error) {
	v, err := strconv.ParseUint(text, 10, 64)
	if err != nil || v > limit {
		return 0, fmt.Errorf("%q: want %s", text, what)
	}
	return v, nil
}

// place reads an address in hexadecimal, which must not be 0.
func place(text string) (uint64, error) {
	digits, ok := strings.CutPrefix(text, "0x")
	v, err := strconv.ParseUint(digits, 16, 64)
	if !ok || err != nil || v == 0 {
		return 0, fmt.Errorf("%q: want an address, such as 0x10450", text)
	}
	return v, nil
}

// Write writes the text form. note, if not nil, returns a comment on a step, or "".
func (s *Schedule) Write(w io.Writer, note func(*Step) string) error {
	out := bufio.NewWriter(w)
	fmt.Fprintln(out, header)
	var line []byte
	for i := range s.Steps {
		st := &s.Steps[i]
		line = st.append(line[:0])
		if note != nil {
			if text := note(st); text != "" {
				line = append(line, "  # "...)
				line = append(line, strings.Map(printable, text)...)
				line = line[:min(len(line), maxLine-2)]
			}
		}
		line = append(line, '\n')
		if _, err := out.Write(line); err != nil {
			return err
		}
	}
	return out.Flush()
}

// printable keeps a comment on its line.
func printable(r rune) rune {
	if r < ' ' {
		return ' '
	}
	return r
}

// Text returns the text form without comments.
func (s *Schedule) Text() []byte {
	var b bytes.Buffer
	_ = s.Write(&b, nil) // a buffer takes everything
	return b.Bytes()
}

// String returns the line of the step.
func (s *Step) String() string { return string(s.append(nil)) }

func (s *Step) append(b []byte) []byte {
	if s.Kind == Clock {
		return strconv.AppendUint(append(b, "clock "...), s.Time, 10)
	}
	b = strconv.AppendUint(append(b, 'T'), uint64(s.Thread), 10)
	switch s.Kind {
	case To:
		b = strconv.AppendUint(append(b, " to 0x"...), s.PC, 16)
		if s.Count != 1 {
			b = strconv.AppendUint(append(b, " x"...), s.Count, 10)
		}
		return b
	case Rest:
		b = append(b, " rest"...)
	case Until:
		b = strconv.AppendUint(append(b, " events "...), s.Events, 10)
		if s.Accesses != 0 {
			b = strconv.AppendUint(append(b, " accesses "...), s.Accesses, 10)
		}
	default:
		b = strconv.AppendUint(append(b, ' '), s.Count, 10)
	}
	if s.At != 0 {
		b = strconv.AppendUint(append(b, " @0x"...), s.At, 16)
	}
	return b
}
