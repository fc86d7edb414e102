package conformance

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// errorCase is one request with its response. The cases are played in order, because they share a
// namespace.
type errorCase struct {
	ID      string `json:"id"`
	Method  string `json:"method"`
	Path    string `json:"path"`
	Request struct {
		User        string            `json:"user"` // "(none)" and "(invalid token)" stand for no user
		ContentType string            `json:"contentType"`
		Accept      string            `json:"accept"`
		Headers     map[string]string `json:"headers"`
		Body        any               `json:"body"` // a string describes the body that bodies makes
		BodyText    string            `json:"bodyText"`
		BodyHex     string            `json:"bodyHex"`
	} `json:"request"`

	Code            int            `json:"code"`
	ResponseHeaders map[string]any `json:"responseHeaders"` // a value, or a list of them
	Body            any            `json:"body"`
	BodyText        *string        `json:"bodyText"`
	BodyKind        string         `json:"bodyKind"`        // the kind of a success; the rest of its body is not recorded
	BodyNote        string         `json:"bodyNote"`        // says that the body is not recorded
	WatchEvents     []any          `json:"watchEvents"`     // not compared: they are events of the recorder's objects
	WatchEventCount string         `json:"watchEventCount"` // likewise
}

// bodies makes the bodies that the recording only describes, because they are large, and the bodies
// in which the order of fields matters.
var bodies = map[string]func() string{
	"invalid-annotation-size": func() string {
		return configMap(`"metadata":{"name":"ann","annotations":{"a":"` + strings.Repeat("a", 262144) + `"}}`)
	},
	"body-too-large": func() string { return configMap(`"data":{"k":"` + strings.Repeat("a", 3145728) + `"}`) },
	"configmap-too-large": func() string {
		return configMap(`"metadata":{"name":"big"},"data":{"k":"` + strings.Repeat("a", 1048577) + `"}`)
	},
	"max-depth-json": func() string {
		return configMap(`"metadata":{"name":"deep"},"x":` + strings.Repeat("[", 10001) + strings.Repeat("]", 10001))
	},
	"max-depth-json-100k": func() string {
		return configMap(`"metadata":{"name":"deep"},"x":` + strings.Repeat(`{"x":`, 100000) + "1" + strings.Repeat("}", 100000))
	},
	"unknown-field-strict": func() string { return configMap(`"metadata":{"name":"uf","bogusMeta":1},"data":{"k":"v"},"bogus":1`) },
	"unknown-field-warn":   func() string { return configMap(`"metadata":{"name":"uf","bogusMeta":1},"data":{"k":"v"},"bogus":1`) },
	"patch-too-many-ops": func() string {
		return "[" + strings.Repeat(`{"op":"test","path":"/data/k","value":"v"},`, 10000) + `{"op":"test","path":"/data/k","value":"v"}]`
	},
}

func configMap(rest string) string {
	return `{"apiVersion":"v1","kind":"ConfigMap",` + rest + `}`
}

// errorDifferences has the intended differences, by case.
var errorDifferences = map[string]difference{
	"rv-set-on-create":          {400, meta.StatusReasonBadRequest},
	"rv-malformed-on-update":    {400, meta.StatusReasonBadRequest},
	"bad-resourceversion-get":   {400, meta.StatusReasonBadRequest},
	"bad-resourceversion-watch": {400, meta.StatusReasonBadRequest},
}

// existing are the objects that must exist before the cases: kind, namespace, name and the rest of
// the object.
var existing = []struct{ resource, namespace, name, rest string }{
	{"namespaces", "", "facts", ""},
	{"namespaces", "", "facts-term", ""},
	{"configmaps", "facts", "a", `,"data":{"k":"v"}`},
	{"configmaps", "facts", "imm", `,"data":{"k":"v"},"immutable":true`},
	{"configmaps", "facts-term", "keep", ""},
	{"secrets", "facts", "sec", ""},
	{"pods", "facts", "p", `,"spec":{"containers":[{"name":"c","image":"i"}]}`},
	{"services", "facts", "s", `,"spec":{"selector":{"a":"b"},"ports":[{"port":80}]}`},
}

// TestErrors plays the cases of testdata/errors.json.
func TestErrors(t *testing.T) { playErrors(t, engines[:1]) }

func playErrors(t *testing.T, engines []engine) {
	for _, engine := range engines {
		t.Run(engine.name, func(t *testing.T) {
			t.Parallel()
			p := newPlayer(t, start(t, engine.config(t)))
			p.agent = "" // the cases were recorded without a User-Agent
			prepareErrors(t, p)
			var file struct {
				Cases []errorCase `json:"cases"`
			}
			readJSON(t, filepath.Join("testdata", "errors.json"), &file)
			for _, c := range file.Cases {
				t.Run(c.ID, func(t *testing.T) { playCase(t, p, &c) })
			}
		})
	}
}

func prepareErrors(t *testing.T, p *player) {
	t.Helper()
	ok := func(s *step) {
		if r, err := p.send(t.Context(), s); err != nil || r.status/100 != 2 {
			t.Fatalf("%s %s: %v, %+v", s.Method, s.Path, err, r)
		}
	}
	for _, e := range existing {
		path := "/api/v1/" + e.resource
		if e.namespace != "" {
			path = "/api/v1/namespaces/" + e.namespace + "/" + e.resource
		}
		ok(&step{Method: "POST", Path: path, Body: `{"metadata":{"name":"` + e.name + `"}` + e.rest + `}`})
	}
	ok(&step{Method: "DELETE", Path: "/api/v1/namespaces/facts-term"})
}

// step converts a case to a step of a scenario.
func (c *errorCase) step() (*step, error) {
	s := &step{Method: c.Method, Path: c.Path, Headers: map[string]string{}, Expect: &answer{Status: c.Code, Headers: map[string]string{}}}
	switch c.Request.User {
	case "(none)":
		s.As = "anonymous"
	case "(invalid token)":
		s.As = "bad"
	default:
		s.As = c.Request.User
	}
	for name, value := range c.Request.Headers {
		s.Headers[name] = value
	}
	s.Headers["Content-Type"] = c.Request.ContentType
	if c.Request.Accept != "" {
		s.Headers["Accept"] = c.Request.Accept
	}
	made := bodies[c.ID]
	_, described := c.Request.Body.(string)
	switch {
	case described && made == nil:
		return nil, fmt.Errorf("the body is described as %v", c.Request.Body)
	case made != nil:
		s.Body = made()
	case c.Request.BodyHex != "":
		data, err := hex.DecodeString(c.Request.BodyHex)
		if err != nil {
			return nil, err
		}
		s.Body = string(data)
	case c.Request.BodyText != "":
		s.Body = c.Request.BodyText
	default:
		s.Body = c.Request.Body
	}
	for name, value := range c.ResponseHeaders {
		if list, ok := value.([]any); ok {
			var lines []string
			for _, v := range list {
				lines = append(lines, fmt.Sprint(v))
			}
			value = strings.Join(lines, "\n")
		}
		s.Expect.Headers[name] = fmt.Sprint(value)
	}
	s.Expect.Body = newLeveller(nil).value(c.Body)
	switch {
	case c.Path == "/version":
		s.Match = matchStatus // the body differs between builds
	case c.BodyText != nil:
		s.Text, s.Expect.BodyText = true, *c.BodyText
	case c.BodyKind != "":
		s.Only, s.Expect.Body = []string{"/kind"}, map[string]any{"/kind": c.BodyKind}
	case c.Body == nil:
		s.Match = matchStatus
	}
	if d, ok := errorDifferences[c.ID]; ok {
		d.apply(s.Expect)
	}
	return s, nil
}

func playCase(t *testing.T, p *player, c *errorCase) {
	s, err := c.step()
	if err != nil {
		t.Fatal(err)
	}
	r, err := p.send(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.observe(s, r)
	if err != nil {
		t.Fatal(err)
	}
	got.Body = levelSuffix(got.Body)
	if found := compare(s.Expect, got, s.Match); len(found) > 0 {
		t.Errorf("%s %.150s\n\t%s", c.Method, c.Path, strings.Join(found, "\n\t"))
	}
}

// levelSuffix replaces the suffix of a name that was generated and refused.
func levelSuffix(v any) any {
	switch v := v.(type) {
	case string:
		return generated.ReplaceAllString(v, "Bad_<rand5>")
	case []any:
		for i := range v {
			v[i] = levelSuffix(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = levelSuffix(v[k])
		}
	}
	return v
}

var generated = regexp.MustCompile(`\bBad_[a-z0-9]{5}\b`)
