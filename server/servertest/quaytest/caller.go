// Package quaytest has helpers for tests of a whole server: a Caller sends requests and compares
// the JSON of the responses, a Quay defines custom resources, and a DelayedStore is a store for
// several servers, whose events can come late.
//
// A server ends with its test. Methods fail the test if a response is not as expected. The methods
// of a Caller and a Quay may be called at once.
package quaytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server/servertest"
)

// Caller sends requests to a server, as its administrator.
type Caller struct {
	*servertest.Server
	T testing.TB
}

// Do sends a request, and returns the status code and the decoded JSON of the response. header has
// names and values in turn. The body is JSON unless header has a Content-Type.
func (c *Caller) Do(method, path, body string, header ...string) (int, map[string]any) {
	c.T.Helper()
	code, data := c.Raw(method, path, body, header...)
	var tree map[string]any
	if err := json.Unmarshal(data, &tree); err != nil {
		c.T.Fatalf("%s %s: %d %q: %v", method, path, code, data, err)
	}
	return code, tree
}

// Raw sends a request like Do, and returns the status code and the body of the response.
func (c *Caller) Raw(method, path, body string, header ...string) (int, []byte) {
	c.T.Helper()
	r, err := http.NewRequestWithContext(c.T.Context(), method, c.URL+path, strings.NewReader(body))
	if err != nil {
		c.T.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Client.Do(r)
	if err != nil {
		c.T.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		c.T.Fatal(err)
	}
	return resp.StatusCode, data
}

// Want sends a request, and compares the status code and the response. at has the wanted values by
// dotted paths, such as "items.0.metadata.name"; nil requires that there is no value. Values are
// compared as fmt.Sprint prints them.
func (c *Caller) Want(code int, method, path, body string, at map[string]any, header ...string) {
	c.T.Helper()
	got, tree := c.Do(method, path, body, header...)
	if got != code {
		c.T.Errorf("%s %s: got %d %v, want %d", method, path, got, tree["message"], code)
	}
	for p, want := range at {
		if v := Value(tree, p); fmt.Sprint(v) != fmt.Sprint(want) {
			c.T.Errorf("%s %s: %s: got %v, want %v", method, path, p, v, want)
		}
	}
}

// Value returns the value at a dotted path in decoded JSON, or nil if there is none. A number in
// the path is an index of a list.
func Value(v any, path string) any {
	for name := range strings.SplitSeq(path, ".") {
		switch t := v.(type) {
		case map[string]any:
			v = t[name]
		case []any:
			var i int
			if _, err := fmt.Sscan(name, &i); err != nil || i >= len(t) {
				return nil
			}
			v = t[i]
		default:
			return nil
		}
	}
	return v
}

// Watch opens a watch, and returns a function that waits for the next event. The function returns
// nil when the watch has ended.
func (c *Caller) Watch(path string, query ...string) func() map[string]any {
	c.T.Helper()
	r, err := http.NewRequestWithContext(c.T.Context(), "GET", c.URL+path+"?watch=1"+strings.Join(query, ""), nil)
	if err != nil {
		c.T.Fatal(err)
	}
	resp, err := c.Client.Do(r)
	if err != nil {
		c.T.Fatal(err)
	}
	c.T.Cleanup(func() { resp.Body.Close() })
	lines := bufio.NewReader(resp.Body)
	return func() map[string]any {
		c.T.Helper()
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return nil
		}
		var event map[string]any
		if err := json.Unmarshal(line, &event); err != nil {
			c.T.Fatalf("watch %s: %q: %v", path, line, err)
		}
		return event
	}
}
