package linux

import (
	"path"
	"strconv"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
)

// openFiles builds the file system and opens the standard streams.
func (k *Kernel) openFiles(img *image.Image, exe string) error {
	cfg := &k.cfg
	v, err := vfs.New(&vfs.Config{
		Root: cfg.Root, Over: cfg.Over, Under: cfg.Under, Writable: cfg.Writable, Objects: cfg.Objects,
		Changing: k.procTaskNode, MaxBytes: cfg.MaxTempBytes, Space: k.space,
	})
	if err != nil {
		return err
	}
	k.vfs, k.files.k = v, k
	k.fillTree(img, exe)

	in := &inputStream{r: k.cfg.Stdin, lines: k.cfg.StdinLines}
	out := &outputStream{w: k.cfg.Stdout, ino: 4}
	errs := &outputStream{w: k.cfg.Stderr, ino: 5}
	for fd, f := range []*openFile{
		{file: in, path: "pipe:"},
		{file: out, path: "pipe:", flags: vfs.OpenWriteOnly},
		{file: errs, path: "pipe:", flags: vfs.OpenWriteOnly},
	} {
		k.files.set(fd, f, false)
	}
	return nil
}

// fillTree creates the files that every guest finds.
func (k *Kernel) fillTree(img *image.Image, exe string) {
	add := k.vfs.Add
	dev := func(minor uint64, fill func([]byte) int) *vfs.Node {
		ino := k.vfs.Inode()
		return vfs.Special(0, func() vfs.File { return &device{ino, 1<<8 | minor, fill} })
	}
	text := func(make func() string) *vfs.Node { return vfs.Generated(k.vfs.Inode(), make) }
	zero := func(p []byte) int { clear(p); return len(p) }
	random := func(p []byte) int { k.random(p); return len(p) }
	add("/dev/null", dev(3, func([]byte) int { return 0 }))
	add("/dev/zero", dev(5, zero))
	add("/dev/random", dev(8, random))
	add("/dev/urandom", dev(9, random))
	add("/proc/self/exe", vfs.Link(exe))
	add("/proc/self/maps", text(k.procMaps))
	add("/proc/self/cmdline", text(func() string { return strings.Join(k.cfg.Args, "\x00") + "\x00" }))
	add("/proc/cpuinfo", text(k.procCPUInfo))
	add("/proc/self/status", text(func() string { return k.procStatus(k.mainTask()) }))
	add("/proc/self/stat", text(func() string { return k.procStat() }))
	add("/proc/self/comm", text(func() string { return k.mainTask().Name + "\n" }))
	add("/proc/self/task", vfs.Special(0o555, func() vfs.File { return &procTasks{k} }))
	add("/proc/sys/kernel/pid_max", text(func() string { return "4194304\n" }))
	add("/proc/meminfo", text(k.procMeminfo))
	online := func() string {
		if k.cfg.CPUs == 1 {
			return "0\n"
		}
		return "0-" + strconv.Itoa(k.cfg.CPUs-1) + "\n"
	}
	for _, name := range []string{"online", "possible", "present"} {
		add("/sys/devices/system/cpu/"+name, text(online))
	}
	add(exe, vfs.ReadOnly(0o755, img.Data))
	k.vfs.AddTemporary("/tmp")
	k.vfs.AddTemporary("/dev/shm")
	k.vfs.Alias("/proc", "self", strconv.Itoa(MainTID))
}

// resolve makes a path of the guest absolute.
func (c *call) resolve(dirfd int32, addr uint64) (string, int64) {
	name, e := c.pathArg(addr)
	if e != 0 {
		return "", e
	}
	if name == "" {
		return "", -ENOENT
	}
	return c.absolute(dirfd, name)
}

// pathArg reads a path from guest memory.
func (c *call) pathArg(addr uint64) (string, int64) {
	name, ok, f := c.space.ReadCString(addr, maxPath)
	if f != nil {
		return "", c.fault(f)
	}
	if !ok {
		return "", -ENAMETOOLONG
	}
	for _, part := range strings.Split(name, "/") {
		if len(part) > 255 {
			return "", -ENAMETOOLONG
		}
	}
	return name, 0
}

const atFDCWD = -100

// absolute makes a path absolute and simplifies it. A trailing slash is kept as "/.", which
// only a directory has.
func (c *call) absolute(dirfd int32, name string) (string, int64) {
	base := c.vfs.Cwd()
	if !strings.HasPrefix(name, "/") && dirfd != atFDCWD {
		f, e := c.files.get(dirfd)
		if e != 0 {
			return "", e
		}
		if _, ok := f.file.(vfs.Directory); !ok {
			return "", -ENOTDIR
		}
		base = f.path
	}
	if !strings.HasPrefix(name, "/") {
		name = base + "/" + name
	}
	p := path.Clean("/" + name)
	if len(p) > maxPath { // Linux would continue with relative names
		return "", -ENAMETOOLONG
	}
	if p != "/" && (strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.")) {
		st, e := c.vfs.Stat(p, true)
		if e == 0 && st.Mode&vfs.ModeType != vfs.ModeDir {
			return "", -ENOTDIR
		}
	}
	return p, 0
}
