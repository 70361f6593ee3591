package vfs

import "strings"

// The methods with which a kernel fills the tree.

// Add puts a node at an absolute path and creates the directories above it. If the path
// exists, it does nothing.
func (v *FS) Add(name string, n *Node) {
	at := v.tree
	parts := strings.Split(strings.Trim(name, "/"), "/")
	last := len(parts) - 1
	for _, p := range parts[:last] {
		if at.children[p] == nil {
			at.children[p] = v.dir()
		}
		at = at.children[p]
	}
	n.ino = v.Inode()
	if at.children[parts[last]] == nil {
		at.children[parts[last]] = n
	}
}

// AddTemporary adds a directory in which everybody may write, such as /tmp.
func (v *FS) AddTemporary(name string) {
	d := v.dir()
	d.writable, d.perm = true, 0o777|0o1000
	v.Add(name, d)
}

// Alias gives a directory in memory a second name beside the first one.
func (v *FS) Alias(dir, first, second string) {
	n, _ := v.tree.find(strings.Trim(dir, "/"))
	n.children[second] = n.children[first]
}

// Special returns the node of a file that open creates each time it is opened.
func Special(perm uint32, open func() File) *Node { return &Node{perm: perm, open: open} }

// Generated returns the node of a read-only file whose content is generated each time it is
// opened.
func Generated(ino uint64, text func() string) *Node {
	return Special(0, func() File {
		return &MemFile{fixed([]byte(text())), Stat{Mode: ModeRegular | 0o444, Ino: ino, Nlink: 1}}
	})
}

// Empty returns the node of an empty read-only directory.
func Empty(ino uint64) *Node {
	return &Node{ino: ino, perm: 0o555, children: map[string]*Node{}}
}

// Link returns the node of a symbolic link.
func Link(to string) *Node { return &Node{link: to} }

// ReadOnly returns the node of a file with this content.
func ReadOnly(perm uint32, content []byte) *Node { return &Node{perm: perm, data: fixed(content)} }

// NewData returns new, empty content with one reference to it. It counts as memory of the
// guest and against the limit of the FS.
func (v *FS) NewData() *Data { return &Data{quota: &v.quota, space: v.space, links: 1} }

// OpenAnonymous opens a new file without a name.
func (v *FS) OpenAnonymous(perm uint32) File {
	return v.openData(&Node{ino: v.Inode(), perm: perm, writable: true, data: &Data{quota: &v.quota, space: v.space}})
}
