// Package buildinfo says from which version of this module a program was built. Traces
// and reports name it.
package buildinfo

import "runtime/debug"

// release is the version of the next release. A build from a tagged module has its tag
// instead, and make release sets the variable.
var release = "0.1.0-dev"

// Version returns the version that reports and traces name, such as "0.1.0". It does not
// depend on the commit.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return release
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
