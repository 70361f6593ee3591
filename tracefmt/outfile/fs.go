package outfile

import (
	"context"
	"io"
	"io/fs"
	"os"
)

// FS has the file system operations that this package uses. Tests use one that fails.
type FS interface {
	OpenFile(name string, flag int, perm fs.FileMode) (Handle, error)
	Rename(from, to string) error
	Remove(name string) error
}

// Handle is an open file.
type Handle interface {
	io.Writer
	io.Closer
	Name() string
	Stat() (fs.FileInfo, error)
	Truncate(size int64) error
	Chmod(mode fs.FileMode) error
	Sync() error
	Fd() uintptr
}

// disk is the host's file system.
type disk struct{}

func (disk) OpenFile(name string, flag int, perm fs.FileMode) (Handle, error) {
	f, err := os.OpenFile(name, flag, perm)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (disk) Rename(from, to string) error { return os.Rename(from, to) }
func (disk) Remove(name string) error     { return os.Remove(name) }

type fsKey struct{}

// On returns a context in which files are written to fsys.
func On(ctx context.Context, fsys FS) context.Context {
	return context.WithValue(ctx, fsKey{}, fsys)
}

func fsOf(ctx context.Context) FS {
	if fsys, ok := ctx.Value(fsKey{}).(FS); ok {
		return fsys
	}
	return disk{}
}
