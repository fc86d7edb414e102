package inspect_test

import (
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/coracle-project/coracle/server/servertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends a request with the given headers, names and values in turn, and returns the answer.
func ask(t testing.TB, s *servertest.Server, method, path, body string, header ...string) (code int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := s.Client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// scrape returns a page of metrics.
func scrape(t testing.TB, s *servertest.Server, path string) string {
	t.Helper()
	code, text := ask(t, s, "GET", path, "")
	if code != http.StatusOK {
		t.Fatalf("%s: got %d %s", path, code, text)
	}
	return text
}

// family is what a page of metrics shows of a family.
type family struct {
	Type    string
	labels  map[string]bool // without le
	buckets map[string]bool
	series  int // with the buckets of histograms
}

var (
	sampleLine = regexp.MustCompile(`^([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? [^ ]+$`)
	labelPair  = regexp.MustCompile(`([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"`)
)

// families reads a page of metrics.
func families(t testing.TB, text string) map[string]*family {
	t.Helper()
	found := map[string]*family{}
	var now *family
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if words := strings.Fields(line); line[0] == '#' {
			if words[1] == "TYPE" {
				now = &family{Type: words[3], labels: map[string]bool{}, buckets: map[string]bool{}}
				found[words[2]] = now
			}
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil || now == nil {
			t.Fatalf("the line is no sample: %q", line)
		}
		now.series++
		for _, pair := range labelPair.FindAllStringSubmatch(m[2], -1) {
			if pair[1] == "le" {
				now.buckets[pair[2]] = true
			} else {
				now.labels[pair[1]] = true
			}
		}
	}
	return found
}
