// Package leaks searches the logs of servers for credentials. It finds tokens and private keys by
// their form, and all credentials that Learn was told of by their value. Both servers inside the
// test process and servers in other processes write their logs to a Log. All functions and methods
// may be called at once.
package leaks

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	maxLearned  = 256     // strings that are remembered; the oldest are forgotten first
	leastSecret = 8       // bytes; shorter strings are in logs by chance
	shownLines  = 5       // lines that a Log keeps
	longestLine = 1 << 20 // bytes; a longer line is searched in parts
)

// learned are the credentials that Learn was told of, each as it is and in base64. All logs are
// searched for all of them, because a server must not log another server's credentials either.
var learned struct {
	mu   sync.Mutex
	last []string
	// begins has true for the first bytes of each string of last (see begin), and for those of some
	// that are forgotten.
	begins [1 << 16]bool
}

// Learn adds credentials for which all logs are searched from then on. It ignores strings shorter
// than 8 bytes.
func Learn(secrets ...string) {
	learned.mu.Lock()
	defer learned.mu.Unlock()
	for _, s := range secrets {
		if len(s) < leastSecret || slices.Contains(learned.last, s) {
			continue
		}
		for _, form := range []string{s, base64.StdEncoding.EncodeToString([]byte(s))} {
			learned.last = append(learned.last, form)
			learned.begins[begin([]byte(form))] = true
		}
	}
	learned.last = slices.Delete(learned.last, 0, max(0, len(learned.last)-maxLearned))
}

// begin returns a hash of the first four bytes of text, which has at least as many.
func begin(text []byte) uint16 {
	return uint16(binary.LittleEndian.Uint32(text) * 0x9e3779b1 >> 16)
}

// learnedIn returns a learned credential that line contains, or "" if there is none. It searches
// for all of them only if one may begin somewhere in the line, because most lines contain none.
func learnedIn(line []byte) string {
	learned.mu.Lock()
	defer learned.mu.Unlock()
	for i := 0; i+leastSecret <= len(line); i++ {
		if !learned.begins[begin(line[i:])] {
			continue
		}
		for _, s := range learned.last {
			if len(line)-i >= len(s) && string(line[i:i+len(s)]) == s {
				return s
			}
		}
	}
	return ""
}

// forms matches credentials by their form: JSON web tokens, Authorization headers, bootstrap tokens
// and private keys. Each match of forms, except a bootstrap token, contains one of marks.
var (
	forms = regexp.MustCompile(`eyJ[\w-]{8,}\.eyJ[\w-]{8,}|\b(?:Bearer|Basic) [\w+/=.~-]{8,}|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|PRIVATE KEY|` +
		strings.Join(encodedAnywhere("PRIVATE KEY"), "|"))
	marks = append(encodedAnywhere("PRIVATE KEY"), "PRIVATE KEY", "eyJ", "Bearer ", "Basic ")
)

// mayHold reports whether forms may match a line. It never returns false for a line that matches.
// It exists because the regular expression alone, with the race detector, would take a tenth of the
// time of all tests.
func mayHold(line []byte) bool {
	if slices.ContainsFunc(marks, func(mark string) bool { return bytes.Contains(line, []byte(mark)) }) {
		return true
	}
	other := func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') }
	for { // a bootstrap token has 6 letters or digits, a dot, and 16 letters or digits
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

// encodedAnywhere returns the three forms that text can have inside a longer base64 text, depending
// on the number of bytes before it. Characters that also depend on other bytes are cut off.
func encodedAnywhere(text string) []string {
	var all []string
	for before := range 3 {
		encoded := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + text))
		all = append(all, encoded[(before*8+5)/6:len(encoded)-1])
	}
	return all
}

// credential returns a credential that line contains, or "" if there is none.
func credential(line []byte) string {
	if mayHold(line) {
		if found := forms.Find(line); found != nil {
			return string(found)
		}
	}
	return learnedIn(line)
}

// Log is an io.Writer that keeps the first lines which contain credentials. The zero Log is ready.
// Several goroutines may write at once if each Write has whole lines.
type Log struct {
	mu    sync.Mutex
	begun []byte   // the beginning of a line that has not ended
	found []string // at most shownLines
}

// Write searches text, which may end within a line. It never fails.
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

// readLocked searches begun, and empties it. The caller holds mu.
func (l *Log) readLocked() {
	if found := credential(l.begun); found != "" && len(l.found) < shownLines {
		l.found = append(l.found, fmt.Sprintf("%q in %s", found, bytes.TrimSuffix(l.begun, []byte("\n"))))
	}
	l.begun = l.begun[:0]
}

// CredentialLines returns up to 5 lines that contain a credential, each with the credential that
// was found. It also searches the beginning of a line that has not ended.
func (l *Log) CredentialLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.readLocked()
	return slices.Clone(l.found)
}
