package differential

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
)

// answer is the answer of a server to a request.
type answer struct {
	Code     int
	Warnings []string
	Body     map[string]any
}

// ask sends a request to a handler and reads its answer.
func ask(h http.Handler, method, url string, body []byte) answer {
	return askFor(h, method, url, body, "application/json")
}

// askFor is ask for an answer of a media type.
func askFor(h http.Handler, method, url string, body []byte, accept string) answer {
	return send(h, method, url, body, "application/json", accept)
}

// send is ask with the media types of the body and of the answer.
func send(h http.Handler, method, url string, body []byte, form, accept string) answer {
	r := httptest.NewRequest(method, url, bytes.NewReader(body))
	r.Header.Set("Content-Type", form)
	r.Header.Set("Accept", accept)
	r.Header.Set("User-Agent", "differential")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	a := answer{Code: w.Code, Warnings: w.Header().Values("Warning")}
	if err := decode(w.Body.Bytes(), &a.Body); err != nil {
		a.Body = map[string]any{"unreadable": w.Body.String()}
	}
	return a
}

func (a answer) accepted() bool { return a.Code/100 == 2 }

// causes are the causes of a Status, in order.
func (a answer) causes() []string {
	details, _ := a.Body["details"].(map[string]any)
	list, _ := details["causes"].([]any)
	var out []string
	for _, c := range list {
		c, _ := c.(map[string]any)
		field, _ := c["field"].(string)
		reason, _ := c["reason"].(string)
		message, _ := c["message"].(string)
		out = append(out, field+": "+reason+": "+message)
	}
	return out
}

// settle removes the parts of an answer that differ by chance or by clock.
func (a answer) settle() {
	m, _ := a.Body["metadata"].(map[string]any)
	for _, field := range []string{"uid", "creationTimestamp", "resourceVersion"} {
		delete(m, field)
	}
	entries, _ := m["managedFields"].([]any)
	for _, e := range entries {
		delete(e.(map[string]any), "time")
	}
	slices.SortFunc(entries, func(a, b any) int { return bytes.Compare(encode(a), encode(b)) }) // servers sort them by time
}

// plainEnd is the end of a text that looks the same in every quoted form.
var plainEnd = regexp.MustCompile(`[ !#-%'-;=?-\[\]-~]*$`)

// escaped matches an escape sequence before the random end of a name, if there is one. It keeps the
// letters of the sequence, as in \n, from being taken for letters of the random end.
const escaped = `(?:\\+(?:[abfnrtv]|x[0-9a-f]{2}|u[0-9a-f]{4}))?`

// generatedName finds the random end of a name that a server made.
func generatedName(request map[string]any) *regexp.Regexp {
	m, _ := request["metadata"].(map[string]any)
	base, _ := m["generateName"].(string)
	if name, _ := m["name"].(string); base == "" || name != "" {
		return nil
	}
	before := escaped
	if end := plainEnd.FindString(base[:min(len(base), 58)]); end != "" {
		before = regexp.QuoteMeta(end)
	}
	return regexp.MustCompile(before + "[bcdfghjklmnpqrstvwxz2456789]{5}")
}

// generatedUID finds UIDs, which servers make up.
var generatedUID = regexp.MustCompile(`\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b`)

// schemeName finds the name that a server gives its scheme.
var schemeName = regexp.MustCompile(`in scheme (\\+")[^"\\]*\\+"`)

// withoutGenerated returns a with constants in place of generated names, names of schemes, and
// UIDs, which jobs have in their labels.
func (a answer) withoutGenerated(generated *regexp.Regexp) answer {
	text := generatedUID.ReplaceAll(encode(a.Body), []byte("UID"))
	text = schemeName.ReplaceAll(text, []byte("in scheme ${1}SCHEME$1"))
	if generated != nil {
		text = generated.ReplaceAll(text, []byte("GENERATED"))
	}
	a.Body = nil
	if err := decode(text, &a.Body); err != nil {
		panic(err)
	}
	return a
}

// decode reads JSON with numbers as they are written.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	return d.Decode(v)
}

func encode(v any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return bytes.TrimSpace(b.Bytes())
}

func indent(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(v); err != nil {
		panic(err)
	}
	return b.String()
}

// tree converts a value to a JSON tree, which shares nothing with v.
func tree(v any) any {
	var out any
	if err := decode(encode(v), &out); err != nil {
		panic(err)
	}
	return out
}

// difference walks two trees and calls report with the path of each place where they differ.
func difference(path string, theirs, ours any, report func(path string, theirs, ours any)) {
	switch a := theirs.(type) {
	case map[string]any:
		b, ok := ours.(map[string]any)
		if !ok {
			break
		}
		for _, key := range keys(a, b) {
			difference(path+"."+key, a[key], b[key], report)
		}
		return
	case []any:
		b, ok := ours.([]any)
		if !ok || len(a) != len(b) {
			break
		}
		for i := range a {
			difference(path+"[*]", a[i], b[i], report)
		}
		return
	}
	if !bytes.Equal(encode(theirs), encode(ours)) {
		report(strings.TrimPrefix(path, "."), theirs, ours)
	}
}

func keys(maps ...map[string]any) []string {
	var list []string
	for _, m := range maps {
		for key := range m {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
