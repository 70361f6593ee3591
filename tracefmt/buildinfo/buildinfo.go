// Package buildinfo says which version of this module a program was built from:
// traces and reports name it.
package buildinfo

import "runtime/debug"

// release is the version of the next release; a build from a tagged module
// says its tag instead, and make release sets it.
var release = "0.1.0-dev"

// Version is what reports and traces say, such as "0.1.0"; it does not differ
// by the commit.
func Version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return release
}

// Commit is what the build was made from: twelve digits, "with changes" if it
// was changed; "" if it is not known.
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
