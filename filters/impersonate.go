package filters

import (
	"errors"
	"net/http"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// errImpersonation is what every caller is told who asks to be somebody else.
var errImpersonation = errors.New("impersonation is not served: requests with Impersonate-* headers are refused")

// Impersonate answers a request with an Impersonate-* header with 403, whoever sends it. To serve it as the caller
// would give it rights that it asked to be without.
// Order: after authenticate, so that strangers are told 401; before all that judges the user. Cost: a look at each
// header's name, no allocation.
func Impersonate(fail ErrorWriter) Filter {
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if impersonates(r.Header) {
				fail(w, r, meta.NewForbidden(meta.GroupResource{}, "", errImpersonation))
				return
			}
			next(w, r)
		}
	}
}

func impersonates(h http.Header) bool {
	for name := range h {
		if isImpersonation(name) {
			return true
		}
	}
	return false
}

// isImpersonation reports whether a header of this name asks for impersonation, however it is spelled: net/http has
// canonicalized the names, but not those that it finds strange.
func isImpersonation(name string) bool {
	const prefix = "Impersonate-"
	return len(name) >= len(prefix) && strings.EqualFold(name[:len(prefix)], prefix)
}
