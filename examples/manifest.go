package examples

import "slices"

// manifest is the table of examples, without what is derived from the sources.
func manifest() []Program {
	return slices.Concat(demos(), kernels(), workloads(), figures(), gallery())
}

func demos() []Program {
	return []Program{
		{
			Name: "bank", File: "bank.c", Group: Demo, Level: "-O1", Twin: "norace_bank", Races: true,
			Title: "tellers move money while an auditor reads under another lock",
		},
		{
			Name: "norace_bank", File: "norace_bank.c", Group: Demo, Level: "-O1", Twin: "bank",
			Title:  "the bank with one lock for transfers and audits",
			Stdout: "bank: 8000 in 8 accounts; 0 of 50 audits found another sum\n",
		},
	}
}

func kernels() []Program {
	ps := []Program{
		{
			Name: "fft", File: "fft.c", Title: "1-D FFT, six-step, barriers",
			Args: []string{"-m", "8"}, PaperArgs: []string{"-m", "16"},
			TenMillion: []string{"-m", "14"}, HundredMillion: []string{"-m", "18", "-x"},
			Stdout: "fft: 256 points: PASS\n",
		},
		{
			Name: "lu", File: "lu.c", Title: "blocked dense LU, 2-D scatter, barriers", Twin: "lu_nobarrier",
			Args: []string{"-n", "64"}, PaperArgs: []string{"-n", "256"},
			TenMillion: []string{"-n", "160"}, HundredMillion: []string{"-n", "336"},
			Stdout: "lu: 64 by 64: PASS\n",
		},
		{
			Name: "lu_nobarrier", File: "lu.c", Title: "blocked dense LU, one barrier forgotten", Twin: "lu",
			Defines: []string{"-DDROP_BARRIER"},
			Args:    []string{"-n", "64"}, PaperArgs: []string{"-n", "256"},
			Races: true, Status: AnyStatus,
		},
		{
			Name: "mp3d", File: "mp3d.c", Title: "particle flow in a wind tunnel, cell locks, barriers", Twin: "mp3d_nolock",
			Args: []string{"-m", "500", "-s", "3"}, PaperArgs: []string{"-m", "50000", "-s", "5"},
			TenMillion: []string{"-m", "5000", "-s", "8"}, HundredMillion: []string{"-m", "50000", "-s", "8"},
			Stdout: "mp3d: 500 particles, 3 steps: PASS\n",
		},
		{
			Name: "mp3d_nolock", File: "mp3d.c", Title: "particle flow in a wind tunnel, cells without locks", Twin: "mp3d",
			Defines: []string{"-DNO_LOCKS"},
			Args:    []string{"-m", "500", "-s", "3"}, PaperArgs: []string{"-m", "50000", "-s", "5"},
			Races: true, Status: AnyStatus,
		},
		{
			Name: "water", File: "water.c", Title: "molecular dynamics, molecule locks, barriers",
			Args: []string{"-n", "16", "-s", "2"}, PaperArgs: []string{"-n", "64", "-s", "3"},
			TenMillion: []string{"-n", "64", "-s", "6"}, HundredMillion: []string{"-n", "128", "-s", "18"},
			Stdout: "water: 16 molecules, 2 steps: PASS\n",
		},
		{
			Name: "sor", File: "sor.c", Title: "red-black successive over-relaxation, barriers",
			Args: []string{"-n", "24", "-i", "10"}, PaperArgs: []string{"-n", "100", "-i", "20"},
			TenMillion: []string{"-n", "100", "-i", "34"}, HundredMillion: []string{"-n", "200", "-i", "88"},
			Stdout: "sor: 24 by 24, 10 iterations: PASS\n",
		},
	}
	for i := range ps {
		ps[i].Group, ps[i].Level, ps[i].Libs = Kernel, "-O2", []string{"-lm"}
	}
	return ps
}

// workloads are long runs of one thread, of the kinds that SPECint has.
func workloads() []Program {
	ps := []Program{
		{
			Name: "compiler", File: "compiler.c", Title: "a compiler: tokens, a tree, scopes, folding, code",
			Args:       []string{"-n", "2"},
			TenMillion: []string{"-n", "34"}, HundredMillion: []string{"-n", "340"},
			Stdout: "compiler: 2 functions, 661 tokens, 21 symbols, 20 folded, 262 instructions, 0 removed, checksum f7cdf27b: PASS\n",
		},
		{
			Name: "interpreter", File: "interpreter.c", Title: "a byte-code machine that runs four programs",
			Args:       []string{"-n", "2"},
			TenMillion: []string{"-n", "8"}, HundredMillion: []string{"-n", "73"},
			Stdout: "interpreter: 2 rounds, 71621 operations, fibonacci 178, sieve 124, collatz 54, queens 12: PASS\n",
		},
		{
			Name: "sort", File: "sort.c", Title: "records sorted by six algorithms",
			Args:       []string{"-n", "300"},
			TenMillion: []string{"-n", "3200"}, HundredMillion: []string{"-n", "27000"},
			Stdout: "sort: 300 records, 1 rounds, 17223 compared, 18368 moved: PASS\n",
		},
		{
			Name: "structures", File: "structures.c", Title: "a hash table, a B-tree, random keys, a graph or JSON",
			Args:       []string{"hash"},
			TenMillion: []string{"hash", "-n", "20800"}, HundredMillion: []string{"hash", "-n", "221000"},
			Stdout: "structures: hash of 3000, 2951: PASS\n",
		},
	}
	for i := range ps {
		ps[i].Group, ps[i].Level = Workload, "-O2"
	}
	return ps
}

func figures() []Program {
	ps := []Program{
		{Name: "fig1", Title: "a lock is handed over among three threads", Stdout: "order: 1231\n"},
		{Name: "fig2", Title: "two threads with a lock each", Stdout: "x 2, y 2, thread 1 4, thread 2 7\n"},
		{Name: "fig6", Title: "an apparent race beside a lock that is handed over", Races: true, Stdout: "visits 4\n"},
		{Name: "fig7", Title: "a race on a subscript, and its artifact", Races: true, Stdout: "x is 0 or 1: yes, y is 0, 7 or 8: yes\n"},
	}
	for i := range ps {
		ps[i].Group, ps[i].Level, ps[i].File = Figure, "-O1", ps[i].Name+".c"
	}
	return ps
}

// bug is a row of the gallery: race_NAME and norace_NAME.
type bug struct {
	name              string
	race, norace      string // titles
	stdout, fixedText string // outputs; "" for one that depends on the schedule
}

func bugs() []bug {
	return []bug{
		{"bitfield", "neighbouring bit-fields set by two threads", "neighbouring bytes set by two threads",
			"", "opened 1, closed 1, want 1 1\n"},
		{"branch", "a racy flag, and the race that is behind it", "the flag is set before the thread starts",
			"total 100\n", "total 100\n"},
		{"check_then_act", "a check without the lock that the act holds", "check and act under one lock",
			"", "bought 5 of 5\n"},
		{"cond_flag", "a condition's flag set without its lock", "a condition's flag set under its lock",
			"done\n", "done\n"},
		{"counter", "a counter without a lock", "a counter with a lock",
			"", "counted 200 of 200\n"},
		{"detached", "sleeping instead of waiting for a detached thread", "a detached thread says when it is finished",
			"status 0 or 200: yes\n", "status 0 or 200: yes\n"},
		{"double_checked", "double-checked initialisation, plain", "double-checked initialisation, acquire and release",
			"sizes 42 42\n", "sizes 42 42\n"},
		{"early_free", "a job freed while a thread works on it", "a job freed behind the join",
			"joined\n", "joined\n"},
		{"false_sharing", "two parts of an array that overlap", "neighbouring words of one cache line",
			"", "sums 210 210\n"},
		{"index", "a racy index, and the artifact races that it causes", "index and table under one lock",
			"seen no impossible entry: yes\n", "seen no impossible entry: yes\n"},
		{"list", "pushing onto a list without a lock", "pushing onto a list with a lock",
			"", "length 10 of 10\n"},
		{"loop_variable", "the loop variable's address given to threads", "a variable of its own for each thread",
			"joined 3\n", "joined 3\n"},
		{"memcpy", "memcpy from a shared buffer without its lock", "memcpy from a shared buffer under its lock",
			"packet xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n", "packet xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n"},
		{"missing_barrier", "no barrier between two phases", "a barrier between two phases",
			"", "total 28, want 28\n"},
		{"publish", "a pointer published without release", "a pointer published with release and acquire",
			"length 5 or nothing: yes\n", "length 5 or nothing: yes\n"},
		{"read_lock", "a write under a read lock", "a write under a write lock",
			"", "sums 90 90, hits 80 of 80\n"},
		{"refcount", "a plain reference count", "an atomic reference count",
			"dropped\n", "dropped\n"},
		{"relaxed", "a relaxed flag that guards data", "relaxed where it may be, acquire and release where not",
			"seen 0 or 42: yes\n", "seen 42 42, looked: yes\n"},
		{"ring_buffer", "a ring buffer with plain indices", "a ring buffer with atomic indices",
			"", "sum at most 190: yes\n"},
		{"same_value", "two threads write the same value", "two threads store the same value atomically",
			"found 1\n", "found 1\n"},
		{"semaphore", "a semaphore as a mutex that starts at 2", "a semaphore as a mutex that starts at 1",
			"", "counter 2, want 2\n"},
		{"singleton", "a lazily made object without a lock", "a lazily made object with pthread_once",
			"verbosity 3 3\n", "verbosity 3 3\n"},
		{"spin_lock", "a spin lock made of a plain int", "a spin lock made of an atomic_flag",
			"", "counter 20 of 20\n"},
		{"stack_args", "thread arguments in a frame that is gone", "thread arguments in a frame that stays",
			"joined 2\n", "joined 2\n"},
		{"static_buffer", "a function with a static buffer", "a function with the caller's buffer",
			"", "digits 3 6, want 3 6\n"},
		{"stop_flag", "a plain stop flag", "an atomic stop flag",
			"stopped\n", "stopped\n"},
		{"tls_leak", "a thread-local variable used by another thread", "a thread-local variable copied for another thread",
			"seen 1 or 2: yes\n", "seen 1 or 2: yes\n"},
		{"torn_copy", "a structure copied while it changes", "a structure copied under its lock",
			"", "the copy is whole\n"},
		{"trylock", "the result of trylock ignored", "the result of trylock heeded",
			"", "entries 0, want 0\n"},
		{"unlocked_read", "a getter without the lock", "a getter with the lock",
			"from 20 to 40: yes\n", "from 20 to 40: yes\n"},
		{"wrong_lock", "two locks for one variable", "one lock for one variable",
			"", "length 0, want 0\n"},
	}
}

func gallery() []Program {
	var ps []Program
	for _, b := range bugs() {
		race, norace := "race_"+b.name, "norace_"+b.name
		ps = append(ps,
			Program{Name: race, File: race + ".c", Title: b.race, Twin: norace, Group: Gallery, Level: "-O1", Races: true, Stdout: b.stdout},
			Program{Name: norace, File: norace + ".c", Title: b.norace, Twin: race, Group: Gallery, Level: "-O1", Stdout: b.fixedText})
	}
	return ps
}
