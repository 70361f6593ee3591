package image_test

import (
	"strings"
	"testing"

	"hindsight/mpsim/image"
)

// TestLoadDevice checks that an endless device is not read.
func TestLoadDevice(t *testing.T) {
	if _, err := image.Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero") {
		t.Errorf("Load of a device: %v", err)
	}
}
