package filters

import (
	"net/http"
	"strings"
)

// addWarnings adds a Warning header for each text, with code 299 and agent "-" (RFC 7234, section
// 5.5).
func addWarnings(h http.Header, texts []string) {
	for _, text := range texts {
		h.Add("Warning", `299 - "`+warningEscaper.Replace(text)+`"`)
	}
}

// warningEscaper escapes the text of a quoted-string.
var warningEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
