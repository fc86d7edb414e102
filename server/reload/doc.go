// Package reload reads configuration files again when they change, and shows in metrics which
// content is in force.
//
// Words: a File is followed by a loop, which passes on new content. A Value is read again by its
// users, at the first Get after a change, so it needs no loop.
//
// Laws: the last good content stays in force while a file cannot be read or used. Content that
// failed for good is not tried again until the file changes. Content that failed for the moment is
// tried again every CheckEvery. While nothing changes, a check costs one stat for each file. A pipe
// can be read only once, so it is never read again.
//
// Use: a package that has a configuration file calls Read or NewValue at its start: server/access,
// server/backing and server/identity do.
//
// Not here: the meaning of a file.
//
// Read: file.go, value.go, metrics.go.
package reload
