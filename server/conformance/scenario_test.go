package conformance

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// scenario is a sequence of steps that does not depend on other objects of the server.
type scenario struct {
	Name       string `json:"name"`
	About      string `json:"about"`
	Namespaces int    `json:"namespaces"` // to create first; their names are ${ns}, ${ns2}, ...
	Steps      []step `json:"steps"`
}

// The types of steps. The type of a plain request is "".
const (
	waitUntil    = "wait-until"
	watchOpen    = "watch-open"
	watchCollect = "watch-collect"
)

// How a response is compared with the recorded one. "" compares everything.
const (
	matchSubset = "subset" // the response may have more fields than the recording
	matchStatus = "status" // the body is not compared
	matchOK     = "ok"     // any 2xx will do, because the step only prepares later steps
)

// step is a request, or takes events from an open watch.
type step struct {
	Type    string            `json:"type"`
	Note    string            `json:"note"`
	As      string            `json:"as"` // user, "" for admin
	Method  string            `json:"method"`
	Path    string            `json:"path"`
	Headers map[string]string `json:"headers"` // an empty value sends no such header
	Body    any               `json:"body"`    // a string is sent as it is
	Capture map[string]string `json:"capture"` // variable -> pointer, or "header:Name"

	Watch     string     `json:"watch"` // name of the stream
	Until     *condition `json:"until"`
	Count     int        `json:"count"`
	Unordered bool       `json:"unordered"`
	TimeoutMs int        `json:"timeoutMs"`

	Match  string   `json:"match"`
	Only   []string `json:"only"`
	Ignore []string `json:"ignore"`
	Text   bool     `json:"text"`
	Expect *answer  `json:"expect"`
}

// condition ends a wait. Fields that are empty do not matter.
type condition struct {
	Status  int    `json:"status"`
	Pointer string `json:"pointer"`
	Value   any    `json:"value"`
}

// answer is the result of a step, levelled out.
type answer struct {
	Status   int               `json:"status"`
	Headers  map[string]string `json:"headers"`
	Body     any               `json:"body"`
	BodyText string            `json:"bodyText"`
	Events   []any             `json:"events"`
	End      string            `json:"end"` // of a watch-collect: reached, timeout or closed
}

// title returns the name of a step for messages.
func (s *step) title(i int) string {
	what := s.Method + " " + s.Path
	switch {
	case s.Type == watchCollect:
		what = s.Watch
	case s.Method == "":
		what = s.Path
	}
	if s.Type != "" {
		what = s.Type + " " + what
	}
	return "step " + strconv.Itoa(i) + " (" + what + ")"
}

// scenarios reads all files of testdata/scenarios.
func scenarios(t *testing.T) []*scenario {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "scenarios", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios: %v", err)
	}
	var all []*scenario
	for _, name := range files {
		var file struct {
			Topic     string      `json:"topic"`
			Scenarios []*scenario `json:"scenarios"`
		}
		readJSON(t, name, &file)
		all = append(all, file.Scenarios...)
	}
	return all
}

// readJSON decodes a file. It fails for unknown fields, and keeps numbers as they are spelt.
func readJSON(t *testing.T, name string, into any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// decodeJSON decodes a body, and keeps numbers as they are spelt.
func decodeJSON(data []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	err := dec.Decode(&v)
	return v, err
}

// compact returns the JSON of a value, with sorted keys.
func compact(v any) string {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil { // never: v was decoded from JSON
		return err.Error()
	}
	return string(bytes.TrimSpace(b.Bytes()))
}

// keys returns the keys of m, sorted.
func keys[V any](m map[string]V) []string {
	list := make([]string, 0, len(m))
	for k := range m {
		list = append(list, k)
	}
	slices.Sort(list)
	return list
}
