package interop

import (
	"encoding/base64"
	"regexp"
	"strings"
	"sync"
)

// leaks has what is found of credentials in the logs of all servers, which log everything. server/servertest guards those inside of
// tests in the same way.
var leaks finder

// finder looks for credentials: by their form, and for those that it was told of.
type finder struct {
	mu    sync.Mutex
	known []string
	found []string // lines
}

// forms are what credentials look like: tokens of JSON, headers, tokens of new nodes, private keys.
var forms = regexp.MustCompile(`eyJ[\w-]{8,}\.eyJ[\w-]{8,}|\b(?:Bearer|Basic) [\w+/=.~-]{8,}|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY`)

// learn has a credential looked for from now on.
func (f *finder) learn(secret string) {
	if len(secret) < 8 { // stands in logs by chance
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.known = append(f.known, secret, base64.StdEncoding.EncodeToString([]byte(secret)))
}

// read looks at lines of a log.
func (f *finder) read(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for line := range strings.Lines(text) {
		found := forms.MatchString(line)
		for _, secret := range f.known {
			found = found || strings.Contains(line, secret)
		}
		if found && len(f.found) < 10 {
			f.found = append(f.found, line)
		}
	}
}

// lines are those with credentials.
func (f *finder) lines() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.found
}
