package cross

import (
	"testing"

	"hindsight/examples"
	"hindsight/mpsim/image"
)

// Image loads an embedded example.
func Image(t testing.TB, name string) *image.Space {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	return img
}
