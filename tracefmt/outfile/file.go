package outfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Partial is the suffix of the name of an incomplete file.
const Partial = ".partial"

var (
	// ErrInput says that an output is also an input of the same command.
	ErrInput = errors.New("the output would overwrite an input; write it to another file")
	// ErrTwice says that two outputs of the same command are one file.
	ErrTwice = errors.New("two outputs of this command would go into this file; write one of them to another file")
	// ErrSource says that an output is a source file of the traced program.
	ErrSource = errors.New("the output would overwrite a source file of the program; write it to another file")
	// ErrProgram says that an output is an executable, an object file or a shared object.
	ErrProgram = errors.New("the output would overwrite a program or an object file; write it to another file, or remove this one first")
	// ErrBusy says that another process is writing the file.
	ErrBusy = errors.New("another hindsight is writing this file")
)

// Options of [Create]. The zero value is ready for use.
type Options struct {
	// Inputs are the names of files that the command reads or has read. "" and "-" are
	// ignored.
	Inputs []string
	// Streams are the command's standard streams. If they are open files, these must not
	// be the output either.
	Streams []any
	// Refuse, if not nil, is called with a regular file that already exists. An error
	// says why it must not be replaced. It is for inputs that are expensive to list.
	Refuse func(old fs.FileInfo) error
}

type File struct {
	fsys      FS
	h         Handle
	name      string // what the user named, after following links
	asNamed   string
	direct    bool // not a regular file: it is neither renamed nor locked
	published bool
	err       error // the first error of a write
}

// Create begins writing the file called name.
func Create(ctx context.Context, name string, opts Options) (*File, error) {
	f := &File{fsys: fsOf(ctx), asNamed: name}
	target, err := follow(name)
	if err != nil {
		return nil, err
	}
	f.name = target
	old, err := os.Stat(target)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err == nil && old.IsDir():
		return nil, fmt.Errorf("%s is a directory", name)
	case err == nil && !old.Mode().IsRegular():
		f.direct = true
		f.h, err = f.fsys.OpenFile(target, os.O_WRONLY, 0)
		return f, err
	case err == nil:
		if err := opts.refuse(name, old); err != nil {
			return nil, err
		}
	}
	if err := f.begin(opts); err != nil {
		return nil, err
	}
	if old != nil {
		if err := f.h.Chmod(old.Mode().Perm()); err != nil {
			return nil, errors.Join(err, f.Discard())
		}
	}
	return f, nil
}

// Check returns the error that [Create] would return because of opts. Commands call it
// before they do their work.
func Check(name string, opts Options) error {
	if file, err := os.Stat(name); err == nil && file.Mode().IsRegular() {
		return opts.refuse(name, file)
	}
	return nil
}

// Distinct returns an error if two outputs of a command are the same file, by whatever
// name or link. "" is not an output.
func Distinct(names ...string) error {
	for i, a := range names {
		for _, b := range names[:i] {
			if a == "" || b == "" {
				continue
			}
			if same, err := sameOutput(a, b); err != nil {
				return err
			} else if same {
				return fmt.Errorf("%s: %w", a, ErrTwice)
			}
		}
	}
	return nil
}

// sameOutput reports whether two names lead to the same regular file, which need not
// exist yet.
func sameOutput(a, b string) (bool, error) {
	var errA, errB error
	if a, errA = follow(a); errA == nil {
		b, errB = follow(b)
	}
	if err := errors.Join(errA, errB); err != nil {
		return false, err
	}
	fileA, errA := os.Stat(a)
	fileB, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return fileA.Mode().IsRegular() && os.SameFile(fileA, fileB), nil
	}
	if errA == nil || errB == nil || filepath.Base(a) != filepath.Base(b) {
		return false, nil
	}
	dirA, errA := os.Stat(filepath.Dir(a))
	dirB, errB := os.Stat(filepath.Dir(b))
	return errA == nil && errB == nil && os.SameFile(dirA, dirB), nil
}

// follow follows symbolic links. The last one may lead to a file that does not exist yet.
func follow(name string) (string, error) {
	for range 40 {
		to, err := os.Readlink(name)
		if err != nil {
			return name, nil // not a link, or nothing there: opening it reports that
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(name), to)
		}
		name = to
	}
	return "", fmt.Errorf("%s: too many symbolic links", name)
}

// refuse returns an error if the file is used in another way. No command writes programs,
// so a program is never an older output.
func (o *Options) refuse(name string, file fs.FileInfo) error {
	for _, in := range o.Inputs {
		if in == "" || in == "-" {
			continue
		}
		if info, err := os.Stat(in); err == nil && os.SameFile(info, file) {
			return fmt.Errorf("%s: %w", name, ErrInput)
		}
	}
	for _, s := range o.Streams {
		open, ok := s.(interface{ Stat() (fs.FileInfo, error) })
		if !ok {
			continue
		}
		if info, err := open.Stat(); err == nil && os.SameFile(info, file) {
			return fmt.Errorf("%s is a standard stream of this command as well; write the output to another file", name)
		}
	}
	if isProgram(name) {
		return fmt.Errorf("%s: %w", name, ErrProgram)
	}
	if o.Refuse == nil {
		return nil
	}
	if err := o.Refuse(file); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// isProgram reports whether the file is an ELF file, by its first bytes.
func isProgram(name string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	var magic [4]byte
	_, err = io.ReadFull(f, magic[:])
	return err == nil && string(magic[:]) == "\x7fELF"
}

// begin opens and locks the file under its temporary name.
func (f *File) begin(opts Options) error {
	partial := f.name + Partial
	if info, err := os.Stat(partial); err == nil {
		if err := opts.refuse(partial, info); err != nil {
			return err
		}
	}
	for {
		h, err := f.fsys.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return err
		}
		if !lock(h.Fd(), false) {
			h.Close()
			return fmt.Errorf("%s: %w", f.asNamed, ErrBusy)
		}
		// Between opening and locking, the process that had the file may have renamed it.
		// The lock is then on the renamed file.
		same, err := leadsTo(partial, h)
		if err != nil {
			h.Close()
			return err
		}
		if !same {
			h.Close()
			continue
		}
		f.h = h
		break
	}
	if f.busy() {
		return errors.Join(fmt.Errorf("%s: %w", f.asNamed, ErrBusy), f.Discard())
	}
	if err := f.h.Truncate(0); err != nil {
		return errors.Join(err, f.Discard())
	}
	return nil
}

// leadsTo reports whether name still leads to the open file.
func leadsTo(name string, h Handle) (bool, error) {
	open, err := h.Stat()
	if err != nil {
		return false, err
	}
	info, err := os.Stat(name)
	return err == nil && os.SameFile(info, open), nil
}

// busy reports whether another process is writing the file under its final name.
func (f *File) busy() bool {
	old, err := os.Open(f.name)
	if err != nil {
		return false
	}
	defer old.Close()
	return !lock(old.Fd(), true)
}

// Name returns the name that the user gave.
func (f *File) Name() string { return f.asNamed }

// Stat describes the open file.
func (f *File) Stat() (fs.FileInfo, error) { return f.h.Stat() }

// Write implements [io.Writer]. After an error the file does not get its name.
func (f *File) Write(b []byte) (int, error) {
	if f.err != nil {
		return 0, f.err
	}
	n, err := f.h.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	f.err = err
	return n, err
}

// Publish syncs what was written so far to the disk and gives the file its name,
// replacing an existing file. Later writes are appended to it there. Only the first call
// has an effect.
func (f *File) Publish() error {
	if f.err != nil || f.published || f.direct {
		return f.err
	}
	// If a file is renamed before its content is on the disk, it may be empty after a
	// power failure, and the old one is gone.
	if f.err = f.h.Sync(); f.err != nil {
		return f.err
	}
	if f.err = f.fsys.Rename(f.name+Partial, f.name); f.err != nil {
		return f.err
	}
	f.published = true
	return nil
}

// Published reports whether the file has its name.
func (f *File) Published() bool { return f.published || f.direct }

// Path returns the current path of the file.
func (f *File) Path() string {
	if f.Published() {
		return f.name
	}
	return f.name + Partial
}

// Close completes the file: its content is on the disk, under its name. If that fails,
// Close calls [File.Discard] and returns the error.
func (f *File) Close() error {
	err := f.err
	switch {
	case err != nil || f.direct:
	case f.published:
		err = f.h.Sync()
	default:
		err = f.Publish()
	}
	if err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.h.Close()
}

// Discard closes the incomplete file. What was published stays. Otherwise the file is
// removed, and an older file with its name stays.
func (f *File) Discard() error {
	if f.published || f.direct {
		return f.h.Close()
	}
	// Remove the file before unlocking it, so that the next process that opens the name
	// creates a new file.
	err := f.fsys.Remove(f.name + Partial)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, f.h.Close())
}

// Write creates the file called name and calls write to fill it.
func Write(ctx context.Context, name string, opts Options, write func(io.Writer) error) error {
	f, err := Create(ctx, name, opts)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return errors.Join(err, f.Discard())
	}
	return f.Close()
}
