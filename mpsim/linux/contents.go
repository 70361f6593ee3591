package linux

import "os"

// Contents caches the content of host files that were loaded as images, for the kernels of
// several consecutive runs. Its zero value is empty.
type Contents struct {
	known map[string]*content // by path of the guest
}

// content is one version of a file.
type content struct {
	info   os.FileInfo
	data   []byte
	digest fileDigest
}

// find returns the content of a host file, or nil if it is not known.
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

// add stores the content of a file, if it is a host file.
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
