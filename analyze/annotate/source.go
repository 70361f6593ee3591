package annotate

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"golang.org/x/arch/riscv64/riscv64asm"

	"hindsight/mpsim/image"
	"hindsight/mpsim/rv"
)

// maxSource limits the size of a source file, in bytes.
const maxSource = 16 << 20

// Sources finds the text of source files. The zero value only looks where the debug
// information says.
type Sources struct {
	// Dirs are further directories in which to look, with as much of a file's path as
	// exists there: for /build/src/a.c first build/src/a.c, then src/a.c, then a.c.
	Dirs []string

	files map[string][]string
}

// Lines returns the lines of a file that the debug information names, or nil if its text
// is not found.
func (s *Sources) Lines(name string) []string {
	if name == "" {
		return nil
	}
	lines, ok := s.files[name]
	if !ok {
		lines = s.read(name)
		if s.files == nil {
			s.files = map[string][]string{}
		}
		s.files[name] = lines
	}
	return lines
}

// line returns a line, counted from 1.
func (s *Sources) line(name string, n int) (string, bool) {
	lines := s.Lines(name)
	if n < 1 || n > len(lines) {
		return "", false
	}
	return lines[n-1], true
}

// Places returns the files that may have the text of a file, the first choice first.
func (s *Sources) Places(name string) []string {
	candidates := []string{name}
	for _, dir := range s.Dirs {
		rest := strings.TrimPrefix(filepath.Clean(name), "/")
		for {
			candidates = append(candidates, filepath.Join(dir, rest))
			_, after, ok := strings.Cut(rest, "/")
			if !ok {
				break
			}
			rest = after
		}
	}
	return candidates
}

func (s *Sources) read(name string) []string {
	for _, c := range s.Places(name) {
		st, err := os.Stat(c)
		if err != nil || !st.Mode().IsRegular() || st.Size() > maxSource {
			continue
		}
		text, err := os.ReadFile(c)
		if err != nil || !utf8.Valid(text) {
			continue
		}
		lines := strings.Split(strings.ReplaceAll(string(text), "\r\n", "\n"), "\n")
		if n := len(lines); n > 1 && lines[n-1] == "" {
			lines = lines[:n-1]
		}
		return lines
	}
	return nil
}

// disassemble returns the instruction at pc in assembler syntax.
func disassemble(img *image.Space, pc uint64) string {
	code := img.Code(pc, 4)
	if len(code) < 2 {
		return "?"
	}
	i, err := riscv64asm.Decode(code)
	if err == nil {
		return riscv64asm.GNUSyntax(i)
	}
	word := uint32(binary.LittleEndian.Uint16(code))
	if len(code) == 4 {
		word = binary.LittleEndian.Uint32(code)
	}
	if known, ok := rv.Decode(word); ok { // of extensions newer than the library
		return known.Assembly()
	}
	if code[0]&3 == 3 && len(code) == 4 {
		return fmt.Sprintf(".4byte %#x", binary.LittleEndian.Uint32(code))
	}
	return fmt.Sprintf(".2byte %#x", binary.LittleEndian.Uint16(code))
}

// offsetText names a place in the code by its function, as in name+12.
func offsetText(img *image.Space, pc uint64) string {
	s, ok := img.Func(pc)
	switch {
	case !ok:
		return fmt.Sprintf("%#x", pc)
	case pc == s.Addr:
		return s.Demangled()
	}
	return fmt.Sprintf("%s+%d", s.Demangled(), pc-s.Addr)
}
