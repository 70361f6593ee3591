// Command papertables measures the tables of the papers that this project
// implements, on the example kernels, and prints them beside the published
// figures (docs/paper-tables.md).
package main

import (
	"os"

	"hindsight/cmd/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr})) }

// run returns the whole program: it returns the exit status.
func run(args []string, std cli.Streams) int {
	return cli.Run(args, std, cli.Program{Name: "papertables", Root: newRoot})
}
