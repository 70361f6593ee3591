package image_test

import (
	"strings"
	"testing"

	"hindsight/mpsim/image"
)

// TestLoadDevice loads a device without end: it must not be read.
func TestLoadDevice(t *testing.T) {
	if _, err := image.Load("/dev/zero"); err == nil || !strings.Contains(err.Error(), "/dev/zero") {
		t.Errorf("Load of a device: %v", err)
	}
}
