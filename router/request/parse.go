package request

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/coracle-project/coracle/scheme/meta"
)

// maxParts bounds the pieces behind the version that are told apart: resource, name, subresource, and the rest, slashes
// included. So a long path costs no more than a short one.
const maxParts = 4

// maxNaming bounds the field selectors in which a name is looked for, in bytes. A name has 253 at most.
const maxNaming = 1 << 10

// PathError is the error of a path that breaks off behind an old verb. Clients know it as a failure of the server's, in
// plain text: at this point nobody has asked what they accept.
type PathError struct{ url string }

// Error implements error.
func (e *PathError) Error() string {
	return "failed to create RequestInfo: unable to determine kind and namespace from url, " + e.url
}

// Parse finds out what r asks for from its method, path and query, and fills in the first groups of info's fields. It
// is the only place where a path or a query is taken apart, and makes no garbage for a plain GET.
//
// The forms are
//
//	/api/version/resource...            the legacy group ""
//	/apis/group/version/resource...
//
// with resource... one of resource[/name[/subresource[/rest]]] and namespaces/ns/resource[/name[/subresource[/rest]]].
// A namespace is the resource "namespaces" in the namespace of its own name; status and finalize are its subresources and no
// resources inside it. watch/ and proxy/ in front of resource... are verbs (of long ago). Everything else is not a
// resource request. The decoded path counts, so a%2Fb is two segments; leading and trailing slashes do not count;
// empty segments in the middle do, as empty names.
//
// The error is the answer: 400 to a query that url.ParseQuery refuses, and a *PathError to a path that ends behind watch
// or proxy.
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
			return &PathError{excerptOf(r.URL)}
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

// excerptOf is a URL as a message repeats it.
func excerptOf(u *url.URL) string {
	return (&url.URL{Path: meta.Excerpt(u.Path), RawQuery: meta.Excerpt(u.RawQuery)}).String()
}

// parsePrefix takes what stands before a resource from the front of a path: prefix, group and version. ok is false if
// no resource follows.
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

// setParts takes resource, name and subresource from the front of parts.
func (i *Info) setParts(parts []string) {
	i.Parts = parts
	i.Resource = parts[0]
	if len(parts) > 1 {
		i.Name = parts[1]
	}
	// What follows the name in /proxy/ paths is the path at the other end.
	if len(parts) > 2 && i.Verb != "proxy" {
		i.Subresource = parts[2]
	}
}

// parseQuery tells get, list and watch apart, and delete and deletecollection, and keeps the selectors.
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
	// Who may read one object by name may list or watch it alone, so authorization has to see the name. A malformed
	// selector requires none; whoever lists reports it. In a long one nobody looks before it is clear who asks.
	if i.Verb != "deletecollection" && len(i.FieldSelector) <= maxNaming && strings.Contains(i.FieldSelector, "metadata.name") {
		fields, _ := meta.ParseFields(i.FieldSelector)
		if name, ok := fields.RequiresExact("metadata.name"); ok && isSegment(name) {
			i.Name = name
		}
	}
}

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

// lower is strings.ToLower without garbage for the methods in use.
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

// splitPath cuts path at its slashes, into buf. The last of maxParts pieces holds the rest.
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

// isSegment reports whether name can stand in a path.
func isSegment(name string) bool {
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}
