package examples

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/klauspost/compress/zstd"
)

//go:embed programs.tar.zst
var archive []byte

// The archive is a tar file, compressed in one frame with a window of several
// executables, so that each is stored as the difference to those before it. Its
// first entry names the toolchain; then come the executables in the order of
// the manifest.
const (
	// ToolchainEntry is the name of the archive's first entry.
	ToolchainEntry = ".toolchain"
	// SourceRecord is the PAX record that holds an entry's [Program.Digest].
	SourceRecord = "HINDSIGHT.source"
	// Window is the compression window in bytes. A window over the whole
	// archive would make it a tenth smaller, and each reader need its size.
	Window = 8 << 20
)

// Executable is a program's RISC-V executable: static, with DWARF.
type Executable struct {
	Name   string // of the program
	Digest string // of what it was built from, see [Program.Digest]
	ELF    []byte
}

// errEnd stops a walk that has found what it looked for.
var errEnd = errors.New("end of the walk")

// ELF returns the executable of a program. It decompresses the archive up to
// there; to use many, range over [Executables].
func ELF(name string) ([]byte, error) {
	var elf []byte
	err := walk(func(h *tar.Header, data io.Reader) error {
		if h.Name != name || name == ToolchainEntry {
			return nil
		}
		var err error
		if elf, err = contents(h, data); err != nil {
			return err
		}
		return errEnd
	})
	switch {
	case elf != nil:
		return elf, nil
	case err != nil:
		return nil, err
	}
	return nil, fmt.Errorf("examples: no executable %q", name)
}

// Executables walks through all executables, in the order of [Programs]. After
// an error the walk is over.
func Executables() iter.Seq2[Executable, error] {
	return func(yield func(Executable, error) bool) {
		err := walk(func(h *tar.Header, data io.Reader) error {
			if h.Name == ToolchainEntry {
				return nil
			}
			elf, err := contents(h, data)
			if err != nil {
				return err
			}
			if !yield(Executable{Name: h.Name, Digest: h.PAXRecords[SourceRecord], ELF: elf}, nil) {
				return errEnd
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnd) {
			yield(Executable{}, err)
		}
	}
}

// Toolchain describes the compiler, the linker and the C library that the
// executables were built with.
func Toolchain() (string, error) {
	var text []byte
	err := walk(func(h *tar.Header, data io.Reader) error {
		if h.Name != ToolchainEntry {
			return fmt.Errorf("the first entry is %q", h.Name)
		}
		var err error
		if text, err = contents(h, data); err != nil {
			return err
		}
		return errEnd
	})
	if err != nil && !errors.Is(err, errEnd) {
		return "", err
	}
	return string(text), nil
}

// contents reads the data of one entry.
func contents(h *tar.Header, data io.Reader) ([]byte, error) {
	b := make([]byte, h.Size)
	_, err := io.ReadFull(data, b)
	return b, err
}

// walk calls visit for each entry of the archive until it returns an error.
func walk(visit func(*tar.Header, io.Reader) error) error {
	z, err := zstd.NewReader(bytes.NewReader(archive), zstd.WithDecoderConcurrency(1),
		zstd.WithDecoderMaxWindow(Window), zstd.WithDecoderMaxMemory(4*Window))
	if err != nil {
		return fmt.Errorf("examples: archive: %w", err)
	}
	defer z.Close()
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = visit(h, t)
		}
		if err != nil {
			return fmt.Errorf("examples: archive: %w", err)
		}
	}
}
