package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"github.com/spf13/cobra"

	"hindsight/analyze"
	"hindsight/cmd/internal/cli"
	"hindsight/mpsim/gdbstub"
	"hindsight/mpsim/steer"
)

// gdbFlags are the flags of `hindsight gdb`.
type gdbFlags struct {
	pastFlags
	stdio    bool
	listen   string
	gdb      string
	commands bool
}

// pastFlags say how to debug the run of a trace.
type pastFlags struct {
	again  againFlags
	memory byteSize
}

// defaultCheckpoints is the memory that checkpoints may use by default.
const defaultCheckpoints = 256 << 20

func (f *pastFlags) add(cmd *cobra.Command) {
	f.again.addInput(cmd)
	f.memory = defaultCheckpoints
	cmd.Flags().Var(&f.memory, "checkpoints", "memory for checkpoints: bytes, or with K, M or G; more of it makes going back faster")
}

func newGDB(std cli.Streams) *cobra.Command {
	var f gdbFlags
	cmd := &cobra.Command{
		Use:   "gdb [flags] TRACE [-- GDB-ARGUMENTS…]",
		Short: "Debug the run in a trace with gdb, forward and back",
		Long: `gdb repeats the run of TRACE and lets gdb look at every moment of it, in any
order. Breakpoints, watchpoints, stepping and finish work as usual, and so do
reverse-continue, reverse-step, reverse-next and reverse-finish. Threads take
the turns that they took in the run. Memory and registers are read-only, and
functions cannot be called.

Without --stdio and --listen it starts gdb itself, on the program from the
trace, with four more commands:

  race R1 [1|2]         go to just before the earlier or later access of a race
  lastwrite EXPRESSION  show the last write to this
  when                  the time: how many instructions were executed
  goto TIME             go to that time; also: goto begin, goto end

In any gdb they are "monitor race R1" and so on. docs/debugging.md has more.`,
		Example: `  hindsight gdb bank.hst
  hindsight gdb bank.hst -- -batch -ex 'race R1' -ex 'bt'
  gdb-multiarch bank -ex 'target remote | hindsight gdb --stdio bank.hst'
  hindsight gdb --listen 127.0.0.1:1234 bank.hst`,
		Args:              f.arguments,
		ValidArgsFunction: completeTrace,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.commands {
				_, err := io.WriteString(std.Out, gdbstub.Commands)
				return err
			}
			return f.run(cmd.Context(), std, args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.stdio, "stdio", false, "speak gdb's protocol on standard input and output, for \"target remote |\"")
	flags.StringVar(&f.listen, "listen", "", "wait for one gdb at `ADDRESS`, such as 127.0.0.1:1234")
	flags.StringVar(&f.gdb, "gdb", "", "`PROGRAM` to start (default: gdb-multiarch, a riscv64 gdb, or gdb)")
	flags.BoolVar(&f.commands, "commands", false, "print the script with the commands, for \"source\" in a gdb that you start")
	cmd.MarkFlagsMutuallyExclusive("stdio", "listen", "commands")
	f.add(cmd)
	return cmd
}

func (f *gdbFlags) arguments(cmd *cobra.Command, args []string) error {
	switch dash := cmd.ArgsLenAtDash(); {
	case f.commands:
		return cobra.NoArgs(cmd, args)
	case len(args) == 0:
		return errors.New("want a trace")
	case len(args) > 1 && dash != 1:
		return fmt.Errorf("one trace is debugged at a time; arguments of gdb stand after \"--\"")
	case len(args) > 1 && (f.stdio || f.listen != ""):
		return errors.New("arguments of gdb are for the gdb that hindsight starts, without --stdio and --listen")
	}
	return nil
}

// past is the run of a trace, ready to be debugged.
type past struct {
	*steer.Debuggee
	trace *analyze.Trace
	log   io.Writer
}

// open reruns the program of a trace.
func (f *pastFlags) open(ctx context.Context, std cli.Streams, file string) (*past, error) {
	t, err := openTrace(ctx, std, file, withAccesses, &f.again)
	if err != nil {
		return nil, err
	}
	if err := t.HasRun(); err != nil {
		t.Close()
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	bar := cli.NewProgress(std.Err, "instructions run again", t.Insts())
	last := uint64(0)
	d, err := steer.Debug(ctx, t, f.again.rerun(), uint64(f.memory), func(n uint64) { bar.Step(n - last); last = n })
	bar.End()
	if err != nil {
		t.Close()
		return nil, err
	}
	return &past{d, t, std.Err}, nil
}

func (p *past) serve(ctx context.Context, conn io.ReadWriter) error {
	return gdbstub.Serve(ctx, conn, gdbstub.Options{Debugger: p.Console.Debugger, Program: p.Program(), Files: p.Files(), Monitor: p.Console.Do,
		Log: func(text string) { fmt.Fprintf(p.log, "hindsight: %s\n", text) }})
}

// run serves one gdb.
func (f *gdbFlags) run(ctx context.Context, std cli.Streams, file string, args []string) error {
	gdb := f.gdb
	if !f.stdio && f.listen == "" {
		var err error
		if gdb, err = findGDB(gdb); err != nil {
			return err
		}
	}
	p, err := f.open(ctx, std, file)
	if err != nil {
		return err
	}
	defer p.trace.Close()
	switch {
	case f.stdio:
		signal.Ignore(os.Interrupt) // the signal is meant for gdb, which sends a packet
		return p.serve(ctx, struct {
			io.Reader
			io.Writer
		}{std.In, std.Out})
	case f.listen != "":
		return p.listen(ctx, std, f.listen)
	}
	return p.start(ctx, std, gdb, args)
}

// listen waits for one gdb at an address.
func (p *past) listen(ctx context.Context, std cli.Streams, address string) error {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Err, "hindsight: in gdb-multiarch: target remote %s\n", l.Addr())
	return accept(ctx, l, func(conn io.ReadWriter) error { return p.serve(ctx, conn) })
}

// accept serves the first connection.
func accept(ctx context.Context, l net.Listener, serve func(io.ReadWriter) error) error {
	defer context.AfterFunc(ctx, func() { l.Close() })()
	conn, err := l.Accept()
	l.Close()
	if err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	defer conn.Close()
	return serve(conn)
}

// findGDB returns the debugger to start.
func findGDB(name string) (string, error) {
	if name != "" {
		return exec.LookPath(name)
	}
	for _, name := range []string{"gdb-multiarch", "riscv64-linux-gnu-gdb", "riscv64-unknown-linux-gnu-gdb", "gdb"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("no gdb for RISC-V is installed: install gdb-multiarch, or name one by --gdb PROGRAM")
}

// start starts gdb on the program of the trace and serves it.
func (p *past) start(ctx context.Context, std cli.Streams, gdb string, args []string) error {
	dir, err := os.MkdirTemp("", "hindsight-gdb-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := p.unpack(dir); err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	script := filepath.Join(dir, "hindsight.py")
	if err := os.WriteFile(script, []byte(gdbstub.Commands), 0o600); err != nil {
		return err
	}
	all := append([]string{"-q", "-iex", "set sysroot " + dir, filepath.Join(dir, p.Program()), "-ex", "target remote " + l.Addr().String(), "-x", script}, args...)
	cmd := exec.CommandContext(ctx, gdb, all...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = std.In, std.Out, std.Err
	if in, ok := std.In.(*os.File); ok {
		cmd.Stdin = in
	}
	if f, ok := cli.File(std.Out); ok {
		cmd.Stdout = f
	}
	if f, ok := cli.File(std.Err); ok {
		cmd.Stderr = f
	}
	if err := cmd.Start(); err != nil {
		l.Close()
		return err
	}
	signal.Ignore(os.Interrupt) // the signal is meant for gdb, which sends a packet
	served := make(chan error, 1)
	go func() { served <- accept(ctx, l, func(conn io.ReadWriter) error { return p.serve(ctx, conn) }) }()
	err = cmd.Wait()
	l.Close()
	if e := <-served; e != nil && !errors.Is(e, net.ErrClosed) && ctx.Err() == nil {
		return e
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 {
		return cli.ExitStatus(exit.ExitCode())
	}
	return err
}

// unpack writes the program and its shared objects to a directory.
func (p *past) unpack(dir string) error {
	for name, data := range p.Files() {
		file := filepath.Join(dir, filepath.Clean("/"+name))
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(file, data, 0o600); err != nil {
			return err
		}
	}
	return nil
}
