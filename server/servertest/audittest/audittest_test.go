package audittest

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// session has two steps.
var session = &Session{Steps: []Step{{Name: "one"}, {Name: "two"}}}

func parsed(t *testing.T, lines ...string) []Event {
	t.Helper()
	text := ""
	for _, line := range lines {
		text += line + "\n"
	}
	return session.Parse(t, strings.NewReader(text))
}

// TestCompare compares events that differ in a field, or that only one side has.
func TestCompare(t *testing.T) {
	const first = `{"auditID":"001-request","stage":"RequestReceived","verb":"get"}`
	for _, tt := range []struct {
		name      string
		got, want []string
		paths     []string // of the differences, each after the audit ID and the stage
	}{
		{"equal", []string{first}, []string{first}, nil},
		{"in another order of audit IDs", []string{`{"auditID":"002-request","stage":"Panic"}`, first},
			[]string{first, `{"auditID":"002-request","stage":"Panic"}`}, nil},
		{"a value", []string{first}, []string{strings.Replace(first, "get", "list", 1)}, []string{"001-request RequestReceived verb"}},
		{"an event is missing", nil, []string{first}, []string{"001-request RequestReceived "}},
		{"an event twice", []string{first, first}, []string{first}, []string{"001-request RequestReceived "}},
		{"an event at the level none", []string{`{"auditID":"001-none","stage":"Panic"}`}, nil, []string{"001-none Panic "}},
		{"another request", []string{`{"auditID":"other","stage":"Panic"}`, `{"auditID":"003-request","stage":"Panic"}`}, nil, nil},
		{"null is not nothing", []string{`{"auditID":"001-request","stage":"Panic","user":{"a":null}}`},
			[]string{`{"auditID":"001-request","stage":"Panic","user":{}}`}, []string{"001-request Panic user.a"}},
		{"in a list", []string{`{"auditID":"001-request","stage":"Panic","l":[1,{"a":1.0}]}`},
			[]string{`{"auditID":"001-request","stage":"Panic","l":[1,{"a":1}]}`}, []string{"001-request Panic l[1].a"}},
		{"lists of different lengths", []string{`{"auditID":"001-request","stage":"Panic","l":[1]}`},
			[]string{`{"auditID":"001-request","stage":"Panic","l":[1,2]}`}, []string{"001-request Panic l"}},
		{"times, ids and latencies", []string{`{"auditID":"001-request","stage":"Panic","t":"2026-11-28T19:00:00.123456Z",
			"uid":"6ba7b810-9dad-41d1-80b4-00c04fd430c8","resourceVersion":"17","annotations":{"apiserver.latency.k8s.io/total":"1s"}}`},
			[]string{`{"auditID":"001-request","stage":"Panic","t":"2025-01-02T03:04:05.000000Z",
			"uid":"7ba7b810-9dad-41d1-80b4-00c04fd430c8","resourceVersion":"300","annotations":{}}`}, nil},
		{"the form of a time", []string{`{"auditID":"001-request","stage":"Panic","t":"2026-11-28T19:00:00Z"}`},
			[]string{`{"auditID":"001-request","stage":"Panic","t":"2026-11-28T19:00:00.000000Z"}`}, []string{"001-request Panic t"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			oneLine := strings.NewReplacer("\n", "", "\t", "")
			for _, lines := range [][]string{tt.got, tt.want} {
				for i := range lines {
					lines[i] = oneLine.Replace(lines[i])
				}
			}
			var paths []string
			for _, d := range session.Compare(parsed(t, tt.got...), parsed(t, tt.want...)) {
				paths = append(paths, fmt.Sprint(d.ID, " ", d.Stage, " ", d.Path))
			}
			if !slices.Equal(paths, tt.paths) {
				t.Errorf("Compare: got differences at %q, want %q", paths, tt.paths)
			}
		})
	}
}

// TestWriteEvents reads events back that were written.
func TestWriteEvents(t *testing.T) {
	file := filepath.Join(t.TempDir(), EventFile)
	events := parsed(t, `{"auditID":"001-request","stage":"Panic","n":1.50,"s":"<&>"}`)
	WriteEvents(t, file, events)
	if d := session.Compare(session.ReadEvents(t, file), events); len(d) > 0 {
		t.Errorf("got differences %v", d)
	}
}
