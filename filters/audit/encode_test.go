package audit_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/filters/audit"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// received is when the events of the tests were received; their stages are 2,345,678 ns later.
var received = time.Date(2026, 3, 4, 5, 6, 7, 8009, time.FixedZone("", 2*60*60))

// get returns the event of a get of a config map, as the log has it at level Metadata.
func get() *audit.Event {
	return &audit.Event{
		Level: audit.Metadata, Stage: audit.ResponseComplete, AuditID: "6f3f4f0c-3c1d-4b55-8f0c-0f1a2b3c4d5e",
		RequestURI: "/api/v1/namespaces/default/configmaps/a?x=1&y=2", Verb: "get",
		User: &request.User{
			Name: "system:serviceaccount:kube-system:a", UID: "1-2",
			Groups: []string{"system:serviceaccounts", "system:authenticated"},
		},
		SourceIPs: []string{"10.0.0.1", "::1"}, UserAgent: "kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef",
		Object:   &audit.Reference{Resource: "configmaps", Namespace: "default", Name: "a", APIVersion: "v1"},
		Status:   &meta.Status{Code: 200},
		Received: received, Time: received.Add(2345678),
	}
}

// full returns an event in which everything is set.
func full() *audit.Event {
	e := get()
	e.Level, e.Stage = audit.RequestResponse, audit.Panic
	e.User.Extra = map[string][]string{"scopes": {"b", "a"}, "no": nil, "empty": {}}
	e.Impersonated, e.Constraint = &request.User{Name: "<bob>", Groups: []string{`"g"`, "h"}}, "impersonate:user-info"
	e.Object = &audit.Reference{
		Resource: "deployments", Namespace: "n", Name: "d", UID: "u", APIGroup: "apps", APIVersion: "v1",
		ResourceVersion: "7", Subresource: "scale",
	}
	e.Status = &meta.Status{
		ListMeta: meta.ListMeta{ResourceVersion: "not recorded"},
		Status:   meta.StatusFailure, Message: "it is\n\"wrong\" \u2028\xff", Reason: meta.StatusReasonInvalid, Code: 422,
		Details: &meta.StatusDetails{
			Name: "d", Group: "apps", Kind: "Deployment", UID: "u", RetryAfterSeconds: 3,
			Causes: []meta.StatusCause{{Type: meta.CauseTypeFieldValueInvalid, Message: "m", Field: "spec"}, {}},
		},
	}
	e.RequestObject = []byte(" {\"a\": \"<&>\u2029\",\n\"b\" : [1.50, null] }\n")
	e.ResponseObject = []byte(`"\u003c\/"`)
	e.Annotations = map[string]string{"b/b": "<1>", "a/a": "", "c": "3"}
	return e
}

// TestAppendJSON: the lines of two events, in the form of kube-apiserver's log.
func TestAppendJSON(t *testing.T) {
	for _, tt := range []struct {
		name string
		e    *audit.Event
		want string
	}{
		{"get", get(), `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"6f3f4f0c-3c1d-4b55-8f0c-0f1a2b3c4d5e",` +
			`"stage":"ResponseComplete","requestURI":"/api/v1/namespaces/default/configmaps/a?x=1\u0026y=2","verb":"get",` +
			`"user":{"username":"system:serviceaccount:kube-system:a","uid":"1-2","groups":["system:serviceaccounts","system:authenticated"]},` +
			`"sourceIPs":["10.0.0.1","::1"],"userAgent":"kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef",` +
			`"objectRef":{"resource":"configmaps","namespace":"default","name":"a","apiVersion":"v1"},` +
			`"responseStatus":{"metadata":{},"code":200},` +
			`"requestReceivedTimestamp":"2026-03-04T03:06:07.000008Z","stageTimestamp":"2026-03-04T03:06:07.002353Z"}`},
		{"everything", full(), `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"RequestResponse","auditID":"6f3f4f0c-3c1d-4b55-8f0c-0f1a2b3c4d5e",` +
			`"stage":"Panic","requestURI":"/api/v1/namespaces/default/configmaps/a?x=1\u0026y=2","verb":"get",` +
			`"user":{"username":"system:serviceaccount:kube-system:a","uid":"1-2","groups":["system:serviceaccounts","system:authenticated"],` +
			`"extra":{"empty":[],"no":null,"scopes":["b","a"]}},` +
			`"impersonatedUser":{"username":"\u003cbob\u003e","groups":["\"g\"","h"]},` +
			`"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},` +
			`"sourceIPs":["10.0.0.1","::1"],"userAgent":"kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef",` +
			`"objectRef":{"resource":"deployments","namespace":"n","name":"d","uid":"u","apiGroup":"apps","apiVersion":"v1",` +
			`"resourceVersion":"7","subresource":"scale"},` +
			`"responseStatus":{"metadata":{},"status":"Failure","message":"it is\n\"wrong\" \u2028\ufffd","reason":"Invalid",` +
			`"details":{"name":"d","group":"apps","kind":"Deployment","uid":"u",` +
			`"causes":[{"reason":"FieldValueInvalid","message":"m","field":"spec"},{}],"retryAfterSeconds":3},"code":422},` +
			`"requestObject":{"a":"\u003c\u0026\u003e\u2029","b":[1.50,null]},"responseObject":"\u003c\/",` +
			`"requestReceivedTimestamp":"2026-03-04T03:06:07.000008Z","stageTimestamp":"2026-03-04T03:06:07.002353Z",` +
			`"annotations":{"a/a":"","b/b":"\u003c1\u003e","c":"3"}}`},
		{"nothing", &audit.Event{}, `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"None","auditID":"","stage":"RequestReceived",` +
			`"requestURI":"","verb":"","user":{},"requestReceivedTimestamp":null,"stageTimestamp":null}`},
	} {
		if got := string(tt.e.AppendJSON([]byte("> "), false)); got != "> "+tt.want {
			t.Errorf("%s: got\n%s, want\n> %s", tt.name, got, tt.want)
		}
		listed := strings.Replace(tt.want, `"kind":"Event","apiVersion":"audit.k8s.io/v1",`, "", 1)
		if got := string(tt.e.AppendJSON(nil, true)); got != listed {
			t.Errorf("%s, listed: got\n%s, want\n%s", tt.name, got, listed)
		}
	}
}

// TestAppendList: a list holds its events as they are listed.
func TestAppendList(t *testing.T) {
	for n := range 3 {
		events := []*audit.Event{get(), full()}[:n]
		var items []string
		for _, e := range events {
			items = append(items, string(e.AppendJSON(nil, true)))
		}
		want := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[` + strings.Join(items, ",") + `]}`
		if got := string(audit.AppendList(nil, events)); got != want {
			t.Errorf("%d events: got\n%s, want\n%s", n, got, want)
		}
	}
}

// TestAppendLegacy: what the format legacy tells, and what it says in the place of what is absent.
func TestAppendLegacy(t *testing.T) {
	nameless := get()
	nameless.User, nameless.Impersonated = &request.User{Groups: []string{"g"}}, &request.User{Groups: []string{}}
	lookup := full()
	lookup.Impersonated = &request.User{Name: "bob"}
	const start = `2026-03-04T05:06:07.000008009+02:00 AUDIT: id="6f3f4f0c-3c1d-4b55-8f0c-0f1a2b3c4d5e" `
	const who = `ip="10.0.0.1" method="get" user="system:serviceaccount:kube-system:a" ` +
		`groups="\"system:serviceaccounts\",\"system:authenticated\"" `
	const uri = `uri="/api/v1/namespaces/default/configmaps/a?x=1&y=2" `
	const agent = `user-agent="kubectl/v1.36.0 (linux/amd64) kubernetes/abcdef" `
	for _, tt := range []struct {
		name string
		e    *audit.Event
		want string
	}{
		{"get", get(), start + `stage="ResponseComplete" ` + who + `as="<self>" asgroups="<lookup>" ` + agent + `namespace="default" ` + uri + `response="200"`},
		{"everything", full(), start + `stage="Panic" ` + who + `as="<bob>" asgroups="\"\\\"g\\\"\",\"h\"" ` + agent + `namespace="n" ` + uri + `response="422"`},
		{"groups that are looked up", lookup, start + `stage="Panic" ` + who + `as="bob" asgroups="<lookup>" ` + agent + `namespace="n" ` + uri + `response="422"`},
		{"no names", nameless, start + `stage="ResponseComplete" ip="10.0.0.1" method="get" user="<none>" groups="<none>" as="" asgroups="" ` +
			agent + `namespace="default" ` + uri + `response="200"`},
		{"nothing", &audit.Event{}, `0001-01-01T00:00:00Z AUDIT: id="" stage="RequestReceived" ip="<unknown>" method="" user="<none>" groups="<none>" ` +
			`as="<self>" asgroups="<lookup>" user-agent="" namespace="<none>" uri="" response="<deferred>"`},
	} {
		if got := string(tt.e.AppendLegacy([]byte("> "))); got != "> "+tt.want {
			t.Errorf("%s: got\n%s, want\n> %s", tt.name, got, tt.want)
		}
	}
}

// TestStrings: texts and objects of all sorts are written as encoding/json writes them.
func TestStrings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	alphabet := []rune("ab<>&\"\\\x00\n\t\u2028\u2029é世😀\ufffd/ ")
	text := func() string {
		var b []rune
		for range rnd.IntN(8) {
			b = append(b, alphabet[rnd.IntN(len(alphabet))])
		}
		if rnd.IntN(4) == 0 {
			return string(b) + "\xff\xc3"
		}
		return string(b)
	}
	for range 10_000 {
		uri, note := text(), map[string]string{text(): text(), text(): text(), text(): text()}
		var object bytes.Buffer
		enc := json.NewEncoder(&object)
		enc.SetEscapeHTML(rnd.IntN(2) == 0)
		enc.SetIndent("", strings.Repeat(" ", rnd.IntN(3)))
		if err := enc.Encode(note); err != nil {
			t.Fatal(err)
		}
		e := &audit.Event{RequestURI: uri, Annotations: note, RequestObject: object.Bytes()}
		line := e.AppendJSON(nil, false)
		quoted, _ := json.Marshal(uri)
		notes, _ := json.Marshal(note)
		for _, want := range []string{
			fmt.Sprintf(`"requestURI":%s,"verb"`, quoted), fmt.Sprintf(`"annotations":%s}`, notes),
			fmt.Sprintf(`"requestObject":%s,"requestReceivedTimestamp"`, notes),
		} {
			if !bytes.Contains(line, []byte(want)) {
				t.Fatalf("got\n%s, want it to contain\n%s", line, want)
			}
		}
	}
}

// TestForgery: a patch that is not JSON becomes a string, and cannot forge a line.
func TestForgery(t *testing.T) {
	for _, text := range []string{
		"", " ", "{", `{"a":1}}`, `{"a":1} {"b":2}`, `"x`, "a: 1\nb: 2\n", "\"\n{\"kind\":\"Event\"}\n\"", `{"a":1},"annotations":{"b":"c"}`, "nul", "\xff",
		strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000),
	} {
		line := (&audit.Event{RequestObject: []byte(text)}).AppendJSON(nil, false)
		var e struct {
			RequestObject any
			Annotations   map[string]string
		}
		if err := json.Unmarshal(line, &e); err != nil || bytes.ContainsRune(line, '\n') {
			t.Errorf("%q: %v: %q", text, err, line)
		}
		if want := strings.ToValidUTF8(text, "\ufffd"); e.RequestObject != want || e.Annotations != nil {
			t.Errorf("%q: got %v and %v, want a string", text, e.RequestObject, e.Annotations)
		}
	}
}

// TestMaps: more keys than are sorted in place.
func TestMaps(t *testing.T) {
	notes := map[string]string{}
	for i := range 100 {
		notes[fmt.Sprint(i)] = "x"
	}
	want, _ := json.Marshal(notes)
	e := &audit.Event{Annotations: notes}
	if got := e.AppendJSON(nil, false); !bytes.Contains(got, want) {
		t.Errorf("got %s, want it to contain %s", got, want)
	}
}

// TestEncodeAllocs: encoding allocates nothing but room, up to 16 annotations.
func TestEncodeAllocs(t *testing.T) {
	dst := make([]byte, 0, 16<<10)
	plain, all := get(), full()
	for name, f := range map[string]func(){
		"Metadata":   func() { plain.AppendJSON(dst, false) },
		"everything": func() { all.AppendJSON(dst, false) },
		"list":       func() { audit.AppendList(dst, []*audit.Event{plain, all}) },
	} {
		if got := testing.AllocsPerRun(100, f); got > 0 {
			t.Errorf("%s: got %v allocations, want 0", name, got)
		}
	}
	// The lists of groups are quoted twice, once as groups and once as a text.
	if got := testing.AllocsPerRun(100, func() { plain.AppendLegacy(dst) }); got > 8 {
		t.Errorf("legacy: got %v allocations, want at most 8", got)
	}
}

func BenchmarkEncode(b *testing.B) {
	dst := make([]byte, 0, 16<<10)
	plain, all := get(), full()
	plain.Annotations = map[string]string{
		"authorization.k8s.io/decision": "allow",
		"authorization.k8s.io/reason":   `RBAC: allowed by ClusterRoleBinding "a" of ClusterRole "view" to Group "g"`,
	}
	for _, bb := range []struct {
		name string
		f    func() []byte
	}{
		{"form=json", func() []byte { return plain.AppendJSON(dst, false) }},
		{"form=json/event=full", func() []byte { return all.AppendJSON(dst, false) }},
		{"form=legacy", func() []byte { return plain.AppendLegacy(dst) }},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = len(bb.f())
			}
			b.SetBytes(int64(n))
		})
	}
}
