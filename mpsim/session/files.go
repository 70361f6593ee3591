package session

import (
	"os"
	"path/filepath"
	"strings"

	"hindsight/cdr"
	"hindsight/mpsim/image"
	"hindsight/mpsim/linux/vfs"
	"hindsight/mpsim/toolchain"
)

// Files are the files that a dynamically linked program sees in addition to its root
// directory.
type Files struct {
	Under   []string // directories whose files show where the root directory has none
	Objects map[string]vfs.Object
}

// FilesFor finds what a program needs: its dynamic linker and libraries, which come from
// the cross compiler unless root contains them, and the shared objects in the program's own
// directory.
func FilesFor(img *image.Space, program, root string) (Files, error) {
	if img.Main.Interp == "" {
		return Files{}, nil
	}
	files := Files{Objects: beside(program)}
	if root != "" && toolchain.HasFile(root, img.Main.Interp) {
		return files, nil
	}
	dir, err := toolchain.Sysroot(img.Main.Interp)
	if err != nil {
		return Files{}, &OptionError{Options: []string{"root"}, Err: err}
	}
	files.Under = []string{dir}
	return files, nil
}

// filesAgain returns the files for the rerun of a trace. The shared objects come from the
// trace. Other files come from the cross compiler, if it is installed.
func filesAgain(t *cdr.Trace, img *image.Space) (Files, error) {
	if img.Main.Interp == "" {
		return Files{}, nil
	}
	objects, err := t.Objects()
	if err != nil {
		return Files{}, err
	}
	files := Files{Objects: map[string]vfs.Object{}}
	for _, o := range objects {
		files.Objects[o.Path] = vfs.Object{Data: o.Data}
	}
	if dir, err := toolchain.Sysroot(img.Main.Interp); err == nil {
		files.Under = []string{dir}
	}
	return files, nil
}

// beside returns the shared objects in the directory of a program. The program sees them in
// that directory.
func beside(program string) map[string]vfs.Object {
	dir := filepath.Dir(program)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	found := map[string]vfs.Object{}
	for _, e := range entries {
		file := filepath.Join(dir, e.Name())
		if !strings.HasSuffix(e.Name(), ".so") && !strings.Contains(e.Name(), ".so.") {
			continue
		}
		if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
			found["/"+e.Name()] = vfs.Object{File: file}
		}
	}
	return found
}

// debugDirs returns the directories to search for separate debug files: those of
// HINDSIGHT_DEBUG, the program's own, those of the system that the program sees, and the
// host's.
func debugDirs(program, interp, root string) []string {
	dirs := append(filepath.SplitList(os.Getenv("HINDSIGHT_DEBUG")), filepath.Dir(program))
	systems := []string{root}
	if interp != "" {
		if dir, err := toolchain.Sysroot(interp); err == nil {
			systems = append(systems, dir)
		}
	}
	for _, dir := range append(systems, "/") {
		if dir != "" {
			dirs = append(dirs, filepath.Join(dir, "usr/lib/debug"))
		}
	}
	return dirs
}
