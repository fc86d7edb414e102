package request

import "net/http"

// Header returns the first value of a header, or "". name must be spelled in net/http's canonical
// form: http.Header.Get would canonicalize it again at each call, which costs more than the lookup.
func Header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
