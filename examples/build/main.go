// Command build compiles every example program with the cross compiler and
// writes the archive of executables, examples/programs.tar.zst. The same
// sources and toolchain produce the same bytes. Run it as go generate does, in
// the directory examples, or at the root of the module.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"hindsight/examples"
	"hindsight/examples/cross"
)

const archiveName = "programs.tar.zst"

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	path := archiveName
	if _, err := os.Stat(path); err != nil {
		path = filepath.Join("examples", archiveName)
	}
	plain, err := collect(ctx)
	if err != nil {
		return err
	}
	packed, err := compress(plain)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, packed, 0o644); err != nil {
		return err
	}
	fmt.Printf("%s: %d programs, %d bytes (%d unpacked)\n", path, len(examples.Programs()), len(packed), len(plain))
	return nil
}

// collect builds all programs and returns them as a tar file.
func collect(ctx context.Context) ([]byte, error) {
	dir, err := os.MkdirTemp("", "examples-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	if err := cross.Unpack(dir); err != nil {
		return nil, err
	}
	toolchain, err := cross.Toolchain(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := add(w, examples.ToolchainEntry, "", []byte(toolchain)); err != nil {
		return nil, err
	}
	for _, p := range examples.Programs() {
		out := filepath.Join(dir, "out.elf")
		if err := cross.Build(ctx, dir, p, out, cross.Options{}); err != nil {
			return nil, err
		}
		elf, err := os.ReadFile(out)
		if err != nil {
			return nil, err
		}
		digest, err := p.Digest()
		if err != nil {
			return nil, err
		}
		if err := add(w, p.Name, digest, elf); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func add(w *tar.Writer, name, digest string, data []byte) error {
	h := &tar.Header{Name: name, Mode: 0o755, Size: int64(len(data)), Format: tar.FormatPAX}
	if digest != "" {
		h.PAXRecords = map[string]string{examples.SourceRecord: digest}
	}
	if err := w.WriteHeader(h); err != nil {
		return err
	}
	_, err := w.Write(data)
	return err
}

func compress(plain []byte) ([]byte, error) {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression),
		zstd.WithWindowSize(examples.Window), zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	return e.EncodeAll(plain, nil), nil
}
