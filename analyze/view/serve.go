package view

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// patience is how long the server waits for a browser that sends nothing.
const patience = 10 * time.Second

// Serve serves the page to this machine until ctx is done, then closes it. First it calls
// ready with the page's address, which cannot be guessed.
func (p *Page) Serve(ctx context.Context, ready func(address string)) error {
	token := Token()
	handler, err := p.Handler(token)
	if err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: patience, BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	ready(fmt.Sprintf("http://%s/%s/", listener.Addr(), token))
	go func() { _, _ = p.Answer(ctx, "races") }() // start computing the first answer before the browser requests it
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	p.Close()
	return nil
}
