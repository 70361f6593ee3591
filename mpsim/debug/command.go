package debug

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"hindsight/tracefmt/event"
	"hindsight/tracefmt/numtext"
)

// Races finds the accesses of a race. Side 1 is the earlier, side 2 the later one.
type Races func(ctx context.Context, id string, side int) (at uint64, text string, err error)

// Console executes the commands that debuggers pass on, such as gdb's `monitor`.
type Console struct {
	*Debugger
	Races Races // nil: races are not known
}

const consoleHelp = `when                     the time, which is the number of instructions executed, and who is next
goto TIME|begin|end      go there, forward or back
lastwrite ADDR [SIZE]    the last write to memory before now, from the trace
race R1 [1|2]            stand just before the earlier (1) or later (2) access of a race
help                     this list
In gdb: after goto and race, "maintenance flush register-cache" shows the new place;
the commands of "hindsight gdb" (goto, race, lastwrite, when) do it by themselves.
`

// Do executes a command and returns the text to show. It may move the debugger.
func (c *Console) Do(ctx context.Context, line string) (string, error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		words = []string{"help"}
	}
	switch name, args := words[0], words[1:]; name {
	case "help":
		return consoleHelp, nil
	case "when":
		return c.when(), nil
	case "goto":
		return c.goTo(ctx, args)
	case "lastwrite":
		return c.lastWrite(ctx, args)
	case "race":
		return c.race(ctx, args)
	default:
		return "", fmt.Errorf("there is no command %q; \"help\" lists them", name)
	}
}

func (c *Console) when() string {
	text := fmt.Sprintf("time %s of %s", numtext.Grouped(c.Time()), numtext.Grouped(c.End()))
	if id, ok := c.Journal().Runs(c.Time()); ok {
		return text + fmt.Sprintf(": T%d runs next, at %s\n", id, c.Place(c.Replay.Thread(id).PC))
	}
	return text + ": the end of the run\n"
}

// arrived says where the debugger is now.
func (c *Console) arrived() string {
	text := c.when()
	if h := c.Replay.Thread(c.Thread); h != nil {
		text += fmt.Sprintf("thread %d: T%d at %s\n", c.Thread+1, c.Thread, c.Place(h.PC))
	}
	return text
}

func (c *Console) goTo(ctx context.Context, args []string) (string, error) {
	if len(args) != 1 {
		return "", fmt.Errorf("goto: want a time, begin or end")
	}
	at, err := number(args[0])
	switch args[0] {
	case "begin":
		at, err = 0, nil
	case "end":
		at, err = c.End(), nil
	}
	if err != nil {
		return "", fmt.Errorf("goto: %w", err)
	}
	if _, err := c.Goto(ctx, at); err != nil {
		return "", err
	}
	return c.arrived(), nil
}

func (c *Console) race(ctx context.Context, args []string) (string, error) {
	side := 1
	if len(args) == 2 && (args[1] == "1" || args[1] == "2") {
		side = int(args[1][0] - '0')
		args = args[:1]
	}
	if len(args) != 1 {
		return "", fmt.Errorf("race: want a race and perhaps a side, such as \"race R1 2\"")
	}
	if c.Races == nil {
		return "", fmt.Errorf("race: the races of this run are not known")
	}
	start := c.Time()
	at, text, err := c.Races(ctx, args[0], side)
	if err != nil {
		if back := c.Seek(ctx, start); back != nil {
			return "", back
		}
		return "", err
	}
	if _, err := c.Goto(ctx, at); err != nil {
		return "", err
	}
	return text + c.arrived(), nil
}

func (c *Console) lastWrite(ctx context.Context, args []string) (string, error) {
	size := uint64(1)
	if len(args) != 1 && len(args) != 2 {
		return "", fmt.Errorf("lastwrite: want an address and perhaps a number of bytes, such as \"lastwrite 0x4a10 8\"")
	}
	addr, err := number(args[0])
	if err == nil && len(args) == 2 {
		size, err = number(args[1])
	}
	if err != nil {
		return "", fmt.Errorf("lastwrite: %w", err)
	}
	w, ok, err := c.LastWrite(ctx, addr, size)
	if err != nil {
		return "", err
	}
	if !ok {
		return fmt.Sprintf("no write to %#x is recorded before time %s (traces keep accesses to shared memory; run --keep all keeps all)\n", addr, numtext.Grouped(c.Time())), nil
	}
	if w.PC == 0 {
		return fmt.Sprintf("the system, for T%d, at time %d\n", w.Thread, w.Time), nil
	}
	return fmt.Sprintf("T%d at time %d, %s\n", w.Thread, w.Time, c.Place(w.PC)), nil
}

// number reads a number, decimal or with 0x, possibly with "," or "_" between digits.
func number(s string) (uint64, error) {
	v, err := strconv.ParseUint(strings.ReplaceAll(strings.ReplaceAll(s, ",", ""), "_", ""), 0, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a number", s)
	}
	return v, nil
}

// Place returns text for the code at pc: function, file and line as far as they are known.
func (d *Debugger) Place(pc uint64) string {
	img := d.Journal().Image()
	text := fmt.Sprintf("%#x", pc)
	if s, ok := img.Func(pc); ok {
		text += " in " + s.Demangled()
	}
	if frames := img.Frames(pc); len(frames) > 0 && frames[0].Line > 0 {
		text += fmt.Sprintf(" at %s:%d", frames[0].Base(), frames[0].Line)
	}
	return text
}

// Title returns a thread's name in hindsight's reports, followed by its own name.
func (d *Debugger) Title(id event.ThreadID) string {
	if name := d.Name(id); name != "" {
		return fmt.Sprintf("T%d %s", id, name)
	}
	return fmt.Sprintf("T%d", id)
}
