package conformance

import (
	"strings"
	"testing"
	"time"
)

// parse decodes the JSON of a test table.
func parse(t *testing.T, text string) any {
	t.Helper()
	v, err := decodeJSON([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

// TestCompare checks that the replayer finds differences.
func TestCompare(t *testing.T) {
	for _, tt := range []struct {
		name, want, got string
		match           string
		found           []string // the beginning of each difference
	}{
		{"equal", `{"a":[1,{"b":null}]}`, `{"a":[1,{"b":null}]}`, "", nil},
		{"value", `{"a":[1,2]}`, `{"a":[1,3]}`, "", []string{"/a/1: want 2, got 3"}},
		{"spelling of a number", `1`, `1.0`, "", []string{": want 1, got 1.0"}},
		{"type", `{"a":"1"}`, `{"a":1}`, "", []string{`/a: want "1", got 1`}},
		{"missing", `{"a":1,"b":2}`, `{"a":1}`, "", []string{"/b: want 2, got <absent>"}},
		{"null is not absent", `{"a":null}`, `{}`, "", []string{"/a: want null, got <absent>"}},
		{"too much", `{}`, `{"a":1}`, "", []string{"/a: want <absent>, got 1"}},
		{"too long", `[1]`, `[1,2]`, "", []string{": want 1, got 2 elements"}},
		{"too short", `[1,2]`, `[1]`, "", []string{": want 2 elements"}},
		{"subset", `{"a":[1,3]}`, `{"a":[1,2,3],"b":1}`, matchSubset, nil},
		{"subset in another order", `[3,1]`, `[1,3]`, matchSubset, []string{"/1: want 1, got <absent>"}},
		{"no body counts", `1`, `2`, matchStatus, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			found := compare(&answer{Body: parse(t, tt.want)}, &answer{Body: parse(t, tt.got)}, tt.match)
			if len(found) != len(tt.found) {
				t.Fatalf("compare(%s, %s): got %q, want %q", tt.want, tt.got, found, tt.found)
			}
			for i := range found {
				if !strings.HasPrefix(found[i], tt.found[i]) {
					t.Errorf("compare(%s, %s): got %q, want %q", tt.want, tt.got, found[i], tt.found[i])
				}
			}
		})
	}
	for _, tt := range []struct {
		name      string
		want, got answer
	}{
		{"status", answer{Status: 200}, answer{Status: 201}},
		{"header", answer{Headers: map[string]string{"A": "b"}}, answer{Headers: map[string]string{"A": "c"}}},
		{"unwanted warning", answer{}, answer{Headers: map[string]string{"Warning": "w"}}},
		{"text", answer{BodyText: "a\nb"}, answer{BodyText: "a\nc"}},
		{"no text", answer{Body: map[string]any{}}, answer{BodyText: "x"}},
		{"events", answer{Events: []any{"a"}}, answer{Events: []any{"a", "b"}}},
		{"end", answer{End: "closed"}, answer{End: "timeout"}},
	} {
		if found := compare(&tt.want, &tt.got, ""); len(found) == 0 {
			t.Errorf("%s: no difference found", tt.name)
		}
	}
	if found := compare(&answer{}, &answer{Headers: map[string]string{"Date": "now"}}, ""); len(found) > 0 {
		t.Errorf("a header that was not recorded: got %q", found)
	}
}

func TestLevel(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	l := newLeveller(map[string]any{"ns": "ns-q12345", "id": "q12345", "short": "abc", "rv": "17", "n": 3})
	for _, tt := range []struct{ name, in, want string }{
		{"variables", `{"a-ns-q12345":"q12345/abc"}`, `{"a-${ns}":"${id}/abc"}`},
		{"revisions", `{"resourceVersion":"17","other":"17","x":{"resourceVersion":"0"}}`, `{"resourceVersion":"<rv>","other":"17","x":{"resourceVersion":"0"}}`},
		{"times", `["` + now + `","2001-01-01T00:00:00Z"]`, `["<time>","2001-01-01T00:00:00Z"]`},
		{"micro times", `"` + strings.Replace(now, "Z", ".123456Z", 1) + `"`, `"<microtime>"`},
		{"uid", `"no 6ba7b810-9dad-11d1-80b4-00c04fd430c8 is here"`, `"no <uid> is here"`},
		{"suffix", `{"generateName":"g-","name":"g-abcde"}`, `{"generateName":"g-","name":"g-<suffix>"}`},
		{"addresses", `{"clusterIP":"10.0.0.9","clusterIPs":["10.0.0.9","None"]}`, `{"clusterIP":"<ip>","clusterIPs":["<ip>","None"]}`},
		{"node ports", `[{"nodePort":30001},{"nodePort":80}]`, `[{"nodePort":"<nodePort>"},{"nodePort":80}]`},
		{"causes", `{"message":"bad: [b: x, a: y]","details":{"causes":[{"field":"b","message":"x"},{"field":"b","message":"x"},{"field":"a","message":"y"}]}}`,
			`{"message":"bad: [a: y, b: x]","details":{"causes":[{"field":"a","message":"y"},{"field":"b","message":"x"},{"field":"b","message":"x"}]}}`},
		{"table", `{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Age"},{"name":"Port(s)"}],"rows":[{"cells":["5m","5m","80:30001/TCP"]}]}`,
			`{"kind":"Table","columnDefinitions":[{"name":"Name"},{"name":"Age"},{"name":"Port(s)"}],"rows":[{"cells":["5m","<age>","80:<nodePort>/TCP"]}]}`},
	} {
		if got, want := compact(l.value(parse(t, tt.in))), compact(parse(t, tt.want)); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
	}
}

func TestOwners(t *testing.T) {
	now := time.Now().UTC().Format(time.RFC3339)
	l := newLeveller(nil)
	for _, tt := range []struct{ name, in, want string }{
		{"sorted by time", `[{"operation":"Apply","manager":"b","time":"2001-01-01T00:00:00Z"},{"operation":"Apply","manager":"a","time":"` + now + `"},{"operation":"Update","manager":"a"}]`,
			`[{"operation":"Apply","manager":"a","time":"<time>"},{"operation":"Apply","manager":"b","time":"2001-01-01T00:00:00Z"},{"operation":"Update","manager":"a"}]`},
		{"not sorted", `[{"manager":"a","time":"2002-01-01T00:00:00Z"},{"manager":"b","time":"2001-01-01T00:00:00Z"}]`,
			`[{"manager":"a","time":"2002-01-01T00:00:00Z"},{"manager":"b","time":"2001-01-01T00:00:00Z"},"not in order"]`},
	} {
		if got, want := compact(l.owners(parse(t, tt.in).([]any))), compact(parse(t, tt.want)); got != want {
			t.Errorf("%s: got %s, want %s", tt.name, got, want)
		}
	}
}

func TestPointer(t *testing.T) {
	doc := `{"a":{"b/c":[{"n":"x","m":{"k":"v"}},"s"]}}`
	for _, tt := range []struct{ pointer, want string }{
		{"", doc},
		{"/a/b~1c/1", `"s"`},
		{"/a/b~1c/[n=x]/m/k", `"v"`},
		{"/a/b~1c/[m.k=v]/n", `"x"`},
		{"/a/b~1c/[=s]", `"s"`},
		{"/a/b~1c/2", ""},
		{"/a/b~1c/[n=y]", ""},
		{"/x", ""},
	} {
		got, ok := at(parse(t, doc), tt.pointer)
		if ok != (tt.want != "") || ok && compact(got) != compact(parse(t, tt.want)) {
			t.Errorf("at(%s): got %s, %v, want %s", tt.pointer, compact(got), ok, tt.want)
		}
	}
	for _, tt := range []struct{ pointer, want string }{
		{"/a/b~1c/0", `{"a":{"b/c":["s"]}}`},
		{"/a/b~1c/*/n", `{"a":{"b/c":[{"m":{"k":"v"}},"s"]}}`},
		{"/a/b~1c/*", `{"a":{"b/c":[]}}`},
		{"/*/b~1c", `{"a":{}}`},
		{"/x/y", doc},
	} {
		if got, want := compact(without(parse(t, doc), segments(tt.pointer))), compact(parse(t, tt.want)); got != want {
			t.Errorf("without(%s): got %s, want %s", tt.pointer, got, want)
		}
	}
}
