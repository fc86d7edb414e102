package server_test

import (
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server"
)

// TestOpenAPIPaths: documents describe the paths of token issuers and of logs when the server
// serves them.
func TestOpenAPIPaths(t *testing.T) {
	const issuer, keys, logs = ".well-known/openid-configuration", "openid/v1/jwks", "logs"
	for _, tt := range []struct {
		name   string
		change func(*server.Config)
		want   []string
	}{
		{"defaults", func(*server.Config) {}, []string{issuer, keys}},
		{"issuer without URL", func(c *server.Config) { c.Authentication.ServiceAccounts.Issuers = []string{"me"} }, nil},
		{"logs", func(c *server.Config) { c.Serving.Debug.LogDir = t.TempDir() }, []string{issuer, keys, logs}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := newInProcess(t, tt.change)
			_, index := p.do("GET", "/openapi/v3", "")
			_, v2 := p.do("GET", "/openapi/v2", "")
			for path, operations := range map[string]map[string]string{
				issuer: {"/.well-known/openid-configuration/": "getServiceAccountIssuerOpenIDConfiguration"},
				keys:   {"/openid/v1/jwks/": "getServiceAccountIssuerOpenIDKeyset"},
				logs:   {"/logs/": "logFileListHandler", "/logs/{logpath}": "logFileHandler"},
			} {
				want := slices.Contains(tt.want, path)
				if got := strings.Contains(index, `"`+path+`":`); got != want {
					t.Errorf("%s in the index: got %v, want %v", path, got, want)
				}
				code, v3 := p.do("GET", "/openapi/v3/"+path, "")
				if got := code == 200; got != want {
					t.Errorf("document of %s: got %d, served: %v", path, code, want)
				}
				if want {
					wantOperations(t, v3, operations)
					if strings.Contains(v3, `"schemas"`) {
						t.Errorf("the document of %s has models, and refers to none", path)
					}
					wantOperations(t, v2, operations)
				} else if strings.Contains(v2, `"/`+path+`/":`) {
					t.Errorf("version 2 describes %s, which is not served", path)
				}
			}
		})
	}
}

// TestOpenAPIPhrases: OpenAPI v2 has the phrases that kubectl's own tests look for.
func TestOpenAPIPhrases(t *testing.T) {
	_, v2 := newInProcess(t).do("GET", "/openapi/v2", "")
	for _, phrase := range []string{"list of returned", "List of services", "Watch for changes to the described resources"} {
		if !strings.Contains(v2, phrase) {
			t.Errorf("version 2 lacks %q", phrase)
		}
	}
}

// wantOperations requires that a document has GET operations with these ids, by path.
func wantOperations(t *testing.T, document string, ids map[string]string) {
	t.Helper()
	var doc struct {
		Paths map[string]struct{ Get struct{ OperationID string } }
	}
	if err := json.Unmarshal([]byte(document), &doc); err != nil {
		t.Fatal(err)
	}
	for path, id := range ids {
		if got := doc.Paths[path].Get.OperationID; got != id {
			t.Errorf("GET %s: got the operation %q, want %q", path, got, id)
		}
	}
}

// Bounds for OpenAPI documents, in bytes: the memory that the first request for /openapi/v3 leaves,
// which is mainly compiled types; the memory that it allocates; and the memory that is left after
// requests for all documents in all encodings.
const (
	maxIndexKept  = 2 << 20
	maxIndexTotal = 14 << 20
	maxAllKept    = 5 << 20
)

// TestOpenAPICost: the index covers every kind and keeps no schema in memory. Documents that no
// client is reading are kept compressed.
func TestOpenAPICost(t *testing.T) {
	p := newInProcess(t)
	kept := keptBy()
	var before, made runtime.MemStats
	runtime.ReadMemStats(&before)
	_, answer := p.do("GET", "/openapi/v3", "")
	runtime.ReadMemStats(&made)
	if got := made.TotalAlloc - before.TotalAlloc; got > maxIndexTotal {
		t.Errorf("the index allocated %d KiB, want at most %d", got>>10, maxIndexTotal>>10)
	}
	if got := kept(); got > maxIndexKept {
		t.Errorf("the index keeps %d KiB, want at most %d", got>>10, maxIndexKept>>10)
	}
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal([]byte(answer), &index); err != nil || len(index.Paths) < 20 {
		t.Fatalf("the index: %v, %.200s", err, answer)
	}
	answer = ""
	const v2, v3 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf", "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	for _, form := range []string{"", v2 + "," + v3} {
		ask := func(path string) {
			if code, answer := p.do("GET", path, "", "Accept", form); code != 200 || answer == "" {
				t.Errorf("GET %s: %d", path, code)
			}
		}
		ask("/openapi/v2")
		for _, entry := range index.Paths {
			ask(entry.ServerRelativeURL)
		}
	}
	if got := kept(); got > maxAllKept {
		t.Errorf("all documents keep %d KiB, want at most %d", got>>10, maxAllKept>>10)
	}
	runtime.KeepAlive(p)
}

// keptBy returns a function that returns the growth of the live heap since the call of keptBy, in
// bytes.
func keptBy() func() int64 {
	inUse := func() int64 {
		runtime.GC()
		runtime.GC() // also frees what the first collection has made unreachable
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := inUse()
	return func() int64 { return inUse() - before }
}
