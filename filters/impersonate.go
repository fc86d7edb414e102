package filters

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// The headers by which a request asks to be served as another user. Names of extra headers go on with the key.
const (
	impersonatePrefix = "Impersonate-"
	impersonateUser   = "Impersonate-User"
	impersonateUID    = "Impersonate-Uid"
	impersonateGroup  = "Impersonate-Group"
	impersonateExtra  = "Impersonate-Extra-"
)

// Impersonate serves a request with Impersonate-* headers as the user that they name, if the one who sends it may be that user:
// see impersonator. It takes all of them off the request, so that nobody behind can take them for true, and notes who
// it was.
// Order: after authenticate, so that strangers are told 401; before all that judges the user. Cost: a look at each
// header's name, no allocation; with such headers what may costs for each thing that is asked for, and nothing is remembered, so
// that a right that is taken away is gone.
func Impersonate(may request.Authorizer, reg prometheus.Registerer, fail ErrorWriter) Filter {
	i := newImpersonator(may, reg)
	return func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if impersonates(r.Header) && i.refuses(w, r, fail) {
				return
			}
			next(w, r)
		}
	}
}

// refuses answers r unless it may be served as the user that its headers name, who is its user from then on. It is a function of
// its own for the sake of the filter's frame.
func (i *impersonator) refuses(w http.ResponseWriter, r *http.Request, fail ErrorWriter) bool {
	err := i.impersonate(r)
	if err != nil {
		w.Header()["X-Content-Type-Options"] = noSniff
		fail(w, r, err)
	}
	return err != nil
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
	return len(name) >= len(impersonatePrefix) && strings.EqualFold(name[:len(impersonatePrefix)], impersonatePrefix)
}

// impersonate makes the user that the headers of r name the user of r. The error is for the client.
func (i *impersonator) impersonate(r *http.Request) error {
	wanted, err := wantedUser(r.Header)
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return isImpersonation(name) })
	if wanted == nil || err != nil {
		return err
	}
	x := of(r)
	began := time.Now()
	user, mode, err := i.judge(r.Context(), wanted, &x.info)
	i.metrics.requests.took(mode, err == nil, time.Since(began))
	if err != nil {
		return err
	}
	x.info.Impersonator, x.info.User, x.info.Constraint = x.info.User, user, mode.constraint()
	return nil
}

// wantedUser is the user that headers name, as they name it; nil if they name none. Keys of extra are in lower case, but for what
// is written by its code.
func wantedUser(h http.Header) (*request.User, error) {
	u := &request.User{Name: h.Get(impersonateUser), UID: h.Get(impersonateUID), Groups: slices.Clone(h[impersonateGroup])}
	asks := u.UID != "" || len(u.Groups) > 0
	var extras []string
	for name := range h {
		if strings.HasPrefix(name, impersonateExtra) {
			extras = append(extras, name)
		}
	}
	slices.Sort(extras) // two names may be one key
	for _, name := range extras {
		key := name[len(impersonateExtra):]
		asks = true
		if len(h[name]) == 0 {
			continue
		}
		if u.Extra == nil {
			u.Extra = map[string][]string{}
		}
		key = strings.ToLower(key)
		if plain, err := url.PathUnescape(key); err == nil {
			key = plain
		}
		u.Extra[key] = append(u.Extra[key], h[name]...)
	}
	switch {
	case u.Name != "":
		return u, nil
	case asks: // in the words of Kubernetes, which shows a value of Go
		return nil, meta.NewBadRequest(meta.Excerpt(fmt.Sprintf(
			"requested &user.DefaultInfo{Name:%#v, UID:%#v, Groups:%#v, Extra:%#v} without impersonating a user name",
			u.Name, u.UID, u.Groups, u.Extra)))
	}
	return nil, nil
}
