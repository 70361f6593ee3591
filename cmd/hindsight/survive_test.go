package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"hindsight/analyze"
	"hindsight/cdr"
	"hindsight/examples/cross"
	"hindsight/mpsim"
	"hindsight/mpsim/image"
	"hindsight/mpsim/session"
	"hindsight/tracefmt"
	"hindsight/tracefmt/outfile"
)

// process is hindsight as a separate process.
func process(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), benchExec+"=1")
	return cmd
}

// TestKilledRecording kills recordings at random moments. They must leave the beginning
// of the trace that the complete run would have, and info and races must read its closed
// epochs.
func TestKilledRecording(t *testing.T) {
	prog := compileC(t, "scatter.c")
	t.Chdir(t.TempDir())
	record := []string{"run", "--epoch-memory", "128K"}
	whole := process(append(record, "--max-instructions", "6000000", "-o", "whole.hst", prog)...)
	if out, err := whole.CombinedOutput(); err == nil || whole.ProcessState.ExitCode() != 137 {
		t.Fatalf("%v\n%s", err, out)
	}
	want, err := os.ReadFile("whole.hst")
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for n := range 6 {
		name := fmt.Sprintf("killed%d.hst", n)
		cmd := process(append(record, "-o", name, prog)...)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		enough := int64(len(want)/4) + rng.Int64N(int64(len(want)/4))
		for deadline := time.Now().Add(time.Minute); fileSize(name) < enough && time.Now().Before(deadline); {
			time.Sleep(time.Duration(rng.IntN(3000)) * time.Microsecond)
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		got, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if common := min(len(got), len(want)*9/10); !bytes.Equal(got[:common], want[:common]) {
			t.Errorf("%s is not the beginning of the whole trace", name)
		}
		checkIncomplete(t, name)
	}
}

// TestKilledBeforeAnEpoch kills recordings at once. No command may then say that there is
// no race, even if the program was not written yet.
func TestKilledBeforeAnEpoch(t *testing.T) {
	prog := compileC(t, "spinner.c")
	t.Chdir(t.TempDir())
	cmd := process("run", "-o", "killed.hst", prog)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	const partial = "killed.hst" + outfile.Partial
	for deadline := time.Now().Add(time.Minute); fileSize(partial) < 1000 && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	checkNothingRecorded(t, [][]string{{"races", "killed.hst"}}) // the message names the other file
	commands := [][]string{{"races", partial}, {"info", "--verify", partial}, {"export", partial}, {"diff", partial, partial}, {"view", partial}, {"view", "-o", "page.html", partial},
		{"gdb", "--stdio", partial}, {"confirm", partial}, {"minimize", "--race", "R1", partial}}
	allowed := [][]string{{"races", "--allow-incomplete", partial}, {"info", "--verify", "--allow-incomplete", partial}, {"info", partial}}
	checkNothingRecorded(t, commands, allowed...)
	if err := os.Truncate(partial, 1000); err != nil {
		t.Fatal(err)
	}
	checkNothingRecorded(t, commands, allowed...)
}

// checkNothingRecorded runs commands on a trace that ends before its first epoch. The
// commands in refused must fail, and those in allowed must succeed.
func checkNothingRecorded(t *testing.T, refused [][]string, allowed ...[]string) {
	t.Helper()
	for _, args := range refused {
		out, err := process(args...).CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != exitError || !bytes.Contains(out, []byte("killed.hst")) || !bytes.Contains(out, []byte("before its first epoch")) {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
	for _, args := range allowed {
		if out, err := process(args...).CombinedOutput(); err != nil {
			t.Errorf("%v: %v\n%s", args, err, out)
		}
	}
}

// TestEndSignals checks that a recording that gets a signal to end closes its file
// properly.
func TestEndSignals(t *testing.T) {
	prog := compileC(t, "spinner.c")
	t.Chdir(t.TempDir())
	hearHangup(t)
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		name := fmt.Sprintf("signal%d.hst", sig)
		cmd := process("run", "-o", name, prog)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); fileSize(name+outfile.Partial) < 1000 && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
		_ = cmd.Process.Signal(sig)
		stuck := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait()
		stuck.Stop()
		if out, err := process("info", "--verify", name).CombinedOutput(); err != nil || !bytes.Contains(out, []byte("complete, verified")) {
			t.Errorf("%v: %v\n%s", sig, err, out)
		}
		if status := cmd.ProcessState.ExitCode(); status != 128+int(sig) {
			t.Errorf("%v: status %d", sig, status)
		}
	}
}

// hearHangup makes the processes that a test starts receive SIGHUP, even under nohup,
// whose child processes ignore it.
func hearHangup(t *testing.T) {
	handled := make(chan os.Signal, 1)
	signal.Notify(handled, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(handled) })
}

func fileSize(name string) int64 {
	info, err := os.Stat(name)
	if err != nil {
		return 0
	}
	return info.Size()
}

// checkIncomplete reads the trace of a recording that was cut off.
func checkIncomplete(t *testing.T, name string) {
	t.Helper()
	text, _ := command(t.Context(), t, "info", "--verify", "--format", "json", name)
	var info analyze.Info
	if err := json.Unmarshal([]byte(text), &info); err != nil {
		t.Fatal(err)
	}
	if info.Complete || info.Epochs < 2 || len(info.Threads) != 3 || info.Verified == nil || !*info.Verified {
		t.Errorf("%s: %s", name, text)
	}
	text, status := command(t.Context(), t, "races", "--format", "json", name)
	if status != exitRaces {
		t.Errorf("%s: status %d: %s", name, status, text)
	}
	checkSchema(t, text)
}

// disk is a file on a disk with limited space.
type disk struct {
	bytes.Buffer
	room int
}

func (d *disk) Write(b []byte) (int, error) {
	if len(b) > d.room {
		n, _ := d.Buffer.Write(b[:d.room])
		d.room = 0
		return n, syscall.ENOSPC
	}
	d.room -= len(b)
	return d.Buffer.Write(b)
}

// TestFullDisk checks that the recording ends with an error that says where, and that
// every closed epoch can be read.
func TestFullDisk(t *testing.T) {
	img, err := image.Load(compileC(t, "scatter.c"))
	if err != nil {
		t.Fatal(err)
	}
	record := func(room int) (*disk, error) {
		d := &disk{room: room}
		r := &session.Run{
			Image: img, Program: "scatter", Policy: mpsim.Random, Seed: 1, MaxInsts: 3_000_000,
			Mode: "cdr", Keep: "all", Alphabet: "path", Budget: 128 << 10,
		}
		_, err := r.RecordTo(t.Context(), session.Streams{}, d)
		return d, err
	}
	whole, err := record(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	all := openBytes(t, whole.Bytes())
	for part := 1; part < 10; part++ {
		room := whole.Len() * part / 10
		d, err := record(room)
		var failed *tracefmt.WriteError
		if !errors.As(err, &failed) || !errors.Is(err, syscall.ENOSPC) || failed.Offset > int64(room) {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		if !bytes.Equal(d.Bytes(), whole.Bytes()[:room]) {
			t.Errorf("room for %d bytes: something else was written", room)
		}
		tr, err := cdr.OpenReaderAt(bytes.NewReader(d.Bytes()), int64(d.Len()))
		if err != nil {
			if part > 5 {
				t.Errorf("room for %d bytes: %v", room, err)
			}
			continue
		}
		if err := tr.Verify(); err != nil {
			t.Errorf("room for %d bytes: %v", room, err)
		}
		// Epochs have about the same size, except for the program before them.
		info := tr.Info()
		if most := all.Info().Epochs; info.Complete || info.Epochs >= most || part == 9 && info.Epochs < most/2 {
			t.Errorf("room for %d bytes: %d epochs of %d, complete: %v", room, info.Epochs, most, info.Complete)
		}
	}
}

func openBytes(t *testing.T, data []byte) *cdr.Trace {
	t.Helper()
	tr, err := cdr.OpenReaderAt(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

// TestSameBytes checks that one seed leads to the same file, whatever else the machine
// does and however many processors there are.
func TestSameBytes(t *testing.T) {
	dir := t.TempDir()
	progs := []string{exampleFile(t, "bank"), exampleFile(t, "race_stop_flag")}
	if haveTool(t, cross.Compiler) {
		progs = append(progs, compileC(t, "scatter.c"))
	}
	var stop atomic.Bool
	defer stop.Store(true)
	for round, procs := range []string{"GOMAXPROCS=1", "GOMAXPROCS=2", "GOMAXPROCS=2"} {
		if round == 2 { // under load
			for range 4 {
				go func() {
					for !stop.Load() {
					}
				}()
			}
		}
		for _, prog := range progs {
			for _, sched := range []string{"rr", "random", "pct"} {
				file := filepath.Join(dir, fmt.Sprintf("%s.%s.%d.hst", filepath.Base(prog), sched, round))
				cmd := process("run", "--seed", "5", "--sched", sched, "--epoch-memory", "256K",
					"--max-instructions", "1000000", "-o", file, prog)
				cmd.Env = append(cmd.Env, procs)
				if out, err := cmd.CombinedOutput(); err != nil && cmd.ProcessState.ExitCode() != 137 {
					t.Fatalf("%v\n%s", err, out)
				}
				if round == 0 {
					continue
				}
				want, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("%s.%s.0.hst", filepath.Base(prog), sched)))
				if err != nil {
					t.Fatal(err)
				}
				got, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("%s, %s: another file in round %d", filepath.Base(prog), sched, round)
				}
			}
		}
	}
}

// TestRecordingChangesNothing checks that neither what is recorded, nor whether anything
// is, influences the schedule.
func TestRecordingChangesNothing(t *testing.T) {
	img, err := image.Load(compileC(t, "locks.c"))
	if err != nil {
		t.Fatal(err)
	}
	for n, policy := range []mpsim.Policy{mpsim.RoundRobin, mpsim.Random, mpsim.PCT, mpsim.RoundRobin, mpsim.Random} {
		quantum := 500
		if n >= 3 {
			quantum = 300_000 // more events than a batch holds
		}
		var want string
		for _, mode := range []string{"none", "cor", "dor", "cdr"} {
			var out bytes.Buffer
			r := &session.Run{
				Image: img, Program: "locks", Policy: policy, Seed: 3, Quantum: quantum, Mode: mode, Keep: "all", Alphabet: "path",
				Out: filepath.Join(t.TempDir(), "trace.hst"),
			}
			res, err := r.Record(t.Context(), session.Streams{Out: &out, Err: &out})
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%d instructions, status %d, %s", res.Insts, res.Status, &out)
			if want == "" {
				want = got
			} else if got != want {
				t.Errorf("%v, quantum %d, recording %s: %s; recording nothing: %s", policy, quantum, mode, got, want)
			}
		}
	}
}
