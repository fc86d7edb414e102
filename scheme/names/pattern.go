package names

import (
	"regexp"
	"sync"
)

// Pattern returns what compiles a regular expression when it is first called, and returns it. Most
// of what is checked by one is never met, and a program that starts should not pay for it.
func Pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
