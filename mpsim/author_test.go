package mpsim

import (
	"testing"

	"hindsight/mpsim/image"
)

// TestAuthorOf uses names as gcc 12 and clang write them.
func TestAuthorOf(t *testing.T) {
	for _, c := range []struct {
		name     string
		linkages []string
		want     author
	}{
		{"member", []string{"_ZNSt13__atomic_baseIiE9fetch_addEiSt12memory_order"}, byUnknown},
		{"const member", []string{"_ZNKSt6atomicIbE4loadESt12memory_order"}, byUnknown},
		{"volatile member", []string{"_ZNVSt6atomicIbE4loadESt12memory_order"}, byUnknown},
		{"function", []string{"_ZSt20atomic_load_explicitIiET_PKSt6atomicIS0_ESt12memory_order"}, byUnknown},
		{"libc++", []string{"_ZNSt3__117__cxx_atomic_loadB8ne180100IiEET_PKNS_22__cxx_atomic_base_implIS1_EENS_12memory_orderE"}, byUnknown},
		{"wait", []string{"_ZZNKSt13__atomic_baseIiE4waitEiSt12memory_orderENKUlvE_clEv"}, byUnknown},
		{"inlined into the program", []string{"_ZNSt13__atomic_baseIiE5storeEiSt12memory_order", "main"}, byProgram},
		{"method of the program", []string{"_ZNSt13__atomic_baseIiE5storeEiSt12memory_order", "_ZN5Queue4pushESt6vectorIiE"}, byProgram},
		{"shared pointer", []string{"_ZNSt13__atomic_baseImE9fetch_subEmSt12memory_order",
			"_ZNKSt10_Sp_atomicISt10shared_ptrIiEE13_Atomic_count6unlockESt12memory_order"}, byLibrary},
		{"latch", []string{"_ZNSt13__atomic_baseIiE9fetch_subEiSt12memory_order", "_ZNSt5latch10count_downEl", "main"}, byLibrary},
		{"semaphore", []string{"_ZNSt18__atomic_semaphore10_M_releaseEl"}, byLibrary},
		{"extension", []string{"_ZN9__gnu_cxx18__exchange_and_addEPVii"}, byLibrary},
	} {
		var frames []image.Frame
		for _, l := range c.linkages {
			frames = append(frames, image.Frame{Function: l, Linkage: l})
		}
		if got := authorOf(frames); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
	if got := authorOf([]image.Frame{{Function: "std::__atomic_base<int>::wait::{lambda()#1}::operator()"}}); got != byUnknown {
		t.Errorf("without the linker's name: %d", got)
	}
}
