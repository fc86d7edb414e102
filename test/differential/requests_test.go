package differential

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// storedRequest is a request to which the two sides once gave different answers, as TestWrites and
// TestPatches print it with BODIES=1.
type storedRequest struct {
	Row    string          `json:"row"` // as Row.String has it
	Method string          `json:"method"`
	URL    string          `json:"url"` // with the options of a patch
	Form   string          `json:"form,omitempty"`
	Body   json.RawMessage `json:"body"`
}

// stored is a trial as testdata/requests has it.
func (tr trial) stored(row Row) storedRequest {
	body := encode(tr.body)
	if tr.method == http.MethodPatch {
		body = encode(tr.body["patch"])
	}
	return storedRequest{row.String(), tr.method, tr.url, tr.form(), body}
}

// TestStoredRequests sends the requests in testdata/requests, whatever the seed is.
func TestStoredRequests(t *testing.T) {
	files, err := filepath.Glob("testdata/requests/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stored requests: %v", err)
	}
	c := newCourt(t)
	stored := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			var s storedRequest
			if err := decode(must1(os.ReadFile(file)), &s); err != nil {
				t.Fatal(err)
			}
			row := rows[slices.IndexFunc(rows, func(r Row) bool { return r.String() == s.Row })]
			if more := row.stored(t); !stored[s.Row] {
				for i, example := range row.examples(t) {
					c.store(t, row, example, more[i])
				}
				stored[s.Row] = true
			}
			r := newReport(row)
			if s.Method == http.MethodPatch {
				u := must1(url.Parse(s.URL))
				r.compare(c.patch(row, u.Path, patchRequest{s.Form, s.Body, u.Query(), []string{file}}))
			} else {
				var body map[string]any
				if err := decode(s.Body, &body); err != nil {
					t.Fatal(err)
				}
				r.compare(c.request(row, s.Method, s.URL, body, file))
			}
			r.print(t, 1, time.Second)
		})
	}
}
