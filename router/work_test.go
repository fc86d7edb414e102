package router

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
)

// TestPatchBudget: all applications of one patch share one budget, and they end with the request.
func TestPatchBudget(t *testing.T) {
	const levels = 60 // each level is parsed again together with all levels below it
	body := `{"data":{"k":"w"},"x":` + strings.Repeat(`{"a":`, levels) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat("}", levels) + `}`
	f := &fake{objects: []request.Encoded{configMap("a", "v")}, contended: true}
	w := serve(t, core(t, f), "PATCH", maps+"/a", body, "Content-Type", mergePatch)
	if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), `"reason":"RequestEntityTooLarge"`) {
		t.Errorf("got %d %.300s", w.Code, w.Body)
	}
	if f.tries < 3 || f.tries > 200 {
		t.Errorf("%d tries", f.tries)
	}
	for _, form := range []string{mergePatch, strategicPatch} {
		f.tries = 0
		rr := core(t, f)
		r, _ := parsed(t, "PATCH", maps+"/a", body, "Content-Type", form)
		ctx := &metertest.Context{Context: r.Context(), End: 5}
		w := newRecorder()
		rr.ServeHTTP(w, r.WithContext(ctx))
		if w.Code != http.StatusGatewayTimeout || f.tries > 1 {
			t.Errorf("%s: a request whose time is up: got %d after %d tries", form, w.Code, f.tries)
		}
	}
}

// TestPatchErrorIsBounded: an error does not repeat a long patch.
func TestPatchErrorIsBounded(t *testing.T) {
	f := &fake{objects: []request.Encoded{configMap("a", "v")}}
	body := `{"metadata":{"$patch":"` + strings.Repeat("<", 1<<20) + `"}}`
	w := serve(t, core(t, f), "PATCH", maps+"/a", body, "Content-Type", strategicPatch)
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), `"message":"unknown patch type: `) {
		t.Errorf("got %d %.300s", w.Code, w.Body)
	}
	if w.Body.Len() > 1<<20 {
		t.Errorf("got an answer of %d bytes", w.Body.Len())
	}
}

// TestWorkEndsWithRequest: decoding a body and encoding a list stop when the request ends.
func TestWorkEndsWithRequest(t *testing.T) {
	f := &fake{}
	for i := range 2000 {
		f.objects = append(f.objects, configMap(fmt.Sprintf("c%04d", i), strings.Repeat("x", 200)))
	}
	rr := core(t, f)
	var data strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&data, `"key%06d":"",`, i)
	}
	body := `{"metadata":{"name":"a"},"data":{` + data.String() + `"k":""}}`
	for _, tt := range []struct{ name, method, path, body, accept, contentType string }{
		{"JSON", "POST", maps, body, "", codec.JSONType},
		{"YAML", "POST", maps, body, "", codec.YAMLType},
		{"protobuf list", "GET", maps, "", protobuf, ""},
		{"metadata list", "GET", maps, "", partials, ""},
		{"table", "GET", maps, "", table, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			run := func(end int) (code, looks int) {
				r, _ := parsed(t, tt.method, tt.path, tt.body, "Accept", tt.accept, "Content-Type", tt.contentType)
				ctx := &metertest.Context{Context: r.Context(), End: end}
				w := newRecorder()
				rr.ServeHTTP(w, r.WithContext(ctx))
				return w.Code, ctx.Looks
			}
			code, looks := run(0)
			if code >= 300 || looks < 4 {
				t.Fatalf("got %d after %d looks at the context", code, looks)
			}
			for end := 1; end <= looks; end += 1 + looks/4 {
				if code, n := run(end); code != http.StatusGatewayTimeout || n > end+1 {
					t.Errorf("time is up at look %d: got %d after %d looks", end, code, n)
				}
			}
		})
	}
}

// largest records the size of the largest single write.
type largest struct {
	http.ResponseWriter
	n int
}

func (l *largest) Write(b []byte) (int, error) {
	l.n = max(l.n, len(b))
	return l.ResponseWriter.Write(b)
}

// TestReadableLists: YAML and indented JSON are written item by item and equal the encoding of the
// whole list.
func TestReadableLists(t *testing.T) {
	values := []string{"v", strings.Repeat("several words ", 30), "two\nlines\n", " - x: [1]\n", "#", strings.Repeat("x", 5000)}
	for _, n := range []int{0, 1, 7, 500} {
		f := &fake{}
		for i := range n {
			f.objects = append(f.objects, configMap(fmt.Sprintf("c%03d", i), values[i%len(values)]))
		}
		rr := core(t, f)
		plain := bytes.TrimSuffix(serve(t, rr, "GET", maps, "").Body.Bytes(), []byte("\n"))
		wantYAML, err := codec.AppendYAML(nil, plain)
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			path, accept string
			want         []byte
		}{
			{maps, "application/yaml", wantYAML},
			{maps + "?pretty=1", "", codec.AppendIndent(nil, plain)},
		} {
			r, _ := parsed(t, "GET", tt.path, "", "Accept", tt.accept)
			w := newRecorder()
			l := &largest{ResponseWriter: w}
			rr.ServeHTTP(l, r)
			if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), tt.want) {
				t.Errorf("%s, %q, %d items: got %d %.2000s\nwant %.2000s", tt.path, tt.accept, n, w.Code, w.Body, tt.want)
			}
			if l.n > 4*flushAt {
				t.Errorf("%s, %q, %d items: %d bytes at once", tt.path, tt.accept, n, l.n)
			}
		}
	}
}
