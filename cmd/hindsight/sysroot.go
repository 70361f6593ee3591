package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hindsight/mpsim/image"
)

// sysroot finds the directory under which a dynamically linked program has its
// dynamic linker: that of the cross compiler. It is "" for other programs.
func sysroot(img *image.Space) (string, error) {
	interp := img.Main.Interp
	if interp == "" {
		return "", nil
	}
	var asked []string
	for _, names := range [][]string{ccNames, cxxNames} {
		compiler, err := compilerOf(names)
		if err != nil {
			continue
		}
		asked = append(asked, compiler)
		if root := sysrootOf(compiler, interp); root != "" {
			return root, nil
		}
	}
	if len(asked) == 0 {
		return "", fmt.Errorf("it is dynamically linked: name the directory that has %s with --root, or install the cross compiler that knows", interp)
	}
	return "", fmt.Errorf("it is dynamically linked, and %s knows no %s: name the directory that has it with --root", asked[0], interp)
}

// sysrootOf asks a compiler where its libraries are; "" when the dynamic linker is
// not among them.
func sysrootOf(compiler, interp string) string {
	has := func(root string) bool {
		info, err := os.Stat(filepath.Join(root, interp))
		return err == nil && info.Mode().IsRegular()
	}
	if root := ask(compiler, "-print-sysroot"); filepath.IsAbs(root) && root != "/" && has(root) {
		return root
	}
	linker := ask(compiler, "-print-file-name="+filepath.Base(interp))
	if !filepath.IsAbs(linker) {
		return ""
	}
	root, ok := strings.CutSuffix(filepath.Clean(linker), filepath.Clean(interp))
	if !ok || root == "" || !has(root) {
		return ""
	}
	return root
}

// ask gives what a compiler prints.
func ask(compiler, question string) string {
	out, err := exec.Command(compiler, question).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}
