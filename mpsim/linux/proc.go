package linux

import (
	"fmt"
	"strconv"
	"strings"
)

// What /proc shows about the process and its tasks.

// mainTask returns the first live task.
func (k *Kernel) mainTask() *Task {
	if len(k.tasks) > 0 {
		return k.tasks[0]
	}
	return &Task{TID: MainTID}
}

// procStatus returns the lines of a task's /proc/self/status that programs read.
func (k *Kernel) procStatus(t *Task) string {
	var size uint64
	for m := range k.space.VMAs() {
		size += m.Len()
	}
	state := "R (running)"
	if t.State == Blocked {
		state = "S (sleeping)"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Name:\t%s\nUmask:\t%04o\nState:\t%s\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t%d\nTracerPid:\t0\n",
		t.Name, k.process.umask, state, MainTID, t.TID, ParentPID)
	b.WriteString("Uid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\nFDSize:\t256\nGroups:\t0 \n")
	fmt.Fprintf(&b, "VmPeak:\t%8d kB\nVmSize:\t%8d kB\nVmHWM:\t%8d kB\nVmRSS:\t%8d kB\n",
		size>>10, size>>10, k.space.Resident()>>10, k.space.Resident()>>10)
	fmt.Fprintf(&b, "Threads:\t%d\n", len(k.tasks))
	fmt.Fprintf(&b, "SigPnd:\t%016x\nShdPnd:\t%016x\nSigBlk:\t%016x\n", uint64(t.pending.set), uint64(k.signals.pending.set), uint64(t.blocked))
	mask := t.affinity
	if mask == 0 {
		mask = k.allCPUs()
	}
	fmt.Fprintf(&b, "Cpus_allowed:\t%x\nCpus_allowed_list:\t%s\n", mask, cpuList(mask))
	return b.String()
}

// cpuList formats a set of processors as Linux does: 0-3,6.
func cpuList(mask uint64) string {
	var parts []string
	for i := 0; i < 64; i++ {
		if mask>>i&1 == 0 {
			continue
		}
		last := i
		for last < 63 && mask>>(last+1)&1 != 0 {
			last++
		}
		if part := strconv.Itoa(i); last > i {
			parts = append(parts, part+"-"+strconv.Itoa(last))
		} else {
			parts = append(parts, part)
		}
		i = last
	}
	return strings.Join(parts, ",")
}

// procStat returns the content of /proc/self/stat.
func (k *Kernel) procStat() string {
	ticks := k.busy / (1e9 / clockTicks)
	return fmt.Sprintf("%d (%s) R %d %d %d 0 -1 0 0 0 0 0 %d 0 0 0 20 0 %d 0 0 %d %d 18446744073709551615 0 0 0 0 0 0 0 0 0 0 0 0 17 0 0 0 0 0 0\n",
		MainTID, k.mainTask().Name, ParentPID, MainTID, MainTID, ticks, len(k.tasks), k.space.Charged(), k.space.Resident()>>12)
}

const procTaskDir = "/proc/self/task/"

// procTaskNode returns a file or directory under /proc/self/task, or nil if there is none.
func (k *Kernel) procTaskNode(p string) *node {
	rest, ok := strings.CutPrefix(p, procTaskDir)
	if !ok {
		return nil
	}
	id, name, deeper := strings.Cut(rest, "/")
	tid, err := strconv.Atoi(id)
	if err != nil {
		return nil
	}
	for _, t := range k.tasks {
		if t.TID != tid {
			continue
		}
		text := func(s string) *node {
			return &node{open: func() file {
				return &memFile{fixed([]byte(s)), stat{mode: modeRegular | 0o444, ino: inodeOf(p), nlink: 1}}
			}}
		}
		switch {
		case !deeper:
			return &node{ino: inodeOf(p), perm: 0o555, children: map[string]*node{}}
		case name == "status":
			return text(k.procStatus(t))
		case name == "comm":
			return text(t.Name + "\n")
		case name == "stat":
			return text(k.procStat())
		}
	}
	return nil
}

// procTasks is the directory of the tasks.
type procTasks struct{ k *Kernel }

func (d *procTasks) stat() stat {
	return stat{mode: modeDir | 0o555, ino: inodeOf(procTaskDir), nlink: uint32(2 + len(d.k.tasks))}
}
func (d *procTasks) close() {}

func (d *procTasks) entries() ([]dirEntry, int64) {
	var list []dirEntry
	for _, t := range d.k.tasks {
		id := strconv.Itoa(t.TID)
		list = append(list, dirEntry{id, modeDir, inodeOf(procTaskDir + id)})
	}
	return list, 0
}
