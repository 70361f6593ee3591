// Package outfile writes the files that hindsight's commands produce, so that the result
// is always either the old file or the new one, never a damaged one.
//
// A file called NAME is written as NAME.partial in the same directory, and renamed when
// it is complete ([File.Close]). A recording gets its name earlier ([File.Publish]), as
// soon as part of the run can be read from it, and grows in place from then on. A killed
// recording is therefore where the user looks for it. A symbolic link stays, and its
// target is replaced. Anything that is not a regular file (a device, a named pipe) is
// written directly.
//
// [Create] refuses an output that is one of the inputs or a program, by whatever name or
// link, and an output that another process is writing. The open file is locked (flock)
// from the first byte to the last, under both names. On systems without such locks, it
// only checks the inputs.
//
// A [File] belongs to one goroutine.
package outfile
