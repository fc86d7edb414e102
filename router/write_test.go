package router

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

func newRecorder() *httptest.ResponseRecorder { return httptest.NewRecorder() }

// TestWhatWritesCarry sends every kind of write and checks the request.Write that the registry
// gets.
func TestWhatWritesCarry(t *testing.T) {
	const body = `{"metadata":{"name":"a","uid":"u1"}}`
	for _, tt := range []struct {
		name, method, path, body string
		header                   []string
		object                   string // Name
		uid                      meta.UID
	}{
		{"create", "POST", maps, body, nil, "", ""},
		{"update", "PUT", maps + "/a", body, nil, "a", "u1"},
		{"patch", "PATCH", maps + "/a", `{"data":{"x":"y"}}`, []string{"Content-Type", mergePatch}, "a", ""},
		{"delete", "DELETE", maps + "/a", "", nil, "a", ""},
		{"deletecollection", "DELETE", maps, "", nil, "", ""},
	} {
		for _, query := range []struct {
			text    string
			dry     bool
			manager string
		}{
			{"", false, "agent"},
			{"?dryRun=All", true, "agent"},
			{"?fieldManager=boss", false, "boss"},
		} {
			t.Run(tt.name+query.text, func(t *testing.T) {
				f := &fake{objects: []request.Encoded{configMap("a", "v")}}
				r, info := parsed(t, tt.method, tt.path+query.text, tt.body, append(tt.header, "User-Agent", "agent/v1 (linux)")...)
				info.User = &request.User{Name: "somebody"}
				w := newRecorder()
				core(t, f).ServeHTTP(w, r)
				if w.Code >= 300 {
					t.Fatalf("got %d %s", w.Code, w.Body)
				}
				req := f.write
				manager := query.manager
				if tt.method == "DELETE" {
					manager = "agent" // a deletion sets no fields
				}
				if req.Namespace != "ns" || req.Name != tt.object || req.Version != "v1" || req.User != info.User || req.UID != tt.uid ||
					req.DryRun != query.dry || req.Manager != manager || req.Options == nil || (req.Change == nil) != (tt.method == "DELETE") {
					t.Errorf("got %+v", req)
				}
				req.Warn("careful")
				req.Annotate("p/a", "b")
				if info.Warnings[len(info.Warnings)-1] != "careful" || info.Annotations["p/a"].Text != "b" {
					t.Errorf("what the registry says does not reach the request: %v %v", info.Warnings, info.Annotations)
				}
			})
		}
	}
}

func TestManagerOf(t *testing.T) {
	long := strings.Repeat("x", maxManager)
	for agent, want := range map[string]string{
		"":                              "",
		"kubectl/v1.2 (linux/amd64)":    "kubectl",
		"plain":                         "plain",
		"/v1":                           "",
		"Mozilla/5.0":                   "Mozilla",
		"two words/1":                   "two words",
		"tab\tand\x00control\u200b/1":   "tabandcontrol",
		long + "/1":                     long,
		long + "y/1":                    long,
		long[1:] + "é/1":                long[1:],
		long[2:] + "é/1":                long[2:] + "é",
		strings.Repeat("€", maxManager): strings.Repeat("€", maxManager/3),
		"not utf8 \xff/1":               "not utf8 \ufffd",
	} {
		r := &http.Request{Header: http.Header{"User-Agent": {agent}}}
		if got := managerOf(r); got != want || len(got) > maxManager || !utf8.ValidString(got) {
			t.Errorf("managerOf(%q): got %q, want %q", agent, got, want)
		}
	}
	r := &http.Request{Header: http.Header{"User-Agent": {"kubectl/v1.2 (linux/amd64)"}}}
	if n := testing.AllocsPerRun(100, func() { managerOf(r) }); n > 0 {
		t.Errorf("managerOf: %v allocations, want none", n)
	}
}
