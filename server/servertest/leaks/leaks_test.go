package leaks

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestLog writes lines with credentials in pieces of several sizes: the Log finds all of them.
func TestLog(t *testing.T) {
	Learn("planted-secret", "short")
	for text, want := range map[string]int{
		"":                                   0,
		"a short one\nGET /api/v1/secrets\n": 0,
		"planted-\nsecret\n":                 0,
		"a planted-secret here\nb\n":         1,
		"cGxhbnRlZC1zZWNyZXQ=\n":             1, // in base64
		"a\nBearer 0123456789\nBasic YTpiY2RlZg==\nb\nplanted-secret": 3,
		strings.Repeat("planted-secret\n", 2*shownLines):              shownLines,
		"of 10.0.0.1: a1b2c3.0123456789abcdef.\n":                     1,
		"of a1b2c3.0123456789abcdef":                                  1,
		"a1b2c3.0123456789abcdeF\n1a1b2c3.0123456789abcdef\na.b\n":    0,
		"eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJhIn0.x\neyJ.eyJ\n":           1,
		"-----BEGIN PRIVATE KEY\neFBSSVZBVEUgS0VZ\n":                  2, // the second in base64, behind one letter
	} {
		for _, in := range []io.Reader{strings.NewReader(text), iotest.OneByteReader(strings.NewReader(text))} {
			var l Log
			if _, err := io.Copy(&l, in); err != nil {
				t.Fatal(err)
			}
			if found := l.CredentialLines(); len(found) != want {
				t.Errorf("%q: found %q, want %d lines", text, found, want)
			}
		}
	}
}
