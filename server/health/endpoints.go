package health

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// single returns the handler of one check, such as /readyz/ping. It answers "ok", or 500 with the
// reason of the failure: authorization of the path decides who may see the reason. It ignores the
// query.
func (h *Health) single(c generic.Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := h.runCheck(r.Context(), c); err != nil {
			answer(w, http.StatusInternalServerError, "internal server error: "+err.Error()+"\n")
			return
		}
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		io.WriteString(w, "ok")
	})
}

// endpoint returns the handler of several checks. It answers "ok"; with ?verbose, or if a check
// fails, it answers with a line for each check, without reasons:
//
//	[+]ping ok
//	[-]etcd failed: reason withheld
//	readyz check failed
//
// ?exclude=NAME, which may be repeated, leaves a check out.
func (h *Health) endpoint(name string, checks func() []generic.Check) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := request.QueryOf(r)
		all := checks()
		excluded, unknown := exclusions(query, all)
		var report strings.Builder
		failed := false
		for _, c := range all {
			if excluded[c.Name] {
				fmt.Fprintf(&report, "[+]%s excluded: ok\n", c.Name)
				continue
			}
			err := h.runCheck(r.Context(), c)
			if r.Context().Err() == nil { // a check may fail only because the request ended
				h.metrics.count(c.Name, name, err)
			}
			if err != nil {
				failed = true
				fmt.Fprintf(&report, "[-]%s failed: reason withheld\n", c.Name)
			} else {
				fmt.Fprintf(&report, "[+]%s ok\n", c.Name)
			}
		}
		if unknown != "" {
			fmt.Fprintf(&report, "warn: some health checks cannot be excluded: no matches for %s\n", unknown)
		}
		_, verbose := query.Lookup("verbose")
		switch {
		case failed:
			answer(w, http.StatusInternalServerError, report.String()+name+" check failed\n")
		case verbose:
			answer(w, http.StatusOK, report.String()+name+" check passed\n")
		default:
			answer(w, http.StatusOK, "ok")
		}
	})
}

// answer writes a text. The header nosniff keeps browsers from taking it for HTML.
func answer(w http.ResponseWriter, code int, text string) {
	header := w.Header()
	header.Set("Content-Type", "text/plain; charset=utf-8")
	header.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(code)
	io.WriteString(w, text)
}

// maxUnknown is the length in bytes after which a report names no more checks that do not exist.
const maxUnknown = 1 << 10

// exclusions returns the checks that a query leaves out: excluded[name] is true for each. unknown
// has the names in the query that no check has, quoted, sorted and separated by commas. It is cut
// short, because a client may send any number of names.
func exclusions(query *request.Query, checks []generic.Check) (excluded map[string]bool, unknown string) {
	asked := query.All("exclude")
	if asked == nil {
		return nil, ""
	}
	excluded = make(map[string]bool, len(checks))
	for _, c := range checks {
		excluded[c.Name] = slices.Contains(asked, c.Name)
	}
	asked = slices.DeleteFunc(asked, func(name string) bool { return excluded[name] })
	slices.Sort(asked)
	var quoted strings.Builder
	for _, name := range slices.Compact(asked) {
		if quoted.Len() > maxUnknown {
			quoted.WriteString(",...")
			break
		}
		if quoted.Len() > 0 {
			quoted.WriteString(",")
		}
		quoted.WriteString(strconv.Quote(meta.Excerpt(name)))
	}
	return excluded, quoted.String()
}
