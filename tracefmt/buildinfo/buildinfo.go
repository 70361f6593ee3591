// Package buildinfo says from which version of this module a program was built. Traces
// and reports name it.
package buildinfo

import (
	"regexp"
	"runtime/debug"
)

// release is the version of a release. make release sets it when it links.
var release string

// next is the version of the next release, which builds from a checkout report.
const next = "0.1.0-dev"

// pseudo matches the versions that the go command makes up for commits without a tag.
var pseudo = regexp.MustCompile(`\b\d{14}-[0-9a-f]{12}\b`)

// Version returns the version that reports and traces name, such as "0.1.0". It does not
// depend on the commit.
func Version() string {
	if release != "" {
		return release
	}
	if info, ok := debug.ReadBuildInfo(); ok && tagged(info.Main.Version) {
		return info.Main.Version
	}
	return next
}

// tagged reports whether a module version is that of a tag.
func tagged(version string) bool {
	return version != "" && version != "(devel)" && !pseudo.MatchString(version)
}

// Commit returns the commit of the build: twelve digits, followed by "with changes" if
// the tree was changed, or "" if it is not known.
func Commit() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = " with changes"
		}
	}
	if revision == "" {
		return ""
	}
	return revision + changed
}
