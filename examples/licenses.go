package examples

import (
	"embed"
	"fmt"
	"io"
)

//go:embed licenses
var licenses embed.FS

// licenseTexts are the files of licenses after NOTICE.
var licenseTexts = []string{"LGPL-2.1", "GPL-3", "GCC-exception-3.1", "BSD-3-Clause-Go"}

// WriteLicenses writes whose code the executables contain, where its source is,
// and the licences that it is under.
func WriteLicenses(w io.Writer) error {
	for i, name := range append([]string{"NOTICE"}, licenseTexts...) {
		text, err := licenses.ReadFile("licenses/" + name)
		if err != nil {
			return err
		}
		if i > 0 {
			if _, err := fmt.Fprintf(w, "\n---- %s ----\n\n", name); err != nil {
				return err
			}
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return nil
}
