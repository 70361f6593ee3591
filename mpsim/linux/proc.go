package linux

import (
	"fmt"
	"strconv"
	"strings"

	"hindsight/mpsim/linux/vfs"
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
func (k *Kernel) procTaskNode(p string) *vfs.Node {
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
		text := func(s string) *vfs.Node {
			return vfs.Generated(vfs.InodeOf(p), func() string { return s })
		}
		switch {
		case !deeper:
			return vfs.Empty(vfs.InodeOf(p))
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

func (d *procTasks) Stat() vfs.Stat {
	return vfs.Stat{Mode: vfs.ModeDir | 0o555, Ino: vfs.InodeOf(procTaskDir), Nlink: uint32(2 + len(d.k.tasks))}
}
func (d *procTasks) Close() {}

func (d *procTasks) Entries() ([]vfs.DirEntry, int64) {
	var list []vfs.DirEntry
	for _, t := range d.k.tasks {
		id := strconv.Itoa(t.TID)
		list = append(list, vfs.DirEntry{Name: id, Mode: vfs.ModeDir, Ino: vfs.InodeOf(procTaskDir + id)})
	}
	return list, 0
}

func (k *Kernel) procMaps() string {
	var b strings.Builder
	for m := range k.space.VMAs() {
		mode := "p"
		if m.Shared {
			mode = "s"
		}
		line := fmt.Sprintf("%08x-%08x %s%s 00000000 00:00 0", m.Start, m.End, m.Prot, mode)
		if m.Name != "" {
			line = fmt.Sprintf("%-72s %s", line, m.Name)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (k *Kernel) procCPUInfo() string {
	var b strings.Builder
	for i := range k.cfg.CPUs {
		fmt.Fprintf(&b, "processor\t: %d\nhart\t\t: %d\nisa\t\t: rv64imafdc\nmmu\t\t: sv39\n\n", i, i)
	}
	return b.String()
}

func (k *Kernel) procMeminfo() string {
	total := k.space.MaxBytes()
	free := total - min(total, k.space.Resident())
	return fmt.Sprintf("MemTotal:       %8d kB\nMemFree:        %8d kB\nMemAvailable:   %8d kB\n", total>>10, free>>10, free>>10)
}
