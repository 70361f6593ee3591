// Command build compiles the gallery of Go with the installed Go and writes the
// embedded archive, examples/golang/gallery.zst. Run it at the root of the
// module.
package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/klauspost/compress/zstd"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	const folder = "examples/golang"
	files, err := filepath.Glob(filepath.Join(folder, "testdata/gallery/*.go"))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no sources in %s: %w", folder, err)
	}
	out := filepath.Join(os.TempDir(), fmt.Sprintf("gallery-%d", os.Getpid()))
	defer os.Remove(out)
	cmd := exec.CommandContext(ctx, "go", append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=-buildid= -compressdwarf=false", "-o", out}, files...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return err
	}
	elf, err := os.ReadFile(out)
	if err != nil {
		return err
	}
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	packed := e.EncodeAll(elf, nil)
	fmt.Printf("%s/gallery.zst: %d bytes (%d unpacked)\n", folder, len(packed), len(elf))
	return os.WriteFile(filepath.Join(folder, "gallery.zst"), packed, 0o644)
}
