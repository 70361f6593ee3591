// Package outfile writes the files that hindsight's commands produce, so that
// whatever happens there is either the file that was there before or the new
// one, and never a damaged one.
//
// A file called NAME is written as NAME.partial, beside it, and gets its name
// when it is whole ([File.Close]). A recording takes its name earlier
// ([File.Publish]), as soon as something of the run can be read from it, and
// grows in place from there on: one that is killed is found where the user
// looks for it. A symbolic link stays, and what it leads to is replaced. What is
// no regular file (a device, a named pipe) is written directly.
//
// [Create] refuses an output that is one of the inputs, by whatever name or
// link, and one that another process is writing: the open file is locked
// (flock) from the first byte to the last, under both names. Where the system
// has no such locks, only inputs are looked at.
//
// A [File] belongs to one goroutine.
package outfile
