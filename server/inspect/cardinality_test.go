package inspect_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/server/servertest"
)

// TestCardinality: clients that invent names make no series, whether they are known or not. Only
// the first request of each sort may make some.
func TestCardinality(t *testing.T) {
	t.Parallel()
	s := servertest.Start(t)
	for _, setting := range []string{"anonymous", "administrator"} {
		var header []string
		if setting == "anonymous" {
			header = []string{"Authorization", "Bearer unknown"}
		}
		invent := func(i int) {
			name := fmt.Sprint("invented", i)
			with := func(more ...string) []string { return append(more, header...) }
			for _, path := range []string{
				"/" + name, "/apis/" + name, "/apis/" + name + "/v1/" + name, "/apis/apps/" + name + "/deployments", "/api/v1/" + name,
				"/api/v1/namespaces/" + name + "/pods", "/api/v1/namespaces/default/pods/" + name, "/api/v1/namespaces/default/pods/p/" + name,
				"/api/v1/nodes/" + name + "/proxy/" + name, "/api/v1/pods?" + name + "=1", "/api/v1/pods?watch=1&timeoutSeconds=-1&labelSelector=" + name,
				"/apis/" + name + "/v1/" + name + "?watch=1", "/openapi/v3/" + name, "/healthz/" + name, "/livez/" + name, "/readyz/" + name,
			} {
				ask(t, s, "GET", path, "", with("User-Agent", name)...)
			}
			ask(t, s, strings.ToUpper(name), "/api/v1/pods", "", header...)
			ask(t, s, "DELETE", "/apis/apps/v1/namespaces/default/deployments/"+name+"?dryRun="+name, "", header...)
			ask(t, s, "PATCH", "/api/v1/namespaces/default/configmaps/"+name, "{}", with("Content-Type", name)...)
			ask(t, s, "POST", "/api/v1/namespaces/default/"+name, `{"apiVersion":"`+name+`","kind":"`+name+`"}`, header...)
			ask(t, s, "POST", "/api/v1/namespaces/default/configmaps?dryRun=All&fieldManager="+name, `{"metadata":{"name":"`+name+`"}}`, header...)
			ask(t, s, "GET", "/api/v1/namespaces", "", with("Impersonate-User", name, "Impersonate-Group", name)...)
			ask(t, s, "GET", "/api/v1/namespaces", "", "Authorization", "Bearer token-of-"+name)
		}
		for i := range 3 {
			invent(i)
		}
		before := strings.Count(scrape(t, s, "/metrics"), "\n")
		for i := range 60 {
			invent(3 + i)
		}
		text := scrape(t, s, "/metrics")
		// The loops of the server go on meanwhile, and may do something for the first time.
		if after := strings.Count(text, "\n"); after > before+100 {
			t.Errorf("%s: got %d lines, and %d after more requests", setting, before, after)
		}
		if at := strings.Index(strings.ToLower(text), "invented"); at >= 0 {
			t.Errorf("%s: a client has invented %s", setting, text[max(0, at-300):at+20])
		}
	}
}
