// Package examples holds small parallel programs in C, each with the races that
// a detector must report and with its RISC-V executable.
//
// There are five groups: the demonstration, the kernels of the parallel-trace
// paper (PPoPP 2003, section 3.1), workloads of one thread (a compiler, an
// interpreter, a sort), the paper's figures as programs, and a gallery of
// common bugs, each as race_NAME with a corrected norace_NAME. The sources are
// under src; every one begins with a comment that says what it shows.
//
// # Expectations
//
// The lines that race are marked in the source:
//
//	counter++;        /* race: counter */
//	sum += job->cost; /* may race: heap job */
//	A[1] = 0;         /* may artifact: A */
//
// A marker names the variable, after the kind of memory it is in unless that
// is global; a line may have several. Lines marked "race" (or "artifact", for a
// race that is only a consequence of another) take part in a race between two
// of them in every schedule; lines with "may" do in some. No other line may
// ever be reported.
// [Programs] returns the markers as [Race] values.
//
// # Executables
//
// The executables are in one zstd-compressed tar archive that the generator
// (go generate, or make examples) builds with a Debian cross compiler; its
// flags leave no path and no build id in them, so that the same toolchain
// returns the same bytes. The functions of this package may be called from
// several goroutines; nothing is kept between calls.
package examples

//go:generate go run ./build
