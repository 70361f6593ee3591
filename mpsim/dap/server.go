package dap

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	godap "github.com/google/go-dap"

	"hindsight/mpsim/debug"
	"hindsight/tracefmt/event"
)

// Launch contains the arguments of a client's launch request.
type Launch struct {
	Trace string `json:"trace"` // file
	Stdin string `json:"stdin"` // the run's standard input, if the trace does not contain it
	Root  string `json:"root"`  // directory that the run saw as /
	// Race is the race to go to first, such as R1. Without it and StopOnEntry, the run
	// continues to the first breakpoint.
	Race        string `json:"race"`
	StopOnEntry bool   `json:"stopOnEntry"`
}

// Options of [Serve].
type Options struct {
	// Open opens the run of a trace. The console is used until the returned function is
	// called.
	Open func(ctx context.Context, l Launch) (*debug.Console, func(), error)
}

// server is a connection.
type server struct {
	Options
	out   io.Writer
	seq   int
	debug *debug.Console // nil: nothing was launched
	close func()
	asked Launch

	points points
	shown  []expansion  // what variablesReference, minus one, stands for
	frames []shownFrame // by frame id, minus one
	stop   debug.Stop

	lastPoint int      // id of the last breakpoint that was set
	stoppedAt []*point // the breakpoints of the last stop

	sending sync.Mutex // guards out and seq, because log points are sent while the run moves

	// While the run moves:
	done   chan moved
	cancel context.CancelFunc
	later  []godap.RequestMessage
}

// moved is the end of a move.
type moved struct {
	stop debug.Stop
	err  error
}

// Serve serves a client until it disconnects, the connection ends or ctx is done.
func Serve(ctx context.Context, conn io.ReadWriter, o Options) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &server{Options: o, out: conn, close: func() {}}
	defer func() {
		if s.done != nil {
			s.cancel()
			<-s.done
		}
		s.close()
	}()
	in, failed := make(chan godap.Message), make(chan error, 1)
	go read(ctx, conn, in, failed)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-failed:
			if errors.Is(err, io.EOF) {
				return nil
			}
			return fmt.Errorf("debug adapter: %w", err)
		case m := <-in:
			if r, ok := m.(godap.RequestMessage); ok {
				if over, err := s.request(ctx, r); over || err != nil {
					return err
				}
			}
		case end := <-s.done:
			if over, err := s.arrived(ctx, end); over || err != nil {
				return err
			}
		}
	}
}

// read reads the messages of a connection. A request of an unknown kind is passed on
// without its arguments.
func read(ctx context.Context, conn io.Reader, in chan<- godap.Message, failed chan<- error) {
	r := bufio.NewReader(conn)
	for {
		content, err := godap.ReadBaseMessage(r)
		if err != nil {
			failed <- err
			return
		}
		m, err := godap.DecodeProtocolMessage(content)
		if err != nil {
			plain := new(unknown)
			if json.Unmarshal(content, plain) != nil || plain.Type != "request" {
				failed <- err
				return
			}
			m = plain
		}
		select {
		case in <- m:
		case <-ctx.Done():
			return
		}
	}
}

// unknown is a request of an unknown kind, or with unknown arguments.
type unknown struct{ godap.Request }

// GetRequest implements [godap.RequestMessage].
func (u *unknown) GetRequest() *godap.Request { return &u.Request }

// reply is the answer to a request; told is an event.
type (
	reply struct {
		godap.Response
		Body any `json:"body,omitempty"`
	}
	told struct {
		godap.Event
		Body any `json:"body,omitempty"`
	}
)

// send numbers a message and sends it.
func (s *server) send(m godap.Message, number *int) error {
	s.sending.Lock()
	defer s.sending.Unlock()
	s.seq++
	*number = s.seq
	return godap.WriteProtocolMessage(s.out, m)
}

// tell sends an event.
func (s *server) tell(name string, body any) error {
	t := &told{Event: godap.Event{Event: name}, Body: body}
	t.Type = "event"
	return s.send(t, &t.Seq)
}

// answer answers a request.
func (s *server) answer(to godap.RequestMessage, body any, failed error) error {
	r := to.GetRequest()
	out := &reply{Response: godap.Response{RequestSeq: r.Seq, Success: failed == nil, Command: r.Command}, Body: body}
	out.Type = "response"
	if failed != nil {
		out.Message = failed.Error()
		out.Body = godap.ErrorResponseBody{Error: &godap.ErrorMessage{Id: 1, Format: failed.Error(), ShowUser: true}}
	}
	return s.send(out, &out.Seq)
}

// request handles a request. over says that the client is leaving.
func (s *server) request(ctx context.Context, r godap.RequestMessage) (over bool, err error) {
	if s.done != nil {
		switch r.(type) {
		case *godap.PauseRequest:
			s.cancel()
			return false, s.answer(r, nil, nil)
		case *godap.DisconnectRequest, *godap.TerminateRequest:
		default:
			s.later = append(s.later, r)
			return false, nil
		}
	}
	if move, ok := s.moves(r); ok {
		if s.debug == nil {
			return false, s.answer(r, nil, errNothing)
		}
		var body any
		if _, on := r.(*godap.ContinueRequest); on {
			body = godap.ContinueResponseBody{AllThreadsContinued: true}
		}
		if err := s.answer(r, body, nil); err != nil {
			return false, err
		}
		s.move(ctx, move)
		return false, nil
	}
	switch r := r.(type) {
	case *godap.InitializeRequest:
		return false, s.answer(r, capabilities, nil)
	case *godap.LaunchRequest:
		err := s.launch(ctx, r)
		if err := s.answer(r, nil, err); err != nil || s.debug == nil {
			return false, err
		}
		return false, s.tell("initialized", nil)
	case *godap.ConfigurationDoneRequest:
		if err := s.answer(r, nil, nil); err != nil || s.debug == nil {
			return false, err
		}
		s.begin(ctx)
		return false, nil
	case *godap.TerminateRequest: // the client disconnects after the event
		if err := s.answer(r, nil, nil); err != nil {
			return false, err
		}
		return false, s.tell("terminated", godap.TerminatedEventBody{})
	case *godap.DisconnectRequest:
		return true, s.answer(r, nil, nil)
	}
	if s.debug == nil {
		return false, s.answer(r, nil, errNothing)
	}
	if _, ok := r.(*godap.RestartRequest); ok {
		_, failed := s.debug.Do(ctx, "goto begin")
		if err := s.answer(r, nil, failed); err != nil || failed != nil {
			return false, err
		}
		s.begin(ctx)
		return false, nil
	}
	before := s.debug.Time()
	body, err := s.question(ctx, r)
	if err := s.answer(r, body, err); err != nil {
		return false, err
	}
	if s.debug.Time() != before { // a console command has moved the run
		s.stop = debug.Stop{Reason: debug.Stepped, Thread: s.debug.Thread}
		return false, s.stopped("goto", "")
	}
	return false, nil
}

var errNothing = errors.New("no trace was launched")

var capabilities = godap.Capabilities{
	SupportsConfigurationDoneRequest: true, SupportsFunctionBreakpoints: true, SupportsEvaluateForHovers: true, SupportsStepBack: true,
	SupportsDataBreakpoints: true, SupportsReadMemoryRequest: true, SupportsExceptionInfoRequest: true, SupportsSteppingGranularity: true,
	SupportsInstructionBreakpoints: true, SupportsRestartRequest: true, SupportsTerminateRequest: true,
	SupportsConditionalBreakpoints: true, SupportsHitConditionalBreakpoints: true, SupportsLogPoints: true,
	SupportsModulesRequest: true, SupportsLoadedSourcesRequest: true, SupportsDelayedStackTraceLoading: true,
	ExceptionBreakpointFilters: exceptionChoices(),
}

func exceptionChoices() (all []godap.ExceptionBreakpointsFilter) {
	for _, f := range exceptionFilters {
		all = append(all, godap.ExceptionBreakpointsFilter{Filter: f.filter, Label: f.label})
	}
	return all
}

// launch opens a trace.
func (s *server) launch(ctx context.Context, r *godap.LaunchRequest) error {
	if s.debug != nil {
		return errors.New("a trace was launched already")
	}
	if err := json.Unmarshal(r.Arguments, &s.asked); err != nil {
		return fmt.Errorf("launch: %w", err)
	}
	if s.asked.Trace == "" {
		return errors.New(`launch: "trace" names no file`)
	}
	c, done, err := s.Open(ctx, s.asked)
	if err == nil {
		s.debug, s.close = c, done
	}
	return err
}

// begin goes to where the client wants to begin.
func (s *server) begin(ctx context.Context) {
	s.move(ctx, func(ctx context.Context) (debug.Stop, error) {
		switch {
		case s.asked.Race != "":
			if _, err := s.debug.Do(ctx, "race "+s.asked.Race); err != nil {
				return debug.Stop{}, err
			}
			return debug.Stop{Reason: debug.Stepped, Thread: s.debug.Thread}, nil
		case s.asked.StopOnEntry:
			return debug.Stop{Reason: debug.AtBegin, Thread: s.debug.Thread}, nil
		}
		return s.debug.Continue(ctx)
	})
}

// move lets the run go on or back.
func (s *server) move(ctx context.Context, how func(context.Context) (debug.Stop, error)) {
	s.shown, s.frames, s.stoppedAt = nil, nil, nil
	ctx, s.cancel = context.WithCancel(ctx)
	done := make(chan moved, 1)
	s.done = done
	go func() {
		stop, err := how(ctx)
		done <- moved{stop, err}
	}()
}

// arrived tells where the run stands, and answers what was asked meanwhile.
func (s *server) arrived(ctx context.Context, end moved) (over bool, err error) {
	s.cancel()
	s.done = nil
	if end.err != nil {
		if err := s.tell("output", godap.OutputEventBody{Category: "stderr", Output: end.err.Error() + "\n"}); err != nil {
			return false, err
		}
		end.stop = debug.Stop{Reason: debug.Interrupted, Thread: s.debug.Thread}
	}
	s.stop = end.stop
	reason, text := s.reason()
	if err := s.stopped(reason, text); err != nil {
		return false, err
	}
	later := s.later
	s.later = nil
	for _, r := range later {
		if over, err := s.request(ctx, r); over || err != nil {
			return over, err
		}
	}
	return false, nil
}

func (s *server) stopped(reason, text string) error {
	body := godap.StoppedEventBody{Reason: reason, Description: text, Text: text, ThreadId: threadID(s.stop.Thread), AllThreadsStopped: true}
	if reason == "breakpoint" || reason == "data breakpoint" || reason == "exception" {
		for _, p := range s.stoppedAt {
			body.HitBreakpointIds = append(body.HitBreakpointIds, p.id)
		}
	}
	return s.tell("stopped", body)
}

// reason says in the words of the protocol why the run stands still.
func (s *server) reason() (reason, text string) {
	switch s.stop.Reason {
	case debug.Breakpoint:
		for _, p := range s.stoppedAt {
			if p.exception != "" {
				return "exception", p.exception
			}
		}
		return "breakpoint", ""
	case debug.Watchpoint:
		return "data breakpoint", fmt.Sprintf("access to %#x", s.stop.Addr)
	case debug.AtBegin:
		return "entry", "the beginning of the run"
	case debug.AtEnd:
		if s.stop.Signal != 0 {
			return "exception", s.debug.Signal()
		}
		return "pause", "the end of the run"
	case debug.Interrupted:
		return "pause", ""
	}
	return "step", ""
}

// threadID is the id of a thread for clients, some of which take 0 for none.
func threadID(t event.ThreadID) int { return int(t) + 1 }
