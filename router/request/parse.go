package request

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// This file takes a request apart into verb, group, version, namespace, resource, name and
// selectors. Parse is called once for each request, by filters.Info. Everything else here is a step
// of Parse.

// maxParts is the largest number of pieces into which the path behind the version is cut: resource,
// name, subresource, and the rest with its slashes. So a long path costs no more than a short one.
const maxParts = 4

// maxNaming is the length in bytes of the longest field selector in which Parse looks for
// metadata.name. A name has 253 bytes at most.
const maxNaming = 1 << 10

// PlainError is an error of a filter for which no Accept header is read: the router answers it with
// 500 in plain text, as kube-apiserver does.
type PlainError string

// Error implements error.
func (e PlainError) Error() string { return string(e) }

// errPath is the error of a path that ends after watch or proxy, where a resource should follow, in
// the words of kube-apiserver.
func errPath(u *url.URL) error {
	return PlainError("failed to create RequestInfo: unable to determine kind and namespace from url, " + urlExcerpt(u))
}

// Parse finds out what r asks for from its method, path and query, and sets the Attributes, the
// path fields and the Query of info. No other code takes a path or a query apart. A plain GET costs
// no allocation.
//
// The forms of a resource's path are
//
//	/api/version/resource...            the legacy group ""
//	/apis/group/version/resource...
//
// where resource... is resource[/name[/subresource[/rest]]], or the same behind
// namespaces/NAMESPACE/. A namespace object is the resource "namespaces" in the namespace of its
// own name, so status and finalize behind its name are subresources and not resources inside it.
// watch/ and proxy/ in front of resource... are verbs of an old API. As in kube-apiserver, the
// selectors of such a request are not Attributes. Every other path is not a resource request; its
// verb is the method in lower case.
//
// The unescaped path counts, so a%2Fb is two segments. Leading and trailing slashes are ignored; an
// empty segment in the middle is an empty name.
//
// The error is the answer to the client: 400 if url.ParseQuery would refuse the query, a PlainError
// if the path ends after watch or proxy.
func Parse(r *http.Request, info *Info) error {
	info.Path, info.Verb, info.IsResource = r.URL.Path, lower(r.Method), false
	if err := info.Query.parse(r.URL.RawQuery); err != nil {
		return meta.NewBadRequest("unable to parse the query: " + err.Error())
	}
	rest, ok := info.parsePrefix(strings.Trim(r.URL.Path, "/"))
	if !ok {
		return nil
	}
	info.IsResource = true
	first, behind, more := strings.Cut(rest, "/")
	byPath := first == "watch" || first == "proxy"
	if byPath {
		if !more {
			return errPath(r.URL)
		}
		info.Verb, rest = first, behind
		first, behind, more = strings.Cut(rest, "/")
	} else {
		info.Verb = verbOf(r.Method)
	}
	if first == "namespaces" && more {
		var inside string
		info.Namespace, inside, more = strings.Cut(behind, "/")
		if next, _, _ := strings.Cut(inside, "/"); more && next != "status" && next != "finalize" {
			rest, info.InNamespace = inside, true
		}
	}
	info.setParts(splitPath(rest, &info.parts))
	if !byPath {
		info.parseQuery()
	}
	return nil
}

// urlExcerpt returns u as an error message repeats it: path and query cut to a bounded length.
func urlExcerpt(u *url.URL) string {
	return (&url.URL{Path: meta.Excerpt(u.Path), RawQuery: meta.Excerpt(u.RawQuery)}).String()
}

// parsePrefix takes prefix, group and version from the front of path and sets them in i. rest is
// the path of the resource. ok is false if no resource follows.
func (i *Info) parsePrefix(path string) (rest string, ok bool) {
	prefix, rest, _ := strings.Cut(path, "/")
	group := ""
	switch prefix {
	case "api":
	case "apis":
		if group, rest, ok = strings.Cut(rest, "/"); !ok {
			return "", false
		}
	default:
		return "", false
	}
	version, rest, ok := strings.Cut(rest, "/")
	if !ok {
		if prefix == "apis" {
			i.APIPrefix = prefix
		}
		return "", false
	}
	i.APIPrefix, i.Group, i.Version = prefix, group, version
	return rest, true
}

// setParts sets resource, name and subresource from parts, which is never empty.
func (i *Info) setParts(parts []string) {
	i.Parts = parts
	i.Resource = parts[0]
	if len(parts) > 1 {
		i.Name = parts[1]
	}
	// In a /proxy/ path, what follows the name is the path at the proxied server, not a
	// subresource.
	if len(parts) > 2 && i.Verb != "proxy" {
		i.Subresource = parts[2]
	}
}

// parseQuery tells list and watch from get, and deletecollection from delete, and keeps the
// selectors.
func (i *Info) parseQuery() {
	collection := i.Name == ""
	switch {
	case i.Verb == "get" && collection:
		i.Verb = "list"
		if i.Query.Bool("watch") {
			i.Verb = "watch"
		}
	case i.Verb == "delete" && collection:
		i.Verb = "deletecollection"
	default:
		return
	}
	i.FieldSelector, i.LabelSelector = i.Query.Get("fieldSelector"), i.Query.Get("labelSelector")
	// A user with the right to get one object by name may also list or watch it alone, so
	// authorization has to see the name in the selector. A malformed selector names nothing here,
	// and the handler of the list reports it. A selector longer than maxNaming is not searched,
	// because the sender is not authenticated yet.
	if i.Verb != "deletecollection" && len(i.FieldSelector) <= maxNaming &&
		strings.Contains(i.FieldSelector, "metadata.name") {
		fields, _ := meta.ParseFields(i.FieldSelector)
		if name, ok := fields.RequiresExact("metadata.name"); ok && isSegment(name) {
			i.Name = name
		}
	}
}

// verbOf returns the verb of a resource request that has a name, "" for a method that has none.
func verbOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead:
		return "get"
	case http.MethodPost:
		return "create"
	case http.MethodPut:
		return "update"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	}
	return ""
}

// lower is strings.ToLower without an allocation for the common methods.
func lower(method string) string {
	switch method {
	case http.MethodGet:
		return "get"
	case http.MethodPost:
		return "post"
	case http.MethodPut:
		return "put"
	case http.MethodPatch:
		return "patch"
	case http.MethodDelete:
		return "delete"
	case http.MethodHead:
		return "head"
	case http.MethodOptions:
		return "options"
	}
	return strings.ToLower(method)
}

// splitPath cuts path at its slashes into buf. The last of maxParts pieces keeps its slashes.
func splitPath(path string, buf *[maxParts]string) []string {
	n, more := 0, true
	for more && n < maxParts-1 {
		buf[n], path, more = strings.Cut(path, "/")
		n++
	}
	if more {
		buf[n] = path
		n++
	}
	return buf[:n]
}

// isSegment reports whether name can be one segment of a path.
func isSegment(name string) bool {
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}
