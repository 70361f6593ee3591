// Package golang is the gallery of Go: programs with common races in Go, each
// with its fix, in one embedded executable.
package golang

import (
	"bytes"
	"embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/klauspost/compress/zstd"
)

//go:embed testdata/gallery
var sources embed.FS

//go:embed gallery.zst
var packed []byte

// Folder is where the sources are, below this package.
const Folder = "testdata/gallery"

// Program is one of the gallery: the executable with its name as argument.
type Program struct {
	Name  string // race_go_… or norace_go_…
	Title string
	File  string // its source
	Races bool
	// Lines are those of the source that a report may name; at least one is.
	Lines []int
}

// Programs returns the gallery by name.
func Programs() ([]Program, error) {
	entries, err := sources.ReadDir(Folder)
	if err != nil {
		return nil, err
	}
	var list []Program
	for _, e := range entries {
		text, err := sources.ReadFile(Folder + "/" + e.Name())
		if err != nil {
			return nil, err
		}
		for _, m := range name.FindAllSubmatch(text, -1) {
			p := Program{Name: string(m[1]), File: e.Name(), Title: title(string(text)), Races: bytes.HasPrefix(m[1], []byte("race_"))}
			if p.Races {
				p.Lines = marked(string(text))
			} else {
				p.Title = "the same without the race"
			}
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b Program) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

var name = regexp.MustCompile(`programs\["((?:no)?race_go_\w+)"\]`)

// title is the first comment of a source, in one line.
func title(text string) string {
	var words []string
	for line := range strings.Lines(text) {
		comment, ok := strings.CutPrefix(line, "// ")
		if ok {
			words = append(words, strings.TrimSpace(comment))
		} else if len(words) > 0 {
			break
		}
	}
	return strings.TrimSuffix(strings.Join(words, " "), ".")
}

// marked are the lines with a comment of the form "race: variable".
func marked(text string) (lines []int) {
	n := 0
	for line := range strings.Lines(text) {
		n++
		if strings.Contains(line, "// race: ") {
			lines = append(lines, n)
		}
	}
	return lines
}

// Lookup finds a program by its name.
func Lookup(name string) (Program, error) {
	list, err := Programs()
	if err != nil {
		return Program{}, err
	}
	for _, p := range list {
		if p.Name == name {
			return p, nil
		}
	}
	return Program{}, fmt.Errorf("no program %q in the gallery of Go", name)
}

// Source is the text of a program.
func (p Program) Source() ([]byte, error) { return sources.ReadFile(Folder + "/" + p.File) }

// maxELF bounds the executable, in bytes.
const maxELF = 64 << 20

// ELF is the executable.
func ELF() ([]byte, error) {
	d, err := zstd.NewReader(bytes.NewReader(packed), zstd.WithDecoderMaxMemory(maxELF))
	if err != nil {
		return nil, err
	}
	defer d.Close()
	return io.ReadAll(io.LimitReader(d, maxELF))
}
