package client_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// codecs returns the codecs of the core group.
func codecs(t testing.TB) *codec.Factory {
	t.Helper()
	s := scheme.New()
	corev1.Scheme.AddToScheme(s)
	if err := s.Complete(); err != nil {
		t.Fatal(err)
	}
	return codec.NewFactory(s)
}

func TestNewRefuses(t *testing.T) {
	handler := client.HandlerTransport(http.NotFoundHandler())
	for _, tt := range []struct {
		cfg  client.Config
		want string
	}{
		{client.Config{URL: "https://h"}, "Config.Codecs is nil"},
		{client.Config{Codecs: codecs(t)}, "not a URL with http or https"},
		{client.Config{Codecs: codecs(t), URL: "h:443"}, "not a URL with http or https"},
		{client.Config{Codecs: codecs(t), URL: "https://u:secret/x"}, "not a URL with http or https"},
		{client.Config{Codecs: codecs(t), URL: "https://u:secret@h"}, "more than scheme, host and path"},
		{client.Config{Codecs: codecs(t), URL: "https://h?secret"}, "more than scheme, host and path"},
		{client.Config{Codecs: codecs(t), Transport: handler}, ""},
		{client.Config{Codecs: codecs(t), URL: "https://h/below/"}, ""},
	} {
		_, err := client.New(tt.cfg)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("New with URL %q: got %v, want %q", tt.cfg.URL, err, tt.want)
		}
	}
}

// TestObject creates, reads, changes and deletes an object.
func TestObject(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		maps := client.For[*corev1.ConfigMap](c, configMapResource).In("default")

		given := configMap("a")
		given.Data = map[string]string{"k": "1"}
		made, err := maps.Create(ctx, given, meta.CreateOptions{FieldManager: "test"})
		if err != nil || made.UID == "" || made.Namespace != "default" || made.Kind != "ConfigMap" || made.Data["k"] != "1" {
			t.Fatalf("Create: got %+v, %v", made, err)
		}
		if given.UID != "" || given.Kind != "" {
			t.Errorf("Create changed what it was given: %+v", given)
		}
		if _, err := maps.Create(ctx, given, meta.CreateOptions{}); !meta.IsAlreadyExists(err) {
			t.Errorf("Create again: got %v", err)
		}
		got, err := maps.Get(ctx, "a", meta.GetOptions{ResourceVersion: "0"})
		if err != nil || got.ResourceVersion != made.ResourceVersion {
			t.Errorf("Get: got %+v, %v", got, err)
		}

		got.Data["k"] = "2"
		changed, err := maps.In("").Update(ctx, got, meta.UpdateOptions{}) // the namespace comes from the object
		if err != nil || changed.Data["k"] != "2" {
			t.Errorf("Update: got %+v, %v", changed, err)
		}
		if _, err := maps.Update(ctx, made, meta.UpdateOptions{}); !meta.IsConflict(err) {
			t.Errorf("Update from an old state: got %v", err)
		}
		changed.Data["k"] = "dry"
		if dry, err := maps.Update(ctx, changed, meta.UpdateOptions{DryRun: []string{meta.DryRunAll}}); err != nil || dry.Data["k"] != "dry" {
			t.Errorf("dry Update: got %+v, %v", dry, err)
		}

		for _, patch := range []struct {
			typ  client.PatchType
			text string
		}{
			{client.JSONPatch, `[{"op":"test","path":"/data/k","value":"2"},{"op":"replace","path":"/data/k","value":"%s"}]`},
			{client.MergePatch, `{"data":{"k":"%s"}}`},
			{client.StrategicPatch, `{"data":{"k":"%s"}}`},
		} {
			got, err := maps.Patch(ctx, "a", patch.typ, fmt.Appendf(nil, patch.text, patch.typ), meta.PatchOptions{})
			if err != nil || got.Data["k"] != string(patch.typ) {
				t.Errorf("Patch with %s: got %+v, %v", patch.typ, got, err)
			}
		}

		stranger := meta.UID("other")
		if err := maps.Delete(ctx, "a", meta.DeleteOptions{Preconditions: &meta.Preconditions{UID: &stranger}}); !meta.IsConflict(err) {
			t.Errorf("Delete of another: got %v", err)
		}
		if err := maps.Delete(ctx, "a", meta.DeleteOptions{}); err != nil {
			t.Errorf("Delete: %v", err)
		}
		_, err = maps.Get(ctx, "a", meta.GetOptions{})
		var status *meta.StatusError
		if !errors.As(err, &status) || status.Status.Code != 404 || err.Error() != `configmaps "a" not found` {
			t.Errorf("Get after that: got %v", err)
		}
	})
}

// TestSub writes only the status.
func TestSub(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		namespaces := client.For[*corev1.Namespace](c, namespaceResource)
		ns, err := namespaces.Get(t.Context(), "default", meta.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ns.Spec.Finalizers = nil
		ns.Status.Conditions = []corev1.NamespaceCondition{{Type: "Tested", Status: "True"}}
		if ns, err = namespaces.UpdateStatus(t.Context(), ns, meta.UpdateOptions{}); err != nil || len(ns.Status.Conditions) != 1 || len(ns.Spec.Finalizers) != 1 {
			t.Errorf("UpdateStatus: got %+v, %v", ns, err)
		}
		if ns, err = namespaces.Sub("status").Get(t.Context(), "default", meta.GetOptions{}); err != nil || len(ns.Status.Conditions) != 1 {
			t.Errorf("Get of the status: got %+v, %v", ns, err)
		}
	})
}

func TestCollection(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		all := client.For[*corev1.ConfigMap](c, configMapResource)
		maps := all.In("default")
		for i := range 7 {
			m := configMap(fmt.Sprintf("m%d", i))
			m.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)}
			if _, err := maps.Create(ctx, m, meta.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		list, err := maps.List(ctx, meta.ListOptions{LabelSelector: "odd=true"})
		if err != nil || len(list.Items) != 3 || list.ResourceVersion == "" || list.Items[2].Name != "m5" || list.Items[2].Kind != "ConfigMap" {
			t.Fatalf("List: got %+v, %v", list, err)
		}
		page, err := maps.List(ctx, meta.ListOptions{Limit: 5})
		if err != nil || len(page.Items) != 5 || page.Continue == "" || page.RemainingItemCount == nil || *page.RemainingItemCount != 2 {
			t.Fatalf("List of a page: got %+v, %v", page, err)
		}
		var found []string
		for m, err := range all.All(ctx, meta.ListOptions{Limit: 2}) {
			if err != nil {
				t.Fatal(err)
			}
			if m.Namespace != "kube-system" { // not an object of the server
				found = append(found, m.Namespace+"/"+m.Name)
			}
		}
		if want := "default/m0 default/m1 default/m2 default/m3 default/m4 default/m5 default/m6"; strings.Join(found, " ") != want {
			t.Errorf("All: got %q", found)
		}
		for range all.All(ctx, meta.ListOptions{Limit: 2}) {
			break
		}
		for _, err := range all.All(ctx, meta.ListOptions{Continue: "nonsense"}) {
			if !meta.IsBadRequest(err) {
				t.Errorf("All from nonsense: got %v", err)
			}
		}

		gone, err := maps.DeleteCollection(ctx, meta.DeleteOptions{}, meta.ListOptions{LabelSelector: "odd=false", Limit: 3})
		if err != nil || len(gone.Items) != 3 || gone.Continue == "" {
			t.Fatalf("DeleteCollection: got %+v, %v", gone, err)
		}
		names := client.For[*meta.PartialObjectMetadata](c, configMapResource).In("default")
		rest, err := names.DeleteCollection(ctx, meta.DeleteOptions{}, meta.ListOptions{LabelSelector: "odd=false", Continue: gone.Continue})
		if err != nil || len(rest.Items) != 1 || rest.Items[0].Name != "m6" || rest.Continue != "" {
			t.Errorf("DeleteCollection of the rest: got %+v, %v", rest, err)
		}
		left, err := names.List(ctx, meta.ListOptions{})
		if err != nil || !slices.EqualFunc(left.Items, []string{"m1", "m3", "m5"}, func(o *meta.PartialObjectMetadata, name string) bool {
			return o.Name == name && o.Kind == "PartialObjectMetadata"
		}) {
			t.Errorf("List of names: got %+v, %v", left, err)
		}
	})
}

// TestUnstructured reads and writes objects without a Go type.
func TestUnstructured(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		maps := client.For[*scheme.Unstructured](c, configMapResource).In("default")
		obj := &scheme.Unstructured{ObjectMeta: meta.ObjectMeta{Name: "a"}}
		if err := obj.Set("1", "data", "k"); err != nil {
			t.Fatal(err)
		}
		made, err := maps.Create(ctx, obj, meta.CreateOptions{})
		if err != nil || made.Kind != "ConfigMap" {
			t.Fatalf("Create: got %+v, %v", made, err)
		}
		list, err := maps.List(ctx, meta.ListOptions{})
		if err != nil || len(list.Items) != 1 {
			t.Fatalf("List: got %+v, %v", list, err)
		}
		got := list.Items[0]
		if v, ok := scheme.At[string](got, "data", "k"); !ok || v != "1" || got.Kind != "ConfigMap" || got.APIVersion != "v1" {
			t.Errorf("an item: got %+v", got)
		}
		if _, err := maps.Update(ctx, got, meta.UpdateOptions{}); err != nil {
			t.Errorf("Update: %v", err)
		}
	})
}

// TestPaths: requests have the right paths, and a bad name leads to no request at all.
func TestPaths(t *testing.T) {
	var got string
	c := newClient(t, client.Config{URL: "http://h/below/", Codecs: codecs(t), Token: "sesame", UserAgent: "me",
		Transport: client.HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer sesame" || r.UserAgent() != "me" || r.Host != "h" {
				t.Errorf("headers: got %v of %s", r.Header, r.Host)
			}
			got = r.Method + " " + r.RequestURI
			http.Error(w, "", 404)
		}))})
	ctx := t.Context()
	core := client.For[*corev1.ConfigMap](c, configMapResource)
	apps := client.For[*scheme.Unstructured](c, meta.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).In("n")
	seven, yes := int64(7), true
	for _, tt := range []struct {
		call func() error
		want string
	}{
		{func() error { _, err := core.Get(ctx, "a", meta.GetOptions{ResourceVersion: "7"}); return err }, "GET /below/api/v1/configmaps/a?resourceVersion=7"},
		{func() error { _, err := core.Get(ctx, "a?b %2f", meta.GetOptions{}); return err }, ""},
		{func() error { _, err := core.Get(ctx, "a?b c", meta.GetOptions{}); return err }, "GET /below/api/v1/configmaps/a%3Fb%20c"},
		{func() error { _, err := core.Get(ctx, "", meta.GetOptions{}); return err }, ""},
		{func() error { _, err := core.Get(ctx, "..", meta.GetOptions{}); return err }, ""},
		{func() error { _, err := core.Get(ctx, "a/status", meta.GetOptions{}); return err }, ""},
		{func() error { _, err := core.In("a/b").Get(ctx, "a", meta.GetOptions{}); return err }, ""},
		{func() error { _, err := apps.Sub("scale").Get(ctx, "a", meta.GetOptions{}); return err }, "GET /below/apis/apps/v1/namespaces/n/deployments/a/scale"},
		{func() error {
			_, err := apps.List(ctx, meta.ListOptions{LabelSelector: "a in (b)", FieldSelector: "x=y", ResourceVersion: "7", ResourceVersionMatch: "Exact",
				Limit: 7, Continue: "c", TimeoutSeconds: &seven, Watch: true})
			return err
		}, "GET /below/apis/apps/v1/namespaces/n/deployments?continue=c&fieldSelector=x%3Dy&labelSelector=a+in+%28b%29&limit=7&resourceVersion=7&resourceVersionMatch=Exact&timeoutSeconds=7"},
		{func() error {
			_, err := apps.Watch(ctx, meta.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: &yes})
			return err
		}, "GET /below/apis/apps/v1/namespaces/n/deployments?allowWatchBookmarks=true&sendInitialEvents=true&watch=true"},
		{func() error { _, err := core.Sub("status").List(ctx, meta.ListOptions{}); return err }, ""},
		{func() error {
			_, err := core.Create(ctx, configMap("a"), meta.CreateOptions{DryRun: []string{"All"}, FieldManager: "m", FieldValidation: "Strict"})
			return err
		}, "POST /below/api/v1/configmaps?dryRun=All&fieldManager=m&fieldValidation=Strict"},
		{func() error {
			_, err := core.In("n").Sub("token").Create(ctx, configMap("a"), meta.CreateOptions{})
			return err
		}, "POST /below/api/v1/namespaces/n/configmaps/a/token"},
		{func() error { _, err := core.Sub("token").Create(ctx, configMap(""), meta.CreateOptions{}); return err }, ""},
		{func() error { _, err := core.Update(ctx, configMap("a"), meta.UpdateOptions{}); return err }, "PUT /below/api/v1/configmaps/a"},
		{func() error { _, err := core.Update(ctx, configMap(""), meta.UpdateOptions{}); return err }, ""},
		{func() error {
			_, err := core.Patch(ctx, "a", client.ApplyPatch, []byte("{}"), meta.PatchOptions{FieldManager: "m", Force: &yes})
			return err
		}, "PATCH /below/api/v1/configmaps/a?fieldManager=m&force=true"},
		{func() error { _, err := core.Patch(ctx, "", client.MergePatch, nil, meta.PatchOptions{}); return err }, ""},
		{func() error { return core.Delete(ctx, "a", meta.DeleteOptions{}) }, "DELETE /below/api/v1/configmaps/a"},
		{func() error { return core.Delete(ctx, "", meta.DeleteOptions{}) }, ""},
		{func() error { return core.Delete(ctx, ".", meta.DeleteOptions{}) }, ""},
		{func() error {
			_, err := apps.DeleteCollection(ctx, meta.DeleteOptions{}, meta.ListOptions{LabelSelector: "a"})
			return err
		}, "DELETE /below/apis/apps/v1/namespaces/n/deployments?labelSelector=a"},
	} {
		got = ""
		if err := tt.call(); got != tt.want || meta.IsNotFound(err) != (tt.want != "") || err == nil {
			t.Errorf("got %q, %v, want %q", got, err, tt.want)
		}
	}
}

// TestBadAnswers: an answer that cannot be read is an error.
func TestBadAnswers(t *testing.T) {
	var code int
	var text string
	c := to(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		io.WriteString(w, text)
	})
	for _, tt := range []struct {
		code       int
		text, want string
		status     bool
	}{
		{200, "nonsense", "client: GET /api/v1/configmaps/a: answer: ", false},
		{200, `{"kind":"Namespace","apiVersion":"v1"}`, "v1, Kind=Namespace is not a *corev1.ConfigMap", false},
		{200, `{"kind":"Widget","apiVersion":"example.com/v1"}`, `no kind "Widget" is registered`, false},
		{404, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"not there","reason":"NotFound","code":404}`, "not there", true},
		{504, `{"metadata":{},"status":"Failure","message":"late","reason":"Timeout"}`, "late", true},
		{502, "<html>", `GET /api/v1/configmaps/a: the server answered "502 Bad Gateway"`, true},
		{403, `{"status":"Success"}`, `the server answered "403 Forbidden"`, true},
		{302, "", `the server answered "302 Found"`, true},
	} {
		code, text = tt.code, tt.text
		_, err := client.For[*corev1.ConfigMap](c, configMapResource).Get(t.Context(), "a", meta.GetOptions{})
		var status *meta.StatusError
		if err == nil || !strings.Contains(err.Error(), tt.want) || errors.As(err, &status) != tt.status || tt.status && int(status.Status.Code) != tt.code {
			t.Errorf("%d %s: got %v, want %q", tt.code, tt.text, err, tt.want)
		}
	}
	code, text = 200, `{"kind":"ConfigMapList","apiVersion":"v1","items":[{"metadata":{"name":"a"}},{"metadata":7}]}`
	if list, err := client.For[*corev1.ConfigMap](c, configMapResource).List(t.Context(), meta.ListOptions{}); err == nil {
		t.Errorf("a list with a bad item: got %+v", list)
	}
	text = `{"apiVersion":"example.com/v1","items":[{"metadata":{"name":"a"}}],"kind":"WidgetList","metadata":{"resourceVersion":"7"}}`
	list, err := client.For[*scheme.Unstructured](c, configMapResource).List(t.Context(), meta.ListOptions{})
	if err != nil || list.ResourceVersion != "7" || len(list.Items) != 1 || list.Items[0].Kind != "Widget" || list.Items[0].APIVersion != "example.com/v1" {
		t.Errorf("a list whose kind comes late: got %+v, %v", list, err)
	}
}
