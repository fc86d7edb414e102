package request

import (
	"errors"
	"net/http"
	"strings"
)

// maxParts bounds the pieces of a path that are told apart. The longest form that means something is
// /apis/group/version/watch/namespaces/ns/resource/name/subresource/rest, so a rest of its own length is never needed.
const maxParts = 10

// Parse finds out what r asks for from its method, path and query, and fills in the first two groups of info's
// fields. It is the only place where a path is taken apart, and makes no garbage for a plain GET.
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
// The error says that a path ends behind watch or proxy.
func Parse(r *http.Request, info *Info) error {
	info.Path = r.URL.Path
	info.IsResource = false
	info.Verb = lower(r.Method)

	parts := splitPath(r.URL.Path, &info.parts)
	if len(parts) < 3 {
		return nil
	}
	switch parts[0] {
	case "api":
		info.APIPrefix, parts = parts[0], parts[1:]
	case "apis":
		if len(parts) < 4 {
			info.APIPrefix = parts[0]
			return nil
		}
		info.APIPrefix, info.APIGroup, parts = parts[0], parts[1], parts[2:]
	default:
		return nil
	}
	info.IsResource = true
	info.APIVersion, parts = parts[0], parts[1:]

	byPath := parts[0] == "watch" || parts[0] == "proxy"
	if byPath {
		if len(parts) < 2 {
			return errors.New("unable to determine kind and namespace from url, " + r.URL.String())
		}
		info.Verb, parts = parts[0], parts[1:]
	} else {
		info.Verb = verbOf(r.Method)
	}
	if parts[0] == "namespaces" && len(parts) > 1 {
		info.Namespace = parts[1]
		if len(parts) > 2 && parts[2] != "status" && parts[2] != "finalize" {
			parts = parts[2:]
		}
	}
	info.setParts(parts)
	if !byPath {
		info.parseQuery(r.URL.RawQuery)
	}
	return nil
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
func (i *Info) parseQuery(query string) {
	collection := i.Name == ""
	switch {
	case i.Verb == "get" && collection:
		i.Verb = "list"
		if query == "" {
			return
		}
		if v, ok := Param(query, "watch"); ok && isTrue(v) {
			i.Verb = "watch"
		}
	case i.Verb == "delete" && collection:
		i.Verb = "deletecollection"
	default:
		return
	}
	if query == "" {
		return
	}
	i.FieldSelector, _ = Param(query, "fieldSelector")
	i.LabelSelector, _ = Param(query, "labelSelector")
	// Who may read one object by name may list or watch it alone, so authorization has to see the name.
	if i.Verb != "deletecollection" && i.FieldSelector != "" {
		if name, ok := exactName(i.FieldSelector); ok && isSegment(name) {
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

// splitPath cuts path at its slashes, those around it left out. The result uses buf; the last of maxParts pieces
// holds the rest, slashes included, so that a long path costs no more than a short one.
func splitPath(path string, buf *[maxParts]string) []string {
	path = strings.Trim(path, "/")
	if path == "" {
		return nil
	}
	n := 0
	for n < maxParts-1 {
		i := strings.IndexByte(path, '/')
		if i < 0 {
			break
		}
		buf[n], path = path[:i], path[i+1:]
		n++
	}
	buf[n] = path
	return buf[:n+1]
}

// isTrue reads a boolean query parameter: everything is true but 0 and false.
func isTrue(v string) bool {
	return v != "0" && !strings.EqualFold(v, "false")
}

// isSegment reports whether name can stand in a path.
func isSegment(name string) bool {
	return name != "." && name != ".." && !strings.ContainsAny(name, "/%")
}

// exactName returns the name that a field selector requires metadata.name to equal. Of several, the term that sorts
// first counts; in a malformed selector none does, and whoever lists reports it.
func exactName(selector string) (name string, ok bool) {
	if !strings.Contains(selector, "metadata.name") {
		return "", false
	}
	best := ""
	for rest, more := selector, true; more; {
		var term string
		term, rest, more = cutTerm(rest)
		if term == "" {
			continue
		}
		at := strings.IndexByte(term, '=')
		if at < 0 {
			return "", false
		}
		field, raw := term[:at], strings.TrimPrefix(term[at:], "=")
		negated := strings.HasSuffix(field, "!")
		if !negated {
			raw = strings.TrimPrefix(raw, "=")
		}
		value, valid := unescape(raw)
		if !valid {
			return "", false
		}
		if field == "metadata.name" && !negated && (!ok || term < best) {
			name, best, ok = value, term, true
		}
	}
	return name, ok
}

// cutTerm cuts selector at its first comma that no backslash precedes.
func cutTerm(selector string) (term, rest string, more bool) {
	for i := 0; i < len(selector); i++ {
		switch selector[i] {
		case '\\':
			i++
		case ',':
			return selector[:i], selector[i+1:], true
		}
	}
	return selector, "", false
}

// unescape takes the backslashes off a field value; only \, = and the comma may and must be escaped.
func unescape(v string) (string, bool) {
	if !strings.ContainsAny(v, `\,=`) {
		return v, true
	}
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '\\':
			i++
			if i == len(v) || v[i] != '\\' && v[i] != ',' && v[i] != '=' {
				return "", false
			}
		case ',', '=':
			return "", false
		}
		b.WriteByte(v[i])
	}
	return b.String(), true
}
