package report

import (
	"net/url"
	"path"
	"slices"
	"strings"
)

// sourceRoot is the name of the directory to which file names are relative [3.14.14].
const sourceRoot = "SRCROOT"

// sourceDir returns the directory that contains all of the user's own files that the
// reports name with absolute paths, or "" if there is none.
func sourceDir(reports []*Report) string {
	common, some := "", false
	take := func(f Frame) {
		if !f.Own || !strings.HasPrefix(f.Path, "/") {
			return
		}
		dir := path.Dir(f.Path)
		if !some {
			common, some = dir, true
		}
		for !within(dir, common) {
			common = path.Dir(common)
		}
	}
	for _, r := range reports {
		for _, x := range slices.Concat(r.Races, r.Known, r.Suppressed) {
			for k := range x.Accesses {
				for _, f := range x.Accesses[k].Stack {
					take(f)
				}
			}
		}
	}
	if common == "/" {
		return ""
	}
	return common
}

// within reports whether a file is in a directory or below it.
func within(file, dir string) bool {
	return dir == "/" || file == dir || strings.HasPrefix(file, dir+"/")
}

// relativeTo makes the names of files below dir relative to it, and records where it is.
// Names that were already relative are assumed to be relative to it.
func (run *sarifRun) relativeTo(dir string) {
	move := func(l *sarifLocation) {
		if l == nil || l.Physical == nil || l.Physical.Artifact == nil {
			return
		}
		a := l.Physical.Artifact
		u, err := url.Parse(a.URI)
		switch {
		case err != nil:
		case u.Scheme == "":
			a.BaseID = sourceRoot
		case dir != "" && u.Path != dir && within(u.Path, dir):
			*a = sarifArtifact{(&url.URL{Path: strings.TrimPrefix(u.Path, dir+"/")}).String(), sourceRoot}
		}
	}
	stack := func(s *sarifStack) {
		if s == nil {
			return
		}
		for i := range s.Frames {
			move(s.Frames[i].Location)
		}
	}
	for i := range run.Results {
		x := &run.Results[i]
		for k := range x.Locations {
			move(&x.Locations[k])
		}
		for k := range x.RelatedLocations {
			move(&x.RelatedLocations[k])
		}
		for k := range x.Stacks {
			stack(&x.Stacks[k])
		}
		for _, flow := range x.CodeFlows {
			for _, thread := range flow.ThreadFlows {
				for k := range thread.Locations {
					move(thread.Locations[k].Location)
				}
			}
		}
	}
	if dir != "" {
		run.BaseIDs = map[string]sarifArtifact{sourceRoot: {URI: fileURI(strings.TrimSuffix(dir, "/") + "/")}}
	}
}
