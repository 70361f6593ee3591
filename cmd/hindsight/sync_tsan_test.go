package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

var tsanTwins = flag.Bool("tsan-twins", false, "build the twins of examples/sync natively with ThreadSanitizer and compare the verdicts (make tsan-twins)")

// tsanRuns is how often ThreadSanitizer runs a twin. A correct twin must be clean each
// time, and a broken one must be reported once. Its schedules are the host's.
const tsanRuns = 8

// tsanDifference says why ThreadSanitizer's verdict on twins differs from ours, which is
// the one that the language and the library promise.
type tsanDifference struct {
	twins  *regexp.Regexp // of FILE/TWIN
	reason string
}

// tsanDifferences explains every difference that was seen with the native gcc. The
// sanitizer's verdict may change from run to run, so an explanation that is not needed is
// not a failure.
var tsanDifferences = []tsanDifference{
	because(`omp\w*\.\w+/norace_`, "libgomp is not instrumented: the sanitizer sees nothing of what teams, barriers, locks and tasks order"),
	because(`omp\w*\.\w+/race_`, "the sanitizer compares threads, not tasks and sections: they were run by one thread, or in an order that hides it"),
	because(`buffers.c/race_(memset|strcpy|printf|read)`, "gcc expands the call in place and does not tell the sanitizer what it accesses"),
	because(`buffers.c/race_c11`, "C11's mtx_lock, thrd_create and call_once are not intercepted"),
	because(`atomics.cc/norace_(fence|counter)`, "atomic_thread_fence is not understood"),
	because(`atomics.cc/race_release_sequence`, "a relaxed store by another thread does not end a release sequence for the sanitizer"),
	because(`signals.c/norace_(kill|sigwait|queue|timer)`, "signals that are waited for order nothing for the sanitizer"),
	because(`signals.c/race_overflow`, "a sem_post that fails orders for the sanitizer, which looks before the call"),
	because(`signals.c/norace_robust`, "the death of a robust mutex's owner orders nothing for the sanitizer"),
	because(`kernel.c/race_pointer`, "a read orders after every write to the descriptor so far, not after the one whose bytes it got"),
	because(`kernel.c/norace_(eof|poll|select|epoll)`, "the end of a pipe and waiting for a descriptor order nothing for the sanitizer"),
	because(`kernel.c/norace_(signalfd|timerfd|futex)`, "signalfd, timerfd and futexes of the program order nothing for the sanitizer"),
	because(`kernel.c/norace_number`, "that a number is handed out only after it was closed orders nothing for the sanitizer"),
	because(`kernel.c/race_clone`, "clone is not intercepted: its thread is taken for the one that made it"),
	because(`kernel.c/race_handle`, "that pthread_create stores the handle is no access for the sanitizer"),
	because(`hidden.c/norace_stream_lock`, "flockfile is not intercepted"),
	because(`hidden.c/race_(stream_buffer|duplicate|formatted|memory_stream|remapped|main_stack)`, "gcc expands the call in place, or the C library writes by itself, and the sanitizer is not told"),
	because(`hidden_cxx.cc/race_hidden_(ostringstream|exception|locale|shared_ptr)`, "the library's own reference counts, of locales, exceptions and pointers, order for the sanitizer"),
	because(`hidden_cxx.cc/norace_hidden_regex`, "std::ctype's cache is filled by whoever comes first, in a header (GCC bug 77704)"),
	because(`atomics_bytes.c/race_mixed_clear`, "gcc expands the memset in place and does not tell the sanitizer what it accesses"),
	because(`cxx_locks.cc/norace_(shared_)?timed_mutex`, "pthread_mutex_clocklock and pthread_rwlock_clockwrlock are not intercepted"),
	because(`cxx_library.cc/race_shared_ptr`, "on the host the first thread ends before the second is made, and the reference count orders them"),
	because(`cxx_library.cc/norace_atomic_shared_ptr`, "libstdc++ 12 unlocks its pointer's lock bit by a relaxed operation after a load; the standard orders the two all the same"),
}

func because(twins, reason string) tsanDifference {
	return tsanDifference{regexp.MustCompile("^" + twins), reason}
}

// TestSyncTSan runs the sources of TestSyncTable under ThreadSanitizer. An unexplained
// difference fails.
func TestSyncTSan(t *testing.T) {
	if !*tsanTwins {
		t.Skip("runs natively for some minutes: make tsan-twins")
	}
	dir := t.TempDir()
	for _, g := range syncGroups {
		program := g.buildTSan(t, dir)
		for _, p := range syncPairs(t, g.File) {
			for _, twin := range []string{"norace_" + p.Name, "race_" + p.Name} {
				compareTSan(t, program, g.File, twin)
			}
		}
	}
}

// buildTSan compiles a group natively.
func (g syncGroup) buildTSan(t *testing.T, dir string) string {
	t.Helper()
	out := filepath.Join(dir, strings.ReplaceAll(g.File, ".", "_"))
	compiler, args := "gcc", []string{"-std=gnu17"}
	switch filepath.Ext(g.File) {
	case ".cc":
		compiler, args = "g++", []string{"-std=c++20"}
	case ".f90":
		compiler, args = "gfortran", nil
	}
	args = append(args, "-O1", "-g", "-w", "-fsanitize=thread", "-pthread", "-o", out)
	args = append(append(args, g.Flags...), filepath.Join(syncDir, g.File))
	if msg, err := exec.CommandContext(t.Context(), compiler, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", g.File, err, msg)
	}
	return out
}

// compareTSan runs a twin and compares the verdict.
func compareTSan(t *testing.T, program, file, twin string) {
	broken := strings.HasPrefix(twin, "race_")
	reported, ended := false, ""
	for range tsanRuns {
		text, hung := runUnderTSan(t.Context(), program, twin)
		if hung {
			ended = "did not end"
			break
		}
		if reported = strings.Contains(text, "WARNING: ThreadSanitizer: data race"); reported {
			break
		}
	}
	if ended == "" && reported == broken {
		return
	}
	verdict := "missed by"
	switch {
	case ended != "":
		verdict = ended + " under"
	case reported:
		verdict = "reported, though correct, by"
	}
	for _, d := range tsanDifferences {
		if d.twins.MatchString(file + "/" + twin) {
			fmt.Printf("%-45s %s ThreadSanitizer: %s\n", file+"/"+twin, verdict, d.reason)
			return
		}
	}
	t.Errorf("%s/%s: %s ThreadSanitizer, and nothing explains it", file, twin, verdict)
}

// runUnderTSan returns what the twin and the sanitizer wrote.
func runUnderTSan(ctx context.Context, program, twin string) (text string, hung bool) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, twin)
	cmd.Env = append(os.Environ(), "TSAN_OPTIONS=exitcode=66 history_size=7", "OMP_NUM_THREADS=4", "OMP_CANCELLATION=true")
	out, _ := cmd.CombinedOutput() // the status says what the text says
	return string(out), ctx.Err() != nil
}
