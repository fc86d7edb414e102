package request

import (
	"net/http"
	"strings"
)

// AcceptsGzip reports whether a client names gzip among the encodings that it accepts.
func AcceptsGzip(h http.Header) bool {
	for _, v := range h["Accept-Encoding"] {
		for v != "" {
			var one string
			one, v, _ = strings.Cut(v, ",")
			if strings.TrimSpace(one) == "gzip" {
				return true
			}
		}
	}
	return false
}
