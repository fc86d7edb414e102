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

// The headers by which a request asks to be served as another user. An extra header is
// Impersonate-Extra-KEY.
const (
	impersonatePrefix = "Impersonate-"
	impersonateUser   = "Impersonate-User"
	impersonateUID    = "Impersonate-Uid"
	impersonateGroup  = "Impersonate-Group"
	impersonateExtra  = "Impersonate-Extra-"
)

// Impersonate serves a request with Impersonate-* headers as the user that the headers name, if its
// sender may be that user; see impersonator. It removes these headers, so that no handler trusts
// them, and notes the sender in Info.Impersonator.
// Order: after authenticate, so that strangers get 401; before all filters that depend on the user.
// Cost: a look at each header's name, no allocation. A request with such headers costs one
// authorization for each thing that it asks for. No answer is remembered, so a right that is
// withdrawn ends at once.
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

// refuses makes the user that r's headers name the user of r and returns false, or answers r with
// the error and returns true. It is a function of its own, so that the filter has a small stack
// frame.
func (i *impersonator) refuses(w http.ResponseWriter, r *http.Request, fail ErrorWriter) bool {
	err := i.impersonate(r)
	if err != nil {
		w.Header()["X-Content-Type-Options"] = noSniff
		fail(w, r, err)
	}
	return err != nil
}

// impersonates reports whether a request asks for impersonation.
func impersonates(h http.Header) bool {
	for name := range h {
		if isImpersonation(name) {
			return true
		}
	}
	return false
}

// isImpersonation reports whether a header asks for impersonation, in any case: net/http
// canonicalizes names, but leaves names with unusual characters as they were sent.
func isImpersonation(name string) bool {
	return len(name) >= len(impersonatePrefix) && strings.EqualFold(name[:len(impersonatePrefix)], impersonatePrefix)
}

// impersonate makes the user that r's headers name the user of r. The error is for the client.
func (i *impersonator) impersonate(r *http.Request) error {
	wanted, err := wantedUser(r.Header)
	maps.DeleteFunc(r.Header, func(name string, _ []string) bool { return isImpersonation(name) })
	if wanted == nil || err != nil {
		return err
	}
	x := exchangeOf(r)
	began := time.Now()
	ctx, span := request.Begin(r.Context(), request.SpanImpersonation, "impersonation")
	user, mode, err := i.decide(ctx, wanted, &x.info)
	span.End()
	i.metrics.requests.took(mode, err == nil, time.Since(began))
	if err != nil {
		return err
	}
	x.info.Impersonator, x.info.User, x.info.Constraint = x.info.User, user, mode.constraint()
	return nil
}

// wantedUser returns the user that the headers name, or nil if they name none. The user has only
// the groups in the headers; decide adds those that follow from the name. Keys of extra are
// lower-cased first and then unescaped, so an escaped letter keeps its case.
func wantedUser(h http.Header) (*request.User, error) {
	u := &request.User{
		Name: h.Get(impersonateUser), UID: h.Get(impersonateUID), Groups: slices.Clone(h[impersonateGroup]),
	}
	asks := u.UID != "" || len(u.Groups) > 0
	var extras []string
	for name := range h {
		if strings.HasPrefix(name, impersonateExtra) {
			extras = append(extras, name)
		}
	}
	slices.Sort(extras) // two headers may mean one key; the order of the values must not be random
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
	case asks: // in Kubernetes' words, which print a Go value
		return nil, meta.NewBadRequest(meta.Excerpt(fmt.Sprintf(
			"requested &user.DefaultInfo{Name:%#v, UID:%#v, Groups:%#v, Extra:%#v} without impersonating a user name",
			u.Name, u.UID, u.Groups, u.Extra)))
	}
	return nil, nil
}
