package dap

import (
	"fmt"
	"os"
	"path"
	"slices"

	godap "github.com/google/go-dap"

	"hindsight/mpsim/debug"
)

// modules returns the program and its shared objects.
func (s *server) modules(a *godap.ModulesArguments) any {
	all := []godap.Module{}
	for i, m := range s.debug.Journal().Image().Images() {
		out := godap.Module{Id: i, Name: m.Name(), Path: debug.FileName(m), SymbolStatus: "no debug information"}
		if i == 0 {
			out.Name, out.Path = "the program", ""
		}
		if m.HasDebug() {
			out.SymbolStatus = "debug information"
		}
		if n := len(m.Segments); n > 0 {
			out.AddressRange = fmt.Sprintf("%#x-%#x", m.Segments[0].Addr, m.Segments[n-1].End())
		}
		all = append(all, out)
	}
	total := len(all)
	return godap.ModulesResponseBody{Modules: page(all, a.StartModule, a.ModuleCount), TotalModules: total}
}

// page returns the part of a list that a client requests: count entries from start on.
// count 0 means all of those.
func page[T any](all []T, start, count int) []T {
	all = all[min(max(start, 0), len(all)):]
	if count > 0 {
		all = all[:min(count, len(all))]
	}
	return all
}

// sources returns the source files of the program and its shared objects.
func (s *server) sources() any {
	var names []string
	for _, m := range s.debug.Journal().Image().Images() {
		for _, name := range m.SourceFiles() {
			names = append(names, path.Clean(name))
		}
	}
	slices.Sort(names)
	all := []godap.Source{}
	for _, name := range slices.Compact(names) {
		all = append(all, godap.Source{Name: path.Base(name), Path: name})
	}
	return godap.LoadedSourcesResponseBody{Sources: all}
}

// maxSource bounds the size of a source file that is passed on, in bytes.
const maxSource = 64 << 20

// source returns the text of a source file on this machine, for clients that cannot read it
// themselves.
func source(a *godap.SourceArguments) (any, error) {
	if a.Source == nil || a.Source.Path == "" {
		return nil, fmt.Errorf("the request names no source file")
	}
	info, err := os.Stat(a.Source.Path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxSource {
		return nil, fmt.Errorf("%s is not a source file", a.Source.Path)
	}
	text, err := os.ReadFile(a.Source.Path)
	if err != nil {
		return nil, err
	}
	return godap.SourceResponseBody{Content: string(text)}, nil
}
