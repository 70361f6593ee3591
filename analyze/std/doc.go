// Package std writes recorded runs as RAPID's STD text and reads such text into
// traces: the exchange format of tools that look for data races in logged
// executions. docs/exchange.md says how events are written.
//
// Each line is one event: thread|op(operand)|location. Threads and operands are
// names, locations are numbers. The operations are r and w (operand: a
// variable), acq and rel (a lock), fork and join (a thread).
package std
