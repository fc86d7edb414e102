package filters

import (
	"net/http"
	"strings"
)

// addWarnings adds a Warning header for each text.
func addWarnings(h http.Header, texts []string) {
	for _, text := range texts {
		h.Add("Warning", `299 - "`+warningEscaper.Replace(text)+`"`)
	}
}

var warningEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
