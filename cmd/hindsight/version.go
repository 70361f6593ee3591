package main

import "runtime/debug"

// release is the version of the next release; a build from a tagged module
// says its tag instead.
const release = "0.1.0-dev"

func version() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return release
}
