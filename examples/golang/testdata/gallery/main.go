// The gallery of Go: each race_go_… has a bug that people write, and norace_go_…
// beside it is the same without. One program holds all; its argument says which
// runs.
package main

import "os"

var programs = map[string]func(){}

func main() {
	if len(os.Args) == 2 && programs[os.Args[1]] != nil {
		programs[os.Args[1]]()
		os.Stdout.WriteString(os.Args[1] + ": done\n")
		return
	}
	println("usage: gallery NAME")
	os.Exit(2)
}
