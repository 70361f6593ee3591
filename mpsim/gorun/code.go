package gorun

import (
	"strings"

	"hindsight/mpsim"
	"hindsight/mpsim/image"
)

// Code implements [mpsim.FiberHooks].
func (k *Hooks) Code(pc uint64) mpsim.Recording { return k.function(pc).recording }

// function returns what is known about the function that contains pc.
func (k *Hooks) function(pc uint64) *function {
	s, _ := k.img.Func(pc)
	if f := k.functions[s.Addr]; f != nil {
		return f
	}
	name, jumps := trampoline(s.Name)
	name = strings.TrimSuffix(name, ".abi0")
	f := &function{name: name, pkg: packageOf(name)}
	if pkg := k.img.Package(pc); pkg != "" && !jumps {
		f.pkg = pkg
	}
	switch {
	case copying[name] || f.pkg == "internal/bytealg" || name == "": // no function: the code that signal handlers return to
		f.recording = mpsim.Inherited
	case image.GoRuntime(f.pkg), strings.Contains(name, "[") && image.GoRuntime(packageOf(name)): // or instantiated from the runtime's functions for other types
		f.runtime = true
		f.recording = mpsim.Unrecorded
	case syncPackage(f.pkg) || syncPackage(packageOf(name)):
		f.recording = mpsim.Unrecorded
	}
	k.functions[s.Addr] = f
	return f
}

// trampoline returns the function to which a jump of the linker leads, if the function is
// too far away for a call. The jump counts as code of that function, although it is placed
// among the code of another package. For a jump into the middle of a function, such as
// duffcopy, the name includes the offset.
func trampoline(name string) (function string, is bool) {
	i := strings.LastIndex(name, "-tramp")
	if i <= 0 {
		return name, false
	}
	name, _, _ = strings.Cut(name[:i], "+")
	return name, true
}

type function struct {
	name, pkg string
	recording mpsim.Recording
	runtime   bool
}

// copying are the runtime's functions that copy, clear and compare memory. Their accesses
// count as their caller's.
var copying = map[string]bool{
	"runtime.memmove": true, "runtime.memclrNoHeapPointers": true, "runtime.memequal": true,
	"runtime.memequal_varlen": true, "runtime.duffzero": true, "runtime.duffcopy": true,
}

// syncPackage reports whether a package is one whose calls are recorded by what they order.
func syncPackage(pkg string) bool {
	return pkg == "sync" || pkg == "sync/atomic" || pkg == "internal/sync"
}

// packageOf returns the import path in the name of a symbol. It differs from the package in
// which the function was compiled if a linkname directive set the name.
func packageOf(name string) string {
	if strings.HasPrefix(name, "_rt0_") {
		return "runtime"
	}
	if i := strings.IndexByte(name, '['); i >= 0 {
		name = name[:i] // type arguments
	}
	slash := strings.LastIndexByte(name, '/') + 1
	if dot := strings.IndexByte(name[slash:], '.'); dot >= 0 {
		return name[:slash+dot]
	}
	return ""
}
