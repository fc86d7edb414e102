package differential

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/coracle-project/coracle/router/request"
)

var theirInfo = apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}

// FuzzParse finds requests that we and k8s.io/apiserver read differently.
func FuzzParse(f *testing.F) {
	for _, path := range []string{
		"/api/v1/namespaces/n/pods/p/log", "/apis/apps/v1/namespaces/n/deployments", "/api/v1/watch/namespaces/n/pods/p",
		"/api/v1/proxy/nodes/n/x/y", "/api/v1/namespaces/n/finalize", "/api/v1/namespaces/n", "//api//v1//", "/apis/apps/v1", "/api/v1/watch",
		"/api/v1/namespaces/n/pods/p/proxy/a/b/c/d/e/f/g", "/healthz",
	} {
		for _, query := range []string{"", "watch=1", "watch=maybe&fieldSelector=metadata.name%3Dx", "watch=False", `fieldSelector=metadata.name=a\,b,x!=y`,
			"labelSelector=a", "fieldSelector=metadata.name==x,metadata.name=a&watch", "fieldSelector=metadata.name=..", "fieldSelector=metadata.name"} {
			f.Add("GET", path, query)
			f.Add("DELETE", path, query)
		}
		f.Add("POST", path, "")
		f.Add("FOO", path, "")
	}
	f.Fuzz(func(t *testing.T, method, path, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		// After a bad parameter Kubernetes ignores the name in a field selector. It refuses such a
		// list anyway.
		for _, other := range []string{"limit", "timeoutSeconds", "labelSelector", "shardSelector"} {
			if _, ok := values[other]; ok {
				return
			}
		}
		r := &http.Request{Method: method, URL: &url.URL{Path: path, RawQuery: query}}
		want, wantErr := theirInfo.NewRequestInfo(r)
		var got request.Info
		err = request.Parse(r, &got)
		if (err != nil) != (wantErr != nil) {
			t.Fatalf("Parse(%s %q ?%q): got error %v, want %v", method, path, query, err, wantErr)
		}
		if err != nil {
			return
		}
		if got.IsResource != want.IsResourceRequest || got.Path != want.Path || got.Verb != want.Verb || got.APIPrefix != want.APIPrefix ||
			got.Group != want.APIGroup || got.Version != want.APIVersion || got.Namespace != want.Namespace ||
			got.Resource != want.Resource || got.Subresource != want.Subresource || got.Name != want.Name ||
			strings.Join(got.Parts, "/") != strings.Join(want.Parts, "/") ||
			got.FieldSelector != want.FieldSelector || got.LabelSelector != want.LabelSelector {
			t.Errorf("Parse(%s %q ?%q): got\n%+v, want\n%+v", method, path, query, &got, *want)
		}
	})
}
