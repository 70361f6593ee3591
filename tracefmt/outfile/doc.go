// Package outfile writes the files that hindsight's commands produce, so that
// whatever happens, the result is either the old file or the new one, never a
// damaged one.
//
// A file called NAME is written as NAME.partial beside it, and is renamed when
// it is complete ([File.Close]). A recording takes its name earlier
// ([File.Publish]), as soon as something of the run can be read from it, and
// grows in place from then on, so that a killed recording is found where the
// user looks for it. A symbolic link stays, and its target is replaced.
// Anything that is not a regular file (a device, a named pipe) is written
// directly.
//
// [Create] refuses an output that is one of the inputs or a program, by whatever
// name or link, and one that another process is writing: the open file is locked
// (flock) from the first byte to the last, under both names. On systems without
// such locks, only inputs are checked.
//
// A [File] belongs to one goroutine.
package outfile
