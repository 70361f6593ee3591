package gorun

import (
	"testing"

	"hindsight/mpsim/image"
)

// TestStandard checks what counts as the standard library.
func TestStandard(t *testing.T) {
	for pkg, want := range map[string]bool{
		"os": true, "net/http": true, "vendor/golang.org/x/net": true, "internal/poll": true,
		"main": false, "golang.org/x/sync/errgroup": false, "example.com/os": false, "hindsight/mpsim": false, "": false,
	} {
		if image.GoStandard(pkg) != want {
			t.Errorf("%q: %v", pkg, !want)
		}
	}
}

// TestTrampoline checks the names that the linker uses for jumps to distant functions.
func TestTrampoline(t *testing.T) {
	for name, want := range map[string]string{
		"runtime.duffcopy+7b0-tramp0": "runtime.duffcopy", "runtime.memmove-tramp1": "runtime.memmove", "main.f": "",
	} {
		if function, is := trampoline(name); is != (want != "") || is && function != want {
			t.Errorf("%s is one: %v, %s", name, is, function)
		}
	}
}
