package linux

import (
	"errors"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"

	"hindsight/mpsim/image"
	"hindsight/mpsim/mem"
)

// vfs is the file system that the guest sees: a tree in memory and, where that has nothing,
// the directory of the host, if one is configured.
//
// Names are made absolute, and ".." is resolved textually, before anything is looked up.
// Symbolic links inside the host directory are followed by os.Root, which does not let them
// lead out of it.
type vfs struct {
	tree  *node
	host  *hostRoot // nil without Config.Root and Config.Over
	under []*hostRoot
	// scratch says that everything can be written, in memory; see scratch.go.
	scratch bool
	fixed   map[string]*node // Config.Objects
	// procTask returns the files of /proc/self/task, which change with the tasks.
	procTask func(p string) *node
	cwd      string
	exe      string
	next     uint64 // next inode number
	nodes    int
	quota    int64      // bytes left for /tmp
	space    *mem.Space // where all of it counts as memory

	// cwdNode is the working directory, if it is in memory. Names that begin with its path
	// are looked up from there. If nil, lookups start at the root.
	cwdNode *node
}

// maxNodes bounds the number of files in /tmp.
const maxNodes = 1 << 16

func (v *vfs) inode() uint64 {
	v.next++
	return v.next
}

// openFiles builds the file system and opens the standard streams.
func (k *Kernel) openFiles(img *image.Image, exe string) error {
	v := &vfs{procTask: k.procTaskNode, cwd: "/", exe: exe, next: 16, quota: k.cfg.MaxTempBytes, space: k.space}
	k.vfs, k.files.k = v, k
	if err := v.openRoots(&k.cfg); err != nil {
		return errors.Join(err, v.closeRoots())
	}
	v.tree = v.dir()
	v.tree.merged, v.tree.writable = true, v.scratch
	k.fillTree(img)
	v.fixed = map[string]*node{}
	for name, o := range k.cfg.Objects {
		v.fixed[name] = objectNode(name, o)
	}

	in := &inputStream{r: k.cfg.Stdin, lines: k.cfg.StdinLines}
	out := &outputStream{w: k.cfg.Stdout, ino: 4}
	errs := &outputStream{w: k.cfg.Stderr, ino: 5}
	for fd, f := range []*openFile{
		{file: in, path: "pipe:"},
		{file: out, path: "pipe:", flags: openWriteOnly},
		{file: errs, path: "pipe:", flags: openWriteOnly},
	} {
		k.files.set(fd, f, false)
	}
	return nil
}

// openRoots opens the directories of the host.
func (v *vfs) openRoots(cfg *Config) error {
	layers := cfg.Under
	if cfg.Root != "" {
		layers = append([]string{cfg.Root}, layers...)
	}
	if cfg.Over != "" {
		layers = append([]string{cfg.Over}, layers...)
	}
	v.scratch = cfg.Writable
	for i, dir := range layers {
		root, err := os.OpenRoot(dir)
		if err != nil {
			return fmt.Errorf("root directory: %w", err)
		}
		if i == 0 && (cfg.Root != "" || cfg.Over != "") {
			v.host = &hostRoot{root}
		} else {
			v.under = append(v.under, &hostRoot{root})
		}
	}
	return nil
}

// fillTree creates the files that every guest finds.
func (k *Kernel) fillTree(img *image.Image) {
	v := k.vfs
	add := func(name string, n *node) {
		at := v.tree
		parts := strings.Split(strings.Trim(name, "/"), "/")
		for _, p := range parts[:len(parts)-1] {
			if at.children[p] == nil {
				at.children[p] = v.dir()
			}
			at = at.children[p]
		}
		n.ino = v.inode()
		if at.children[parts[len(parts)-1]] != nil {
			return // the program has the path of one of the directories
		}
		at.children[parts[len(parts)-1]] = n
	}
	dev := func(minor uint64, fill func([]byte) int) *node {
		ino := v.inode()
		return &node{open: func() file { return &device{ino, 1<<8 | minor, fill} }}
	}
	text := func(make func() string) *node {
		ino := v.inode()
		return &node{open: func() file {
			return &memFile{fixed([]byte(make())), stat{mode: modeRegular | 0o444, ino: ino, nlink: 1}}
		}}
	}
	zero := func(p []byte) int { clear(p); return len(p) }
	random := func(p []byte) int { k.random(p); return len(p) }
	add("/dev/null", dev(3, func([]byte) int { return 0 }))
	add("/dev/zero", dev(5, zero))
	add("/dev/random", dev(8, random))
	add("/dev/urandom", dev(9, random))
	add("/proc/self/exe", &node{link: v.exe})
	add("/proc/self/maps", text(k.procMaps))
	add("/proc/self/cmdline", text(func() string { return strings.Join(k.cfg.Args, "\x00") + "\x00" }))
	add("/proc/cpuinfo", text(k.procCPUInfo))
	add("/proc/self/status", text(func() string { return k.procStatus(k.mainTask()) }))
	add("/proc/self/stat", text(func() string { return k.procStat() }))
	add("/proc/self/comm", text(func() string { return k.mainTask().Name + "\n" }))
	add("/proc/self/task", &node{perm: 0o555, open: func() file { return &procTasks{k} }})
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
	add(v.exe, &node{perm: 0o755, data: fixed(img.Data)})
	tmp := v.dir()
	tmp.writable, tmp.perm = true, 0o777|0o1000
	add("/tmp", tmp)
	shm := v.dir()
	shm.writable, shm.perm = true, 0o777|0o1000
	add("/dev/shm", shm)
	v.tree.children["proc"].children[strconv.Itoa(MainTID)] = v.tree.children["proc"].children["self"]
}

func (v *vfs) dir() *node {
	return &node{ino: v.inode(), perm: 0o755, children: make(map[string]*node)}
}

// close closes the host files that are still open.
func (v *vfs) close(k *Kernel) error {
	for fd := range k.files.slots {
		k.files.close(int32(fd))
	}
	return v.closeRoots()
}

func (v *vfs) closeRoots() error {
	var err error
	if v.host != nil {
		err = v.host.root.Close()
	}
	for _, h := range v.under {
		err = errors.Join(err, h.root.Close())
	}
	return err
}

// hostOf returns the directory of the host that has a path, or that would have it. It
// returns nil if there is none.
func (v *vfs) hostOf(p string) *hostRoot {
	if v.host != nil && (len(v.under) == 0 || v.host.has(p)) {
		return v.host
	}
	for _, h := range v.under {
		if h.has(p) {
			return h
		}
	}
	return v.host
}

// objectNode returns the node of a file that is read when it is first opened.
func objectNode(name string, o Object) *node {
	n := &node{ino: inodeOf(name), perm: 0o555}
	n.open = func() file {
		if n.data == nil {
			content := o.Data
			if o.File != "" {
				content, _ = os.ReadFile(o.File) // a file that no longer exists is empty
			}
			n.data = fixed(content)
		}
		n.data.links++
		return &memFile{n.data, stat{mode: modeRegular | n.perm, ino: n.ino, nlink: 1}}
	}
	return n
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

// inMemory returns the node at an absolute path. covered says that the path is in a part
// that exists only in memory, so that the host must not be asked.
func (v *vfs) inMemory(p string) (n *node, covered bool) {
	n = v.fixed[p]
	if n != nil {
		return n, true
	}
	n = v.procTask(p)
	if n != nil {
		return n, true
	}
	if v.cwdNode != nil && strings.HasPrefix(p, v.cwd) {
		rest := p[len(v.cwd):]
		if rest == "" {
			return v.cwdNode, true
		}
		if rest[0] == '/' {
			return v.cwdNode.find(rest[1:])
		}
	}
	return v.tree.find(strings.Trim(p, "/"))
}

// find looks up a name below a directory.
func (n *node) find(name string) (at *node, covered bool) {
	for {
		part, rest, more := strings.Cut(name, "/")
		if part == "" {
			return n, false
		}
		if n.children == nil {
			return nil, true
		}
		next := n.children[part]
		if next == nil {
			return nil, !n.merged || n.gone[part]
		}
		n = next
		if !more {
			return n, true
		}
		name = rest
	}
}

// enter makes a directory the working directory.
func (v *vfs) enter(p string) {
	v.cwdNode = nil // so that it is looked up by its whole name
	n, _ := v.inMemory(p)
	if n == v.tree {
		n = nil // it also has the host's names
	}
	v.cwd, v.cwdNode = p, n
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
	base := c.vfs.cwd
	if !strings.HasPrefix(name, "/") && dirfd != atFDCWD {
		f, e := c.files.get(dirfd)
		if e != 0 {
			return "", e
		}
		if _, ok := f.file.(directory); !ok {
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
		st, e := c.vfs.stat(p, true)
		if e == 0 && st.mode&modeType != modeDir {
			return "", -ENOTDIR
		}
	}
	return p, 0
}

// stat returns the status of a path.
func (v *vfs) stat(p string, follow bool) (stat, int64) {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "" && follow:
		return v.stat(n.link, false)
	case n != nil && (n != v.tree || v.host == nil):
		return n.stat(), 0
	case covered || v.hostOf(p) == nil:
		return stat{}, -ENOENT
	}
	return v.hostOf(p).stat(p, follow)
}

// parentOf returns the directory in /tmp that holds, or would hold, a path.
func (v *vfs) parentOf(p string) (dir *node, name string, e int64) {
	at := strings.LastIndexByte(p, '/')
	up := p[:max(at, 1)]
	dir, covered := v.inMemory(up)
	if dir == nil && !covered && v.scratch {
		st, e := v.stat(up, true)
		if e == 0 && st.mode&modeType != modeDir {
			e = -ENOTDIR
		}
		if e == 0 {
			dir, e = v.up(up)
		}
		if e != 0 {
			return nil, "", e
		}
	}
	switch {
	case dir == nil:
		return nil, "", -ENOENT
	case !dir.isDir():
		return nil, "", -ENOTDIR
	case !dir.writable:
		return nil, "", -EACCES
	}
	return dir, p[at+1:], 0
}

// open opens a path.
func (v *vfs) open(p string, flags, perm uint32) (file, int64) {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "":
		if flags&openNoFollow != 0 {
			return nil, -ELOOP
		}
		return v.open(n.link, flags, perm)
	case n == nil && !covered && v.scratch:
		return v.openScratch(p, flags, perm)
	case n == nil && !covered && v.hostOf(p) != nil:
		return v.openHost(p, flags)
	case n == nil && flags&openCreate == 0:
		return nil, -ENOENT
	case n == nil:
		return v.create(p, perm)
	}
	return v.openNode(n, p, flags)
}

// openHost opens a path of the host.
func (v *vfs) openHost(p string, flags uint32) (file, int64) {
	h := v.hostOf(p)
	if h == nil {
		return nil, -ENOENT
	}
	f, e := h.open(p, flags)
	if d, ok := f.(*hostDir); ok {
		d.more = func() []dirEntry { return v.hostNames(p, &node{}) }
	}
	return f, e
}

// create creates a file in /tmp and opens it.
func (v *vfs) create(p string, perm uint32) (file, int64) {
	dir, name, e := v.parentOf(p)
	if e != 0 {
		return nil, e
	}
	if !v.room() {
		return nil, -ENOSPC
	}
	n := &node{ino: v.inode(), perm: perm & 0o777, writable: true, data: &memData{quota: &v.quota, space: v.space, links: 1}}
	dir.children[name] = n
	return v.openData(n), 0
}

func (v *vfs) openData(n *node) file {
	n.data.links++
	return &memFile{n.data, n.stat()}
}

// openNode opens a node that exists in memory.
func (v *vfs) openNode(n *node, p string, flags uint32) (file, int64) {
	switch {
	case flags&(openCreate|openExcl) == openCreate|openExcl:
		return nil, -EEXIST
	case n.isDir():
		if flags&(openAccess|openCreate) != 0 {
			return nil, -EISDIR
		}
		d := &memDir{node: n}
		if n.merged {
			d.more = func() []dirEntry { return v.hostNames(p, n) }
		}
		return d, 0
	case flags&openDirectory != 0:
		if n.open != nil {
			if d, ok := n.open().(directory); ok {
				return d, 0
			}
		}
		return nil, -ENOTDIR
	case n.open != nil:
		f := n.open()
		if _, ok := f.(socketFile); ok {
			return nil, -ENXIO
		}
		if _, ok := f.(regular); ok && flags&openAccess != 0 {
			return nil, -EACCES
		}
		return f, 0
	case flags&openAccess != 0 && !n.writable:
		return nil, -EACCES
	}
	if flags&openTrunc != 0 && n.writable {
		n.data.resize(0)
	}
	return v.openData(n), 0
}
