package audittest

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Event is an audit event as a JSON value, with numbers as they are written.
type Event = map[string]any

// varying are the parts of strings that differ from run to run, wherever they stand, with what
// replaces them. The form of a time is kept apart: it has seconds or microseconds.
var varying = []struct {
	what *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z`), "MICROTIME"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`X509SHA256=[0-9a-f]{64}`), "X509SHA256=HASH"},
	{regexp.MustCompile(`eyJ[\w-]+\.[\w-]+\.[\w-]+`), "TOKEN"}, // of a service account
	{regexp.MustCompile(`([?&])continue=[\w%-]{20,}`), "${1}continue=CONTINUE"},
	{regexp.MustCompile(`([?&])resourceVersion=\d{2,}`), "${1}resourceVersion=VERSION"},
	{regexp.MustCompile(`too old resource version: 1 \(\d+\)`), "too old resource version: 1 (VERSION)"},
	{regexp.MustCompile(`(resourceVersion\\?":\\?")\d{2,}`), "${1}VERSION"}, // in the text of an object
	{regexp.MustCompile(`^(127\.0\.0|192\.0\.2)\.\d:\d{4,}$`), "ADDRESS"},   // of the server
	{regexp.MustCompile(`\bgen-[a-z0-9]{5}\b`), "gen-SUFFIX"},
	{regexp.MustCompile(`\bkube-api-access-[a-z0-9]{5}\b`), "kube-api-access-SUFFIX"},
	{regexp.MustCompile(`^\d+s$`), "AGE"},                            // a cell of a table
	{regexp.MustCompile(`in scheme "[\w./:]+"`), `in scheme "NAME"`}, // a place in the source
}

// varyingFields are the fields whose values differ from run to run, with what replaces a value of
// the form.
var varyingFields = map[string]struct {
	what *regexp.Regexp
	with string
}{
	"resourceVersion": {regexp.MustCompile(`^\d{2,}$`), "VERSION"},
	"continue":        {regexp.MustCompile(`^[\w-]{20,}$`), "CONTINUE"},
}

// latencies begin the names of annotations of slow requests. Which requests are slow depends on the
// machine.
const latencies = "apiserver.latency.k8s.io/"

// normalized returns a JSON value without what differs from run to run. field is its name in the
// object around it.
func normalized(field string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name, inner := range v {
			if strings.HasPrefix(name, latencies) {
				delete(v, name)
				continue
			}
			v[name] = normalized(name, inner)
		}
	case []any:
		for i := range v {
			v[i] = normalized(field, v[i])
		}
	case string:
		if f, ok := varyingFields[field]; ok && f.what.MatchString(v) {
			return f.with
		}
		for _, part := range varying {
			v = part.what.ReplaceAllString(v, part.with)
		}
		return v
	}
	return value
}

// Parse returns the events of the session in an audit log, normalized, in the order of their audit
// IDs. It leaves out events of other requests.
func (s *Session) Parse(t testing.TB, log io.Reader) (events []Event) {
	t.Helper()
	for lines := bufio.NewReader(log); ; {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			break
		}
		if err != nil {
			t.Fatalf("the log ends with %q: %v", line, err)
		}
		var e Event
		d := json.NewDecoder(bytes.NewReader(line))
		d.UseNumber()
		if err := d.Decode(&e); err != nil {
			t.Errorf("%v in %q", err, line)
			continue
		}
		if _, _, ok := s.step(fmt.Sprint(e["auditID"])); ok {
			events = append(events, normalized("", e).(Event))
		}
	}
	slices.SortStableFunc(events, func(a, b Event) int {
		return strings.Compare(fmt.Sprint(a["auditID"]), fmt.Sprint(b["auditID"]))
	})
	return events
}

// ReadEvents reads what WriteEvents has written.
func (s *Session) ReadEvents(t testing.TB, file string) []Event {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	return s.Parse(t, z)
}

// WriteEvents writes events into a compressed file, one a line.
func WriteEvents(t testing.TB, file string, events []Event) {
	t.Helper()
	var text bytes.Buffer
	z, err := gzip.NewWriterLevel(&text, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	encoder := json.NewEncoder(z)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		if err := encoder.Encode(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}
