package request

import (
	"net/http"
	"strings"
)

// AcceptsGzip reports whether Accept-Encoding names gzip. A quality ("gzip;q=0.5") is not
// understood and counts as no: kube-apiserver compares the same way.
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
