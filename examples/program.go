package examples

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

//go:embed src
var sources embed.FS

// Group is what a program is there for.
type Group string

const (
	Demo     Group = "demo"     // the default of hindsight demo, and its twin
	Kernel   Group = "kernel"   // the parallel-trace paper's benchmarks
	Workload Group = "workload" // one thread and much to do, for measurements
	Figure   Group = "figure"   // the parallel-trace paper's figures
	Gallery  Group = "gallery"  // bugs that people write
)

// AnyStatus as a Program's Status says that its exit status depends on the
// schedule.
const AnyStatus = -1

// Program is an example and what to expect of it.
type Program struct {
	Name  string // unique; also the name of the executable
	File  string // the source, for [Source]; kernels may share one
	Title string // one line
	Group Group
	Twin  string // the corrected (or the broken) counterpart, or ""

	// Args are arguments that make a short run (kernels: under some ten
	// million instructions). PaperArgs, of kernels only, are the inputs of
	// the paper. Kernels also take -p THREADS, from 1 to 8, by default 4.
	Args      []string
	PaperArgs []string

	// TenMillion and HundredMillion, of workloads and of the kernels without
	// races, make runs of about so many instructions.
	TenMillion, HundredMillion []string

	// Level is the optimisation that the executable is built with, Defines
	// and Libs what its command line holds besides [BaseFlags].
	Level   string
	Defines []string
	Libs    []string

	// Races reports whether any run with more than one thread has a race, and
	// Expect which: at least one entry then is Sure.
	Races  bool
	Expect []Race

	// Status is the exit status, or AnyStatus. Stdout is the exact output of
	// a run with Args, by any number of threads; "" when that depends on the
	// schedule.
	Status int
	Stdout string
}

// BaseFlags are the compiler flags of every program.
func BaseFlags() []string {
	return []string{"-g", "-static", "-pthread", "-std=gnu11", "-Wall", "-Wextra"}
}

// Storage is the kind of memory that a race is on.
type Storage string

const (
	Global Storage = "global" // a static local too: its symbol is Variable.NUMBER
	Heap   Storage = "heap"   // Variable is then the source's name for the block
	Stack  Storage = "stack"
	TLS    Storage = "tls"
)

// Race is one variable's part in the expected report.
type Race struct {
	Variable string
	Storage  Storage
	// Artifact: the race is a consequence of another.
	Artifact bool
	// Sure lines: in every schedule some pair of them (a line may pair with
	// itself) is reported. May lines can be reported besides. Both ascend.
	Sure []int
	May  []int
}

// Lines are all lines that a report on the variable may name, ascending.
func (r Race) Lines() []int {
	lines := slices.Concat(r.Sure, r.May)
	slices.Sort(lines)
	return lines
}

// Programs returns every example: the demonstration first, then the kernels, the
// workloads, the figures and the gallery by name. The result is the caller's.
func Programs() []Program {
	programs := manifest()
	for i := range programs {
		p := &programs[i]
		if p.Races {
			source, err := sources.ReadFile("src/" + p.File)
			if err != nil {
				continue // a test of this package fails then
			}
			p.Expect = markers(string(source))
		}
	}
	return programs
}

// Lookup finds a program by its name.
func Lookup(name string) (Program, bool) {
	for _, p := range Programs() {
		if p.Name == name {
			return p, true
		}
	}
	return Program{}, false
}

// Source returns the C source of a program. A kernel's includes [Header].
func Source(name string) ([]byte, error) {
	p, ok := Lookup(name)
	if !ok {
		return nil, fmt.Errorf("examples: no program %q", name)
	}
	return sources.ReadFile("src/" + p.File)
}

// Header returns kernel.h, which the kernels include: its name and its text.
func Header() (name string, text []byte, err error) {
	text, err = sources.ReadFile("src/kernel.h")
	return "kernel.h", text, err
}

var marker = regexp.MustCompile(`/\* (may )?(race|artifact): (?:(heap|stack|tls) )?(\w+) \*/`)

// markers collects the expectations that a source is marked with, in the order
// in which their variables first appear.
func markers(source string) []Race {
	var races []Race
	for i, line := range strings.Split(source, "\n") {
		for _, m := range marker.FindAllStringSubmatch(line, -1) {
			r := Race{Variable: m[4], Storage: Storage(m[3]), Artifact: m[2] == "artifact"}
			if r.Storage == "" {
				r.Storage = Global
			}
			at := slices.IndexFunc(races, func(o Race) bool {
				return o.Variable == r.Variable && o.Storage == r.Storage && o.Artifact == r.Artifact
			})
			if at < 0 {
				at = len(races)
				races = append(races, r)
			}
			if m[1] == "" {
				races[at].Sure = append(races[at].Sure, i+1)
			} else {
				races[at].May = append(races[at].May, i+1)
			}
		}
	}
	return races
}

// Digest identifies what a program's executable is built from: its source, the
// header and the flags, not the toolchain.
func (p Program) Digest() (string, error) {
	source, err := sources.ReadFile("src/" + p.File)
	if err != nil {
		return "", fmt.Errorf("examples: %w", err)
	}
	_, header, err := Header()
	if err != nil {
		return "", fmt.Errorf("examples: %w", err)
	}
	h := sha256.New()
	fmt.Fprintf(h, "%q\n%q\n", p.flags(), p.Libs)
	h.Write(source)
	if p.Group == Kernel {
		h.Write(header)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// flags are all compiler flags but the libraries and those of reproducibility.
func (p Program) flags() []string {
	return slices.Concat(BaseFlags(), []string{p.Level}, p.Defines)
}
