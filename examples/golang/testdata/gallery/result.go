package main

// A named result that a goroutine captured is written again by return.
func load(done chan bool) (err error) {
	go func() {
		err = nil // race: err
		done <- true
	}()
	return errClosed // race: err
}

func loadInto() error {
	result := make(chan error, 1)
	go func() { result <- nil }()
	if err := <-result; err != nil {
		return err
	}
	return errClosed
}

type closedError struct{}

func (closedError) Error() string { return "closed" }

var errClosed = closedError{}

func init() {
	programs["race_go_result"] = func() {
		done := make(chan bool)
		if load(done) != nil {
			println("an error")
		}
		<-done
	}
	programs["norace_go_result"] = func() { println(loadInto().Error()) }
}
