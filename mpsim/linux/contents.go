package linux

import "os"

// Contents has what is in files of the host that were loaded as images, for the kernels
// of several runs, one after the other. Its zero value is empty.
type Contents struct {
	known map[string]*content // by path of the guest
}

// content is that of a version of a file.
type content struct {
	info   os.FileInfo
	data   []byte
	digest fileDigest
}

// find returns what is in a file of the host, or nil.
func (c *Contents) find(f regular) *content {
	host, ok := f.(*hostFile)
	if c == nil || !ok || c.known[host.path] == nil {
		return nil
	}
	info, err := host.f.Stat()
	known := c.known[host.path]
	if err != nil || !os.SameFile(info, known.info) || info.Size() != known.info.Size() || !info.ModTime().Equal(known.info.ModTime()) {
		return nil
	}
	return known
}

// add notes what is in a file, if it is one of the host.
func (c *Contents) add(f regular, data []byte, digest fileDigest) {
	host, ok := f.(*hostFile)
	if c == nil || !ok {
		return
	}
	info, err := host.f.Stat()
	if err != nil || info.Size() != int64(len(data)) {
		return
	}
	if c.known == nil {
		c.known = map[string]*content{}
	}
	c.known[host.path] = &content{info, data, digest}
}
