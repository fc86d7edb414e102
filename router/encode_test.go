package router

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
)

// unconvertedObject is a config map that is stored in another form and has to be converted.
type unconvertedObject struct {
	*object
	broken  bool // conversion fails
	hanging bool // conversion blocks until the context ends
}

func (f *unconvertedObject) Stored() ([]byte, uint32) { return []byte("stored otherwise"), 1 << 20 }
func (f *unconvertedObject) Head() int                { return 1 }

// converter is an encoder that converts each unconvertedObject.
type converter struct{ encoder }

func (c converter) Encode(ctx context.Context, enc request.Encoded, version string, m codec.Media) ([]byte, error) {
	f, ok := enc.(*unconvertedObject)
	switch {
	case !ok:
		return c.encoder.Encode(ctx, enc, version, m)
	case f.broken:
		return nil, meta.NewInternalError(errors.New(`configmaps "ns/b": cannot be converted`))
	case f.hanging:
		<-ctx.Done()
		return nil, ctx.Err()
	case m.Type == codec.JSON && m.As == "":
		return []byte(f.json), nil
	}
	return c.encoder.Encode(ctx, f.object, version, m)
}

// converting returns core with converter as its encoder.
func converting(t *testing.T, f *fake) *RESTRouter {
	rr := NewRESTRouter(testConfig(t))
	res := all("configmaps", true, f)
	res.Encoder = converter{}
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{res}})
	return rr
}

// TestListOfForeignObjects: lists with objects that are converted look like other lists, or fail as
// a whole.
func TestListOfForeignObjects(t *testing.T) {
	for _, tt := range []struct{ accept, query string }{
		{"", ""}, {"", "?pretty=1"}, {"application/yaml", ""}, {protobuf, ""}, {partials, ""}, {table, "?includeObject=Object"},
	} {
		list := func(objects ...request.Encoded) (int, string) {
			w := serve(t, converting(t, &fake{objects: objects}), "GET", maps+tt.query, "", "Accept", tt.accept)
			return w.Code, w.Body.String()
		}
		a, b, c := configMap("a", "1"), configMap("b", "2"), configMap("c", "3")
		code, plain := list(a, b, c)
		if code != 200 {
			t.Fatalf("%v: got %d %s", tt, code, plain)
		}
		if code, got := list(a, &unconvertedObject{object: b}, c); tt.accept != table && (code != 200 || got != plain) {
			t.Errorf("%v: with a foreign object: got %d %s, want %s", tt, code, got, plain)
		}
		// The objects before the broken one fill more than one flush.
		many := []request.Encoded{}
		for i := range 200 {
			many = append(many, configMap(fmt.Sprint(i), strings.Repeat("x", 1000)))
		}
		code, got := list(append(many, &unconvertedObject{object: configMap("b", "2"), broken: true})...)
		if code != 500 || !strings.Contains(got, `cannot be converted`) || !strings.Contains(got, "Status") || len(got) > 1000 {
			t.Errorf("%v: with one that cannot be converted: got %d %.300s, want 500 and nothing else", tt, code, got)
		}
	}
}

// TestYAMLIsNotKept: other forms are kept beside the object, YAML is not.
func TestYAMLIsNotKept(t *testing.T) {
	o := &unconvertedObject{object: configMap("a", "v")}
	rr := converting(t, &fake{objects: []request.Encoded{o}})
	for _, path := range []string{maps + "/a", maps} {
		for range 2 {
			if w := serve(t, rr, "GET", path, "", "Accept", "application/yaml"); w.Code != 200 || !strings.Contains(w.Body.String(), "k: v\n") {
				t.Fatalf("GET %s: got %d %s", path, w.Code, w.Body)
			}
		}
	}
	if o.built > 1 { // the list's YAML is made of the JSON, which is kept
		t.Errorf("%d forms are kept beside the object, want no YAML among them", o.built)
	}
	for range 2 {
		serve(t, rr, "GET", maps+"/a", "")
		serve(t, rr, "GET", maps+"/a", "", "Accept", protobuf)
	}
	if o.built != 2 {
		t.Errorf("%d forms were made, want JSON and protobuf, once", o.built)
	}
}

// TestWatchOfForeignObjects: an object that cannot be converted ends the watch with an ERROR event.
func TestWatchOfForeignObjects(t *testing.T) {
	added := func(o request.Encoded) request.Event { return request.Event{Type: request.Added, Object: o} }
	events := []request.Event{added(&unconvertedObject{object: configMap("a", "1")}), added(&unconvertedObject{object: configMap("b", "2"), broken: true}), added(configMap("c", "3"))}
	for _, accept := range []string{"", partial} {
		w := serve(t, converting(t, &fake{cursor: &script{batches: [][]request.Event{events}}}), "GET", maps+"?watch=1", "", "Accept", accept)
		all := frames(t, w.Body.String())
		if len(all) != 2 || all[0].Object.Metadata.Name != "a" || all[1].Type != "ERROR" || all[1].Object.Code != 500 || !strings.Contains(w.Body.String(), `ns/b`) {
			t.Errorf("Accept %q: got %s, want one object and an error that names the other", accept, w.Body)
		}
	}
}

// TestWatchEndsWhileConverting: a watch ends in time even if a converter does not answer.
func TestWatchEndsWhileConverting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := &unconvertedObject{object: configMap("slow", "1"), hanging: true}
		for _, accept := range []string{"", partial, table} {
			f := &fake{cursor: &script{batches: [][]request.Event{{{Type: request.Added, Object: slow}}}}}
			begun := time.Now()
			w := serve(t, converting(t, f), "GET", maps+"?watch=1&timeoutSeconds=5&includeObject=Object", "", "Accept", accept)
			if took := time.Since(begun); took != 5*time.Second || w.Body.Len() != 0 {
				t.Errorf("Accept %q: ended after %v with %q, want 5s and nothing", accept, took, w.Body)
			}
		}
	})
}

// TestBookmarksAreNotConverted: a bookmark is encoded without calling a converter.
func TestBookmarksAreNotConverted(t *testing.T) {
	k, err := kind.Dynamic{
		GroupKind: meta.GroupKind{Group: "g.io", Kind: "Thing"},
		Versions:  []kind.DynamicVersion{{Name: "v1"}, {Name: "v2"}},
		Convert: kind.Each(func(context.Context, *scheme.Unstructured, string) (*scheme.Unstructured, error) {
			return nil, errors.New("converted")
		}),
	}.New()
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"v1", "v2"} {
		gvk := meta.GroupVersionKind{Group: "g.io", Version: version, Kind: "Thing"}
		f := &fake{cursor: &script{batches: [][]request.Event{{{Type: request.Bookmark, ResourceVersion: "8", InitialEnd: true}}}, end: errors.New("over")}}
		rr := NewRESTRouter(testConfig(t))
		res := all("things", true, f)
		res.Kind, res.Type, res.Custom = gvk, k, true
		rr.Install(GroupVersion{GroupVersion: gvk.GroupVersion(), Resources: []Resource{res}})
		w := serve(t, rr, "GET", "/apis/g.io/"+version+"/namespaces/ns/things?watch=1", "")
		var got struct {
			Type   string
			Object json.RawMessage
		}
		if err := json.NewDecoder(w.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		want := `{"apiVersion":"g.io/` + version + `","kind":"Thing","metadata":{"resourceVersion":"8","annotations":{"k8s.io/initial-events-end":"true"}}}`
		if got.Type != "BOOKMARK" || string(got.Object) != want {
			t.Errorf("%s: got %s %s, want %s", version, got.Type, got.Object, want)
		}
	}
}
