package vfs

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"hindsight/mpsim/mem"
)

// Config says what a file system contains. Space is required.
type Config struct {
	// Root is a directory of the host that the guest sees as "/"; "" means none.
	Root string
	// Over is a directory whose files hide those of Root; "" means none.
	Over string
	// Under are directories whose files are visible where Root has none.
	Under []string
	// Writable lets the guest write anywhere; see scratch.go.
	Writable bool
	// Objects are files that the guest finds at their paths, whatever Root contains.
	Objects map[string]Object
	// Changing returns nodes that change while the guest runs; nil where there is none.
	Changing func(p string) *Node

	MaxBytes int64      // size of all files that the guest writes
	Space    *mem.Space // where these bytes count as memory, too
}

// Object is a file for the guest to read.
type Object struct {
	Data []byte // its content
	File string // or the host file with its content
}

// FS is the file system that the guest sees: a tree in memory and, where that has nothing,
// the directory of the host, if one is configured.
//
// Names are made absolute, and ".." is resolved textually, before anything is looked up.
// Symbolic links inside the host directory are followed by os.Root, which does not let them
// lead out of it.
type FS struct {
	tree  *Node
	host  *hostRoot // nil without Config.Root and Config.Over
	under []*hostRoot
	// scratch says that everything can be written, in memory; see scratch.go.
	scratch bool
	fixed   map[string]*Node // Config.Objects
	// changing is Config.Changing.
	changing func(p string) *Node
	cwd      string
	next     uint64 // next inode number
	nodes    int
	quota    int64      // bytes left for /tmp
	space    *mem.Space // where all of it counts as memory

	// cwdNode is the working directory, if it is in memory. Names that begin with its path
	// are looked up from there. If nil, lookups start at the root.
	cwdNode *Node
}

// maxNodes bounds the number of files in /tmp.
const maxNodes = 1 << 16

// Inode returns a new inode number.
func (v *FS) Inode() uint64 {
	v.next++
	return v.next
}

// firstInode is one less than the number of the first file of the tree. Lower numbers are
// those of the standard streams.
const firstInode = 16

// New returns a file system whose tree in memory is empty.
func New(cfg *Config) (*FS, error) {
	v := &FS{changing: cfg.Changing, cwd: "/", next: firstInode, quota: cfg.MaxBytes, space: cfg.Space, fixed: map[string]*Node{}}
	if err := v.openRoots(cfg); err != nil {
		return nil, errors.Join(err, v.Close())
	}
	v.tree = v.dir()
	v.tree.merged, v.tree.writable = true, v.scratch
	for name, o := range cfg.Objects {
		v.fixed[name] = objectNode(name, o)
	}
	return v, nil
}

// openRoots opens the directories of the host.
func (v *FS) openRoots(cfg *Config) error {
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

func (v *FS) dir() *Node {
	return &Node{ino: v.Inode(), perm: 0o755, children: make(map[string]*Node)}
}

// Close closes the directories of the host.
func (v *FS) Close() error {
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
func (v *FS) hostOf(p string) *hostRoot {
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

// objectNode returns the Node of a file that is read when it is first opened.
func objectNode(name string, o Object) *Node {
	n := &Node{ino: InodeOf(name), perm: 0o555}
	n.open = func() File {
		if n.data == nil {
			content := o.Data
			if o.File != "" {
				content, _ = os.ReadFile(o.File) // a file that no longer exists is empty
			}
			n.data = fixed(content)
		}
		n.data.links++
		return &MemFile{n.data, Stat{Mode: ModeRegular | n.perm, Ino: n.ino, Nlink: 1}}
	}
	return n
}

// inMemory returns the Node at an absolute path. covered says that the path is in a part
// that exists only in memory, so that the host must not be asked.
func (v *FS) inMemory(p string) (n *Node, covered bool) {
	n = v.fixed[p]
	if n != nil {
		return n, true
	}
	n = v.changing(p)
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
func (n *Node) find(name string) (at *Node, covered bool) {
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

// Cwd returns the path of the working directory.
func (v *FS) Cwd() string { return v.cwd }

// Free returns the number of bytes that the guest may still write to files.
func (v *FS) Free() int64 { return v.quota }

// Readlink returns the target of a symbolic link.
func (v *FS) Readlink(p string) (string, int64) {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "":
		return n.link, 0
	case n != nil:
		return "", -EINVAL
	case covered || v.hostOf(p) == nil:
		return "", -ENOENT
	}
	return v.hostOf(p).readlink(p)
}

// Enter makes a directory the working directory.
func (v *FS) Enter(p string) {
	v.cwdNode = nil // so that it is looked up by its whole name
	n, _ := v.inMemory(p)
	if n == v.tree {
		n = nil // it also has the host's names
	}
	v.cwd, v.cwdNode = p, n
}

// Stat returns the status of a path.
func (v *FS) Stat(p string, follow bool) (Stat, int64) {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "" && follow:
		return v.Stat(n.link, false)
	case n != nil && (n != v.tree || v.host == nil):
		return n.Stat(), 0
	case covered || v.hostOf(p) == nil:
		return Stat{}, -ENOENT
	}
	return v.hostOf(p).Stat(p, follow)
}

// parentOf returns the directory in /tmp that holds, or would hold, a path.
func (v *FS) parentOf(p string) (dir *Node, name string, e int64) {
	at := strings.LastIndexByte(p, '/')
	up := p[:max(at, 1)]
	dir, covered := v.inMemory(up)
	if dir == nil && !covered && v.scratch {
		st, e := v.Stat(up, true)
		if e == 0 && st.Mode&ModeType != ModeDir {
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

// Open opens a path.
func (v *FS) Open(p string, flags, perm uint32) (File, int64) {
	n, covered := v.inMemory(p)
	switch {
	case n != nil && n.link != "":
		if flags&OpenNoFollow != 0 {
			return nil, -ELOOP
		}
		return v.Open(n.link, flags, perm)
	case n == nil && !covered && v.scratch:
		return v.openScratch(p, flags, perm)
	case n == nil && !covered && v.hostOf(p) != nil:
		return v.openHost(p, flags)
	case n == nil && flags&OpenCreate == 0:
		return nil, -ENOENT
	case n == nil:
		return v.create(p, perm)
	}
	return v.openNode(n, p, flags)
}

// openHost opens a path of the host.
func (v *FS) openHost(p string, flags uint32) (File, int64) {
	h := v.hostOf(p)
	if h == nil {
		return nil, -ENOENT
	}
	f, e := h.open(p, flags)
	if d, ok := f.(*hostDir); ok {
		d.more = func() []DirEntry { return v.hostNames(p, &Node{}) }
	}
	return f, e
}

// create creates a file in /tmp and opens it.
func (v *FS) create(p string, perm uint32) (File, int64) {
	dir, name, e := v.parentOf(p)
	if e != 0 {
		return nil, e
	}
	if !v.room() {
		return nil, -ENOSPC
	}
	n := &Node{ino: v.Inode(), perm: perm & 0o777, writable: true, data: &Data{quota: &v.quota, space: v.space, links: 1}}
	dir.children[name] = n
	return v.openData(n), 0
}

func (v *FS) openData(n *Node) File {
	n.data.links++
	return &MemFile{n.data, n.Stat()}
}

// openNode opens a Node that exists in memory.
func (v *FS) openNode(n *Node, p string, flags uint32) (File, int64) {
	switch {
	case flags&(OpenCreate|OpenExcl) == OpenCreate|OpenExcl:
		return nil, -EEXIST
	case n.isDir():
		if flags&(OpenAccess|OpenCreate) != 0 {
			return nil, -EISDIR
		}
		d := &memDir{Node: n}
		if n.merged {
			d.more = func() []DirEntry { return v.hostNames(p, n) }
		}
		return d, 0
	case flags&OpenDirectory != 0:
		if n.open != nil {
			if d, ok := n.open().(Directory); ok {
				return d, 0
			}
		}
		return nil, -ENOTDIR
	case n.open != nil:
		f := n.open()
		if _, ok := f.(socketFile); ok {
			return nil, -ENXIO
		}
		if _, ok := f.(Regular); ok && flags&OpenAccess != 0 {
			return nil, -EACCES
		}
		return f, 0
	case flags&OpenAccess != 0 && !n.writable:
		return nil, -EACCES
	}
	if flags&OpenTrunc != 0 && n.writable {
		n.data.Resize(0)
	}
	return v.openData(n), 0
}
