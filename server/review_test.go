package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
)

// TestFilesBeforeTheirResource: files that exist before their resource are validated when the
// resource is installed. An invalid file is named once in the log, and no request fails because of
// it. Fields that a person leaves out are set.
func TestFilesBeforeTheirResource(t *testing.T) {
	f := newFolder(t)
	const place = "test0.io/widgets/ns/"
	f.save(place+"good", "apiVersion: test0.io/v1\nkind: ConfigMap\nmetadata:\n  name: good\ndata:\n  k: v\n")
	f.save(place+"kind", "apiVersion: test0.io/v1\nkind: Secret\nmetadata:\n  name: kind\n")
	f.save(place+"name", "apiVersion: test0.io/v1\nkind: ConfigMap\nmetadata:\n  name: other\n")
	f.start(withKinds(1))
	if got := f.said(place + "kind"); len(got) != 0 {
		t.Errorf("before there is a resource the log says %q", got)
	}
	const list = "/apis/test0.io/v1/namespaces/ns/widgets"
	var uid string
	for range 2 {
		f.install(widgets("test0.io", "widgets"))
		for name, cause := range map[string]string{"kind": `the kind "Secret"`, "name": `metadata.name is "other", but the key has "name"`} {
			if got := f.said(place + name); len(got) != 1 || !strings.HasPrefix(got[0], "warn ") || !strings.Contains(got[0], cause) {
				t.Errorf("the log says of %s: %q, want once %q", name, got, cause)
			}
			f.check(list+"/"+name, http.StatusNotFound, "")
		}
		f.check("/metrics", http.StatusOK, "\ncoracle_storage_unreadable_files 2\n")
		f.check(list+"/good", http.StatusOK, `"namespace":"ns"`)
		_, body := f.do("GET", list, "")
		_, after, ok := strings.Cut(body, `"uid":"`)
		if !ok || strings.Count(body, `"data":`) != 1 || !strings.Contains(body, `"creationTimestamp":"`) {
			t.Fatalf("got %s, want one object with an identity", body)
		}
		if is, _, _ := strings.Cut(after, `"`); uid != "" && is != uid {
			t.Errorf("installed again it has the uid %s, want %s", is, uid)
		} else {
			uid = is
		}
		f.remove(meta.GroupResource{Group: "test0.io", Resource: "widgets"})
	}
}
