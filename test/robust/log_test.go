package robust

import (
	"os"
	"path/filepath"
	"testing"
)

// TestReadLog wants readLog to find the lines that must not be in a log.
func TestReadLog(t *testing.T) {
	for text, want := range map[string]int{
		"served\n":                                 0,
		"served\npanic: no\n":                      1,
		"DEBUG asked with robust-token\n":          1,
		"DEBUG Authorization: Bearer 0123456789\n": 1,
		"Bearer 0123456789\nfatal error: out of\n": 2,
	} {
		file := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		found := 0
		readLog(file, func(string, ...any) { found++ })
		if found != want {
			t.Errorf("%q: %d troubles, want %d", text, found, want)
		}
	}
}
