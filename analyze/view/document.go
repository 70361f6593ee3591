package view

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"io"
)

//go:embed assets
var assets embed.FS

// scripts are the parts of the page's script, in order.
var scripts = []string{"data.js", "dom.js", "races.js", "source.js", "timeline.js", "slice.js", "tables.js", "main.js"}

// document is the page without its answers: a fixed style and script, whose
// hashes are all that its policy allows.
type document struct {
	style, script []byte
	policy        string // without the sources for connections
}

func newDocument() (*document, error) {
	d := &document{}
	var err error
	if d.style, err = assets.ReadFile("assets/page.css"); err != nil {
		return nil, err
	}
	var all bytes.Buffer
	all.WriteString("'use strict';\n")
	for _, name := range scripts {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, err
		}
		all.Write(text)
	}
	d.script = all.Bytes()
	d.policy = fmt.Sprintf("default-src 'none'; script-src '%s'; style-src '%s'; base-uri 'none'; form-action 'none'", hash(d.script), hash(d.style))
	return d, nil
}

// hash returns the hash of a text in the form of a content security policy.
func hash(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

// adder adds an answer to a page and returns its size in bytes.
type adder func(key string, answer any) (bytes int, err error)

// write writes the page with the answers that contents adds.
func (d *document) write(w io.Writer, title, policy string, contents func(add adder) error) error {
	_, err := fmt.Fprintf(w, `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta name="referrer" content="no-referrer">
<meta http-equiv="Content-Security-Policy" content="%s">
<title>%s</title>
<style>%s</style>
</head>
<body>
<noscript>This page needs JavaScript. hindsight races and hindsight slice say the same as text.</noscript>
`, html.EscapeString(policy), html.EscapeString(title), d.style)
	if err != nil {
		return err
	}
	err = contents(func(key string, answer any) (int, error) {
		text, err := json.Marshal(answer) // Marshal escapes <, > and &
		if err == nil {
			_, err = fmt.Fprintf(w, "<script type=\"application/json\" data-key=\"%s\">%s</script>\n", html.EscapeString(key), text)
		}
		return len(text), err
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, "<script>%s</script>\n</body>\n</html>\n", d.script)
	return err
}
