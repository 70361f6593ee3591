// Package view shows a trace as a page for a browser: its races, the source with
// execution counts, slices on demand, tables. [Page.Handler] serves it to one user of
// this machine; [Page.WriteFile] writes it as a single file that loads nothing from
// elsewhere.
//
// The page is plain JavaScript (assets) that shows answers in JSON. Each answer has a
// key, such as "races" or "source/3", and [Page.Answer] computes it on demand. The
// handler serves answers by key; the file contains the answers that fit, under the same
// keys.
//
// A trace is not trusted: names of files, functions and variables reach the browser only
// as JSON and are shown as text, and a content security policy allows only the page's own
// script. Source text is read only for names that look like source files (see
// [Readable]).
//
// A Page is safe for concurrent use. It answers one question at a time.
package view
