package slice

import (
	"strconv"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
	"hindsight/wet"
)

// In Go programs the instruction that calls the kernel is not recorded. Instead, the call
// of the runtime's function that contains it is recorded, with its arguments and with
// what the kernel read and wrote.

// convention says where the number and the first argument of a system call are.
type convention struct{ number, first uint8 }

var (
	kernelCalls  = convention{regA7, regA0}
	runtimeCalls = convention{regA0, regA1}
)

// conventionOf returns the convention of a statement. ok is false if it makes no system
// call.
func conventionOf(img *image.Space, kind wet.NodeKind, inst rv.Inst, callee uint64) (convention, bool) {
	if kind == wet.NodePath {
		return kernelCalls, inst.Op == rv.OpECALL
	}
	name := goFunction(img, kind, callee)
	return runtimeCalls, strings.HasSuffix(name, "/syscall.Syscall6") || strings.HasSuffix(name, "/syscall/linux.Syscall6")
}

// goFunction returns the function of Go's runtime that a statement calls, or "" if it
// calls none.
func goFunction(img *image.Space, kind wet.NodeKind, callee uint64) string {
	if kind != wet.NodeCall || img == nil {
		return ""
	}
	f, ok := img.Func(callee)
	if !ok {
		return ""
	}
	name, _, jumps := strings.Cut(f.Name, "-tramp") // the linker's jump to it
	if f.Addr != callee && !jumps {
		return ""
	}
	return strings.TrimSuffix(name, ".abi0")
}

// endsGo reports whether a statement is the call by which os.Exit ends a Go program.
func endsGo(img *image.Space, kind wet.NodeKind, callee uint64) bool {
	return goFunction(img, kind, callee) == "syscall.Exit"
}

// printer returns what a function prints of the arguments of print and println. It is the
// function's name without the prefix: "int", "string", "nl", …
func printer(img *image.Space, kind wet.NodeKind, callee uint64) (what string, ok bool) {
	what, ok = strings.CutPrefix(goFunction(img, kind, callee), "runtime.print")
	return what, ok && what != "lock" && what != "unlock"
}

// printed returns what a call of a printing function wrote to standard error. The runtime
// computes the bytes from the argument.
func printed(g Graph, img *image.Space, call wet.Instance, what string) (o Output, ok bool, err error) {
	v, ok, err := register(g, call, regA0)
	if err != nil {
		return o, false, err
	}
	o.Call = call
	text := ""
	switch {
	case what == "nl":
		text, ok = "\n", true
	case what == "sp":
		text, ok = " ", true
	case what == "bool":
		text = strconv.FormatBool(v&1 != 0)
	case what == "int":
		text = strconv.FormatInt(int64(v), 10)
	case what == "uint":
		text = strconv.FormatUint(v, 10)
	case what == "hex", what == "pointer", what == "uintptr":
		text = "0x" + strconv.FormatUint(v, 16)
	case what == "string" && ok:
		return printedString(g, img, call, v)
	default:
		ok = false
	}
	for n := range len(text) {
		o.Bytes, o.By = append(o.Bytes, text[n]), append(o.By, 0)
	}
	o.Makers = []wet.Instance{call}
	return o, ok, nil
}

func printedString(g Graph, img *image.Space, call wet.Instance, addr uint64) (o Output, ok bool, err error) {
	n, ok, err := register(g, call, regA1)
	if err != nil || !ok {
		return o, false, err
	}
	m, err := readBy(g, call)
	if err != nil {
		return o, false, err
	}
	n = min(n, maxOutput)
	m.moved(img, addr, n)
	o = Output{Call: call, Makers: m.makers}
	m.append(img, &o, addr, n)
	return o, true, nil
}

// moved assigns the bytes that were written elsewhere, and copied by unrecorded code, to
// the places where an instance read them, from addr on. The graph has the producers of
// these bytes and their order, but not the place of each byte. They fill the places
// without a known writer. If there are more such places, the others had constants.
func (m *memoryBytes) moved(img *image.Space, addr, n uint64) {
	var gaps []uint64
	for at := addr; at < addr+n; at++ {
		if _, ok := m.by[at]; !ok && len(img.Bytes(at, 1)) == 0 {
			gaps = append(gaps, at)
		}
	}
	elsewhere := 0
	for at := range m.by {
		if at-addr >= n {
			elsewhere++
		}
	}
	apart := elsewhere < len(gaps) // constants were between them, or around
	for _, first := range m.order {
		taken := false
		for at := first; len(gaps) > 0 && at-addr >= n; at++ {
			by, ok := m.by[at]
			if !ok {
				break
			}
			m.by[gaps[0]] = by
			if v, ok := m.values[at]; ok {
				m.values[gaps[0]] = v
			}
			delete(m.by, at)
			gaps, taken = gaps[1:], true
		}
		if taken && apart && len(gaps) > 0 {
			gaps = gaps[1:]
		}
	}
}
