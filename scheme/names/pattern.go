package names

import (
	"regexp"
	"sync"
)

// Pattern returns a function that compiles a regular expression at its first call and returns it.
// Most patterns are never used in a process, so its start should not pay for compiling them.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
