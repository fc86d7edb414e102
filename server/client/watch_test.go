package client_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

func TestWatch(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		ctx := t.Context()
		maps := client.For[*corev1.ConfigMap](c, configMapResource).In("default")
		if _, err := maps.Create(ctx, configMap("old"), meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		list, err := maps.List(ctx, meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w, err := maps.Watch(ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		next := func(want client.EventType, name string) *corev1.ConfigMap {
			t.Helper()
			ev, err := w.Next()
			if err != nil || ev.Type != want || ev.Object.Name != name || ev.Object.Kind != "ConfigMap" {
				t.Fatalf("Next: got %+v, %v, want %s %s", ev, err, want, name)
			}
			return ev.Object
		}
		if _, err := maps.Create(ctx, configMap("new"), meta.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		obj := next(client.Added, "new")
		obj.Data = map[string]string{"k": "v"}
		if _, err := maps.Update(ctx, obj, meta.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		next(client.Modified, "new")
		if err := maps.Delete(ctx, "new", meta.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		next(client.Deleted, "new")

		// The same events again from the beginning, without a Go type and with bookmarks.
		yes := true
		loose, err := client.For[*scheme.Unstructured](c, configMapResource).In("default").Watch(ctx, meta.ListOptions{
			SendInitialEvents: &yes, AllowWatchBookmarks: true, ResourceVersionMatch: meta.ResourceVersionMatchNotOlderThan})
		if err != nil {
			t.Fatal(err)
		}
		defer loose.Close()
		for _, want := range []client.EventType{client.Added, client.Bookmark} {
			ev, err := loose.Next()
			if err != nil || ev.Type != want || (ev.Object.Annotations[meta.InitialEventsAnnotation] != "") != (want == client.Bookmark) {
				t.Errorf("got %+v, %v, want %s", ev, err, want)
			}
		}
	})
}

// TestWatchEnds: each way in which a watch ends has its own error.
func TestWatchEnds(t *testing.T) {
	onBoth(t, func(t *testing.T, c *client.Client) {
		maps := client.For[*meta.PartialObjectMetadata](c, configMapResource).In("default")
		second := int64(1)
		w, err := maps.Watch(t.Context(), meta.ListOptions{TimeoutSeconds: &second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Next(); err != io.EOF {
			t.Errorf("when the time is up: got %v", err)
		}
		w.Close()

		if w, err = maps.Watch(t.Context(), meta.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		go func() {
			_, err := w.Next()
			ended <- err
		}()
		w.Close()
		if err := <-ended; err == nil || err == io.EOF {
			t.Errorf("when it is closed: got %v", err)
		}
		if _, err := maps.Watch(t.Context(), meta.ListOptions{LabelSelector: "!!"}); !meta.IsBadRequest(err) {
			t.Errorf("a watch that cannot begin: got %v", err)
		}
	})
}

func TestWatchBadEvents(t *testing.T) {
	const good = `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"}}}` + "\n"
	var text string
	c := to(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, good+text) })
	for _, tt := range []struct{ text, want string }{
		{"", "EOF"},
		{`{"type":"ERROR","object":{"kind":"Status","code":410,"reason":"Expired","message":"too old"}}`, "too old"},
		{`{"type":"ERROR","object":7}`, "client: watch of configmaps: json: "},
		{`{"type":"ADDED","object":{"kind":"Conf`, "client: watch of configmaps: unexpected EOF"},
		{`{"type":"ADDED","object":{"kind":"Namespace","apiVersion":"v1"}}`, "is not a *corev1.ConfigMap"},
		{`{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1"}}{"type":"ADDED"}` + "\n", "client: watch of configmaps: "},
		{`{"object":{"kind":"Status","code":410,"reason":"Expired","message":"in another order"},"type":"ERROR"}` + "\n", "in another order"},
		{`{"type":"REMOVED"}`, `unknown event "REMOVED"`},
		{"nonsense\n", "invalid character"},
	} {
		text = tt.text
		w, err := client.For[*corev1.ConfigMap](c, configMapResource).Watch(t.Context(), meta.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if ev, err := w.Next(); err != nil || ev.Object.Name != "a" {
			t.Errorf("first: got %+v, %v", ev, err)
		}
		_, err = w.Next()
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.text, err, tt.want)
		}
		var status *meta.StatusError
		if errors.As(err, &status) != meta.IsResourceExpired(err) {
			t.Errorf("%s: got %#v", tt.text, err)
		}
		w.Close()
	}
}
