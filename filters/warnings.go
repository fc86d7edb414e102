package filters

import (
	"net/http"
	"strings"
	"unicode/utf8"
)

// Warnings are sent whole up to maxWarnings runes in sum. With more, each is cut at maxWarning, and what then still
// goes beyond maxWarnings is left out: proxies refuse large headers.
const (
	maxWarnings = 4 << 10
	maxWarning  = 256
)

// addWarnings adds a Warning header for each text.
func addWarnings(h http.Header, texts []string) {
	total := 0
	for _, text := range texts {
		total += utf8.RuneCountInString(text)
	}
	cut := total > maxWarnings
	sent := 0
	for _, text := range texts {
		if text == "" || !utf8.ValidString(text) || strings.IndexFunc(text, isControl) >= 0 {
			continue
		}
		if cut {
			text = cutRunes(text, maxWarning)
		}
		if sent += utf8.RuneCountInString(text); sent > maxWarnings {
			return
		}
		h.Add("Warning", `299 - "`+warningEscaper.Replace(text)+`"`)
	}
}

var warningEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// isControl reports whether r may not stand in a header.
func isControl(r rune) bool { return r < ' ' || r == 0x7f }

func cutRunes(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}
