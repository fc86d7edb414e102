package request

import "net/http"

// Header returns the first value of a header, "" if there is none. name is spelled as net/http spells it: to find that out each time, as
// http.Header.Get does, costs more than to find the header.
func Header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}
