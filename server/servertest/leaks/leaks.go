// Package leaks reads the logs of servers for credentials: tokens, passwords and keys are found by
// their form, and those that it was told of wherever they stand. Servers inside of a test and those
// of other processes are judged by the same means.
package leaks

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	knownSecrets = 256 // more are forgotten, the oldest first
	leastSecret  = 8   // bytes: what is shorter stands in logs by chance
	shownLines   = 5
	longestLine  = 1 << 20 // bytes; more is read in parts
)

// known are the credentials that any test has used, as they are and in base64: no server may tell
// of those of another.
var known struct {
	mu   sync.Mutex
	last []string
}

// Learn has credentials looked for from now on, in all logs.
func Learn(secrets ...string) {
	known.mu.Lock()
	defer known.mu.Unlock()
	for _, s := range secrets {
		if len(s) < leastSecret || slices.Contains(known.last, s) {
			continue
		}
		known.last = append(known.last, s, base64.StdEncoding.EncodeToString([]byte(s)))
	}
	known.last = slices.Delete(known.last, 0, max(0, len(known.last)-knownSecrets))
}

// forms are what credentials look like: tokens of JSON, headers, tokens of new nodes, private keys.
// marks are what stands in all of them but the tokens of new nodes.
var (
	forms = regexp.MustCompile(`eyJ[\w-]{8,}\.eyJ[\w-]{8,}|\b(?:Bearer|Basic) [\w+/=.~-]{8,}|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY|` +
		strings.Join(encodedAnywhere("PRIVATE KEY"), "|"))
	marks = append(encodedAnywhere("PRIVATE KEY"), "PRIVATE KEY", "eyJ", "Bearer ", "Basic ")
)

// mayHold reports whether forms may match. They would take a tenth of the time of all tests with
// the race detector.
func mayHold(line []byte) bool {
	if slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(line, []byte(mark)) }) {
		return true
	}
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for { // the token of a new node has 6 letters, a dot and 16 letters
		dot := bytes.IndexByte(line, '.')
		if dot < 0 {
			return false
		}
		before, after := line[max(0, dot-6):dot], line[dot+1:]
		if !bytes.ContainsFunc(before, other) && !bytes.ContainsFunc(after[:min(16, len(after))], other) {
			return true
		}
		line = after
	}
}

// encodedAnywhere returns how a text looks in base64, which depends on what is before it.
func encodedAnywhere(text string) []string {
	var all []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		all = append(all, encoded[(before*8+5)/6:len(encoded)-1])
	}
	return all
}

// credential returns one that stands in a line, "" if there is none.
func credential(line []byte) string {
	if mayHold(line) {
		if found := forms.Find(line); found != nil {
			return string(found)
		}
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	if i := slices.IndexFunc(known.last, func(s string) bool { return bytes.Contains(line, []byte(s)) }); i >= 0 {
		return known.last[i]
	}
	return ""
}

// Log reads what is written to it, and keeps the first lines that hold credentials. The zero Log is
// ready, and many may write to it, each whole lines.
type Log struct {
	mu    sync.Mutex
	begun []byte // of a line that has not ended
	found []string
}

// Write reads text, which may end within a line.
func (l *Log) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(text) {
		l.begun = append(l.begun, line...)
		if line[len(line)-1] == '\n' || len(l.begun) > longestLine {
			l.readLocked()
		}
	}
	return len(text), nil
}

func (l *Log) readLocked() {
	if found := credential(l.begun); found != "" && len(l.found) < shownLines {
		l.found = append(l.found, fmt.Sprintf("%q in %s", found, bytes.TrimSuffix(l.begun, []byte("\n"))))
	}
	l.begun = l.begun[:0]
}

// Found returns lines that hold credentials, each with the one that was found. A line that has not
// ended is read as it is.
func (l *Log) Found() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked()
	return slices.Clone(l.found)
}
