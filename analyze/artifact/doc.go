// Package artifact finds the races of a run that are only consequences of other
// races: artifacts, by event-control dependence (PPoPP 2003, section 4.2, after
// Netzer and Miller).
package artifact
