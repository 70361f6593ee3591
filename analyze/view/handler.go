package view

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
)

// Token returns a name that cannot be guessed.
func Token() string { return rand.Text() }

// Handler serves the page under /TOKEN/ and nothing elsewhere, so that neither another
// user of the machine nor another page in the browser can find it. It only answers
// requests for an address of this machine, whatever a name server says.
func (p *Page) Handler(token string) (http.Handler, error) {
	d, err := newDocument()
	if err != nil {
		return nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, rest, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		if !ok || subtle.ConstantTimeCompare([]byte(given), []byte(token)) != 1 || !local(r.Host) {
			http.NotFound(w, r)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.Error(w, "only GET", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		policy := d.policy + "; connect-src 'self'"
		h.Set("Content-Security-Policy", policy+"; frame-ancestors 'none'")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if key, ok := strings.CutPrefix(rest, "data/"); ok {
			p.serve(w, r, key)
			return
		}
		if rest != "" {
			http.NotFound(w, r)
			return
		}
		h.Set("Content-Type", "text/html; charset=utf-8")
		_ = d.write(w, p.data.Title, policy, func(add adder) error { _, err := add("head", p.head()); return err }) // an error means that the browser disconnected
	}), nil
}

// local reports whether a request was made for an address of this machine.
func local(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || host == "127.0.0.1" || host == "::1"
}

// problem is sent in place of an answer that failed.
type problem struct {
	Error string `json:"error"`
}

func (p *Page) serve(w http.ResponseWriter, r *http.Request, key string) {
	answer, err := p.Answer(r.Context(), key)
	status := http.StatusOK
	if err != nil {
		if errors.Is(err, context.Canceled) {
			return
		}
		status = http.StatusInternalServerError
		if errors.Is(err, ErrNoAnswer) {
			status = http.StatusNotFound
		}
		answer = problem{err.Error()}
	}
	text, err := json.Marshal(answer)
	if err != nil {
		text, status = []byte(`{"error":"the answer cannot be written"}`), http.StatusInternalServerError
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}
