// Package reload reads configuration files again when they change, and shows in metrics which
// content is in force.
//
// Words: a File is checked in a goroutine, which calls Follow, and Follow passes new content on. A
// Dir is checked in the same way, but its caller reads the files. A Value needs no goroutine: the
// first Get after a change makes the value again.
//
// Laws: the last good content stays in force while a file cannot be read or used. A File tries
// content that failed for good only after the next change of the file, and content that failed for
// the moment again every CheckEvery. A Value tries all content that failed again every CheckEvery.
// While nothing changes, a check costs one stat for each file, and for a Dir a list of its names. A
// pipe can be read only once, so it is never read again.
//
// Use: a package that has a configuration file calls Read or NewValue at its start: server/access,
// server/backing and server/identity do. A package that has a directory calls NewDir:
// server/plugins does.
//
// Not here: what a file means, and how it is read within bounds (scheme/configfile).
//
// Read: file.go, dir.go, value.go, metrics.go.
package reload
