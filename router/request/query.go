package request

import (
	"net/url"
	"strings"
)

// Param returns the first value of a parameter in a raw query, and whether there is one. It finds what
// url.ParseQuery finds, without a map of everything else: pairs with a semicolon or a bad escape do not count. key
// must need no escaping. Only values with escapes cost an allocation.
func Param(query, key string) (value string, ok bool) {
	for query != "" {
		var pair string
		pair, query, _ = strings.Cut(query, "&")
		if pair == "" || strings.IndexByte(pair, ';') >= 0 {
			continue
		}
		k, v, _ := strings.Cut(pair, "=")
		if k != key {
			if !strings.ContainsAny(k, "%+") {
				continue
			}
			if k, err := url.QueryUnescape(k); err != nil || k != key {
				continue
			}
		}
		if v, err := url.QueryUnescape(v); err == nil {
			return v, true
		}
	}
	return "", false
}
