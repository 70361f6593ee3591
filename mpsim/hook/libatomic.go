package hook

import (
	"fmt"
	"slices"

	"hindsight/mpsim"
	"hindsight/tracefmt/event"
)

// LibAtomic contains the hooked functions that compilers call for atomic accesses for which
// they have no instructions: libatomic's (the ABI is in GCC's wiki under
// "Atomic/GCCMM/LIbrary"), libgcc's for the old __sync built-ins, and the functions called
// by C11's macros.
var LibAtomic = libAtomic()

// modifications are the read-modify-writes of both families.
var modifications = []string{"add", "sub", "and", "or", "xor", "nand"}

func libAtomic() []Func {
	var rows []Func
	for _, size := range []uint32{1, 2, 4, 8, 16} {
		words := int(size+7) / 8 // number of registers of a value
		named := func(op string) []string { return []string{fmt.Sprintf("__atomic_%s_%d", op, size)} }
		rows = append(rows,
			atomicCall(event.AtomicLoad, 0, size, 1, named("load")),
			atomicCall(event.AtomicStore, 0, size, 1+words, named("store")),
			atomicCall(event.AtomicRMW, 0, size, 1, named("test_and_set")),
			compareCall(0, size, 2+words, named("compare_exchange")))
		names := named("exchange")
		for _, op := range modifications {
			names = append(names, named("fetch_" + op)[0], named(op + "_fetch")[0])
		}
		rows = append(rows, atomicCall(event.AtomicRMW, 0, size, 1+words, names))
		if size <= 2 {
			rows = append(rows, syncCall(size))
		}
	}
	// Functions for any size, which is the first argument.
	rows = append(rows,
		atomicCall(event.AtomicLoad, 1, 0, 3, []string{"__atomic_load"}),
		atomicCall(event.AtomicStore, 1, 0, 3, []string{"__atomic_store"}),
		atomicCall(event.AtomicRMW, 1, 0, 4, []string{"__atomic_exchange"}),
		compareCall(1, 0, 4, []string{"__atomic_compare_exchange"}),
		atomicCall(event.AtomicRMW, 0, 1, 1, []string{"atomic_flag_test_and_set_explicit"}),
		atomicCall(event.AtomicRMW, 0, 1, strongest, []string{"atomic_flag_test_and_set"}),
		atomicCall(event.AtomicStore, 0, 1, 1, []string{"atomic_flag_clear_explicit"}),
		atomicCall(event.AtomicStore, 0, 1, strongest, []string{"atomic_flag_clear"}))
	return rows
}

// strongest is the memory order of functions that have no argument for it.
const strongest = -1

// atomicCall hooks functions that access size bytes (0: as argument 0 says). addr and order
// are the numbers of the arguments with the address and the memory order.
func atomicCall(kind event.Kind, addr int, size uint32, order int, names []string) Func {
	return Func{Args: max(order, addr) + 1, Object: addr + 1, Names: names,
		Begin: func(_ *State, c *Call) {
			mode := event.Acquire | event.Release
			if order != strongest {
				mode = mpsim.OrderMode(c.Arg(order))
			}
			c.Atomically(mpsim.AtomicCall{Kind: kind, Addr: c.Arg(addr), Size: sizeArg(c, size), Mode: mode})
		},
		End: func(_ *State, c *Call, _ uint64) { c.AtomicallyDone(true) },
	}
}

// compareCall hooks compare-and-swap. The memory order of its failure is the argument after
// that of its success.
func compareCall(addr int, size uint32, order int, names []string) Func {
	return Func{Args: order + 2, Object: addr + 1, Names: names,
		Begin: func(_ *State, c *Call) {
			c.Atomically(mpsim.AtomicCall{Kind: event.AtomicRMW, Conditional: true, Addr: c.Arg(addr), Size: sizeArg(c, size),
				Mode: mpsim.OrderMode(c.Arg(order)), Else: mpsim.OrderMode(c.Arg(order+1)) & event.Acquire})
		},
		End: func(_ *State, c *Call, result uint64) { c.AtomicallyDone(result&1 != 0) },
	}
}

// syncCall hooks libgcc's functions for bytes and half-words. They are full
// barriers.
func syncCall(size uint32) Func {
	var names []string
	for _, op := range modifications {
		names = append(names, fmt.Sprintf("__sync_fetch_and_%s_%d", op, size), fmt.Sprintf("__sync_%s_and_fetch_%d", op, size))
	}
	compare := []string{fmt.Sprintf("__sync_bool_compare_and_swap_%d", size), fmt.Sprintf("__sync_val_compare_and_swap_%d", size)}
	const full = event.Acquire | event.Release
	// All of them end with an SC, which shows whether a compare-and-swap wrote.
	return Func{Args: 3, Object: 1, Names: append(slices.Clip(names), compare...),
		Begin: func(_ *State, c *Call) {
			c.Atomically(mpsim.AtomicCall{Kind: event.AtomicRMW, Conditional: true, Addr: c.Arg(0), Size: size, Mode: full, Else: event.Acquire})
		},
		End: func(_ *State, c *Call, _ uint64) { c.AtomicallyDone(false) },
	}
}

// sizeArg returns the number of bytes that a call accesses.
func sizeArg(c *Call, size uint32) uint32 {
	if size == 0 {
		return uint32(min(c.Arg(0), maxAtomic))
	}
	return size
}

// maxAtomic is the maximum size of an atomic access in bytes (docs/semantics.md).
const maxAtomic = 16
