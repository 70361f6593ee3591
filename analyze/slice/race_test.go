package slice_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"hindsight/analyze/slice"
	"hindsight/analyze/slice/slicetest"
	"hindsight/examples"
	"hindsight/mpsim/image"
	"hindsight/wet"
)

// example logs a run of an example.
func example(t *testing.T, name string, seed uint64) (*slicetest.Log, *image.Image, string) {
	t.Helper()
	elf, err := examples.ELF(name)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(elf)
	if err != nil {
		t.Fatal(err)
	}
	l := slicetest.New(img)
	var out bytes.Buffer
	run(t, img, shape{seed: seed, quantum: 30}, &out, l)
	return l, img, out.String()
}

// sourceLine is the line of an example that holds text, from 1.
func sourceLine(t *testing.T, name, text string) int {
	t.Helper()
	p, ok := examples.Find(name)
	if !ok {
		t.Fatalf("no example %s", name)
	}
	src, err := p.Source()
	if err != nil {
		t.Fatal(err)
	}
	for n, line := range strings.Split(string(src), "\n") {
		if strings.Contains(line, text) {
			return n + 1
		}
	}
	t.Fatalf("%s has no line with %q", name, text)
	return 0
}
