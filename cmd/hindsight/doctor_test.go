package main

import (
	"bytes"
	"strings"
	"testing"

	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/toolchain"
)

// TestNoCompiler checks that without a compiler, cc and doctor say how to install one.
func TestNoCompiler(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, l := range []*toolchain.Compilers{&toolchain.C, &toolchain.CXX, &toolchain.Fortran} {
		t.Setenv(l.Env, "")
	}
	for _, tt := range []struct{ args, out, err string }{
		{"doctor", "apt-get install gcc-riscv64-linux-gnu", ""},
		{"cc x.c", "", "riscv64-linux-gnu-gcc or riscv64-unknown-linux-gnu-gcc is not installed; hindsight doctor says how to get it"},
		{"c++ x.cc", "", "hindsight doctor"},
		{"cc --cmake-toolchain", "", "hindsight doctor"},
	} {
		var out, stderr bytes.Buffer
		if status := run(strings.Fields(tt.args), cli.Streams{In: strings.NewReader(""), Out: &out, Err: &stderr}); status != exitError {
			t.Errorf("%s: status %d", tt.args, status)
		}
		if !strings.Contains(out.String(), tt.out) || !strings.Contains(stderr.String(), tt.err) {
			t.Errorf("%s: %q, %q", tt.args, out.String(), stderr.String())
		}
	}
}
