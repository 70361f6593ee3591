package gorun

import (
	"testing"

	"hindsight/mpsim/image"
)

// TestStandard: what the standard library is, and what is not.
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
