package registry_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/storage"
)

// newObserver returns a reader of two pokes that are computed. Their force is the revision of the
// store.
func newObserver(t *testing.T) (*kit, *registry.ComputedReader) {
	t.Helper()
	k := newKit(t, options{types: addPokes})
	o, err := registry.NewComputedReader(k.cfg, registry.ComputedResource{
		GroupResource: meta.GroupResource{Group: pokeV1.Group, Resource: "pokes"}, Kind: "Poke",
		Compute: func(ctx context.Context, store storage.Store) []meta.Object {
			rev, err := store.Revision(ctx)
			if err != nil {
				t.Error(err)
			}
			b := &poke{ObjectMeta: meta.ObjectMeta{Name: "b", Labels: map[string]string{"l": "b"}}, Force: int64(rev)}
			return []meta.Object{b, &poke{ObjectMeta: meta.ObjectMeta{Name: "a"}, Force: int64(rev)}}
		},
		Table: &registry.Table{
			Columns: []meta.TableColumnDefinition{registry.NameColumn},
			Cells:   func(obj meta.Object, now time.Time) []any { return []any{obj.GetObjectMeta().Name, now.Year()} },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return k, o
}

func TestObserver(t *testing.T) {
	k, o := newObserver(t)
	for range 2 { // each read computes the object again
		k.create(&widget{ObjectMeta: meta.ObjectMeta{GenerateName: "w-"}})
		enc, err := o.Get(k.ctx, "", "a", "")
		if err != nil {
			t.Fatal(err)
		}
		for _, tt := range []struct {
			version string
			media   codec.Media
			want    string
		}{
			{"v1", codec.Media{}, fmt.Sprintf(`{"kind":"Poke","apiVersion":"act.example.com/v1","metadata":{"name":"a"},"force":%d}`, k.revision())},
			{"v1beta1", codec.Media{}, fmt.Sprintf(`{"kind":"Poke","apiVersion":"act.example.com/v1beta1","metadata":{"name":"a"},"strength":%d}`, k.revision())},
			{"v1", codec.Media{Type: codec.YAML}, fmt.Sprintf("apiVersion: act.example.com/v1\nforce: %d\nkind: Poke\nmetadata:\n  name: a\n", k.revision())},
			{"v1", codec.Media{As: codec.AsPartial, Group: "meta.k8s.io", Version: "v1"}, `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}`},
		} {
			if got, err := o.Encode(k.ctx, enc, tt.version, tt.media); err != nil || string(got) != tt.want {
				t.Errorf("got %s, %v, want %s", got, err, tt.want)
			}
		}
		for _, as := range []string{"", codec.AsPartial} {
			data, err := o.Encode(k.ctx, enc, "v1", codec.Media{Type: codec.Protobuf, As: as, Group: "meta.k8s.io", Version: "v1"})
			if err != nil || !codec.IsProtobuf(data) {
				t.Errorf("protobuf of %q: got %q, %v", as, data, err)
			}
		}
		if cells, _, err := o.Row(k.ctx, enc, time.Unix(0, 0).UTC()); err != nil || fmt.Sprint(cells) != "[a 1970]" {
			t.Errorf("the row: got %v, %v", cells, err)
		}
	}
	if cells, _, err := o.Row(k.ctx, nil, time.Unix(0, 0).UTC()); err != nil || fmt.Sprint(cells) != "[ 1970]" || len(o.Columns()) != 1 {
		t.Errorf("the row of nothing: got %v, %v", cells, err)
	}
	if o.FormOf("v1", codec.Media{}) != o.FormOf("v1", codec.Media{Pretty: true}) || o.FormOf("v1", codec.Media{}) == o.FormOf("v1beta1", codec.Media{}) {
		t.Error("forms differ by version and media, however they are printed")
	}
	_, err := o.Get(k.ctx, "", "c", "")
	if err == nil || err.Error() != `poke.act.example.com "c" not found` {
		t.Errorf("what is not there: got %v", err)
	}
}

func TestObserverLists(t *testing.T) {
	k, o := newObserver(t)
	for _, tt := range []struct{ labels, fields, want string }{
		{"", "", "a b"}, {"l=b", "", "b"}, {"l!=b", "", "a"}, {"", "metadata.name=b", "b"}, {"", "metadata.namespace=x", ""}, {"", "metadata.namespace=", "a b"},
	} {
		req := selectors(t, "", tt.labels, tt.fields)
		req.Version = "v1"
		list, err := o.List(k.ctx, &req)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for enc := range list.Items {
			data, err := o.Encode(k.ctx, enc, "v1", codec.Media{})
			if err != nil {
				t.Fatal(err)
			}
			_, rest, _ := strings.Cut(string(data), `"name":"`)
			got = append(got, rest[:1])
		}
		if strings.Join(got, " ") != tt.want || list.Len != len(got) || list.ResourceVersion != "" {
			t.Errorf("%q, %q: got %q of %d at %q, want %s", tt.labels, tt.fields, got, list.Len, list.ResourceVersion, tt.want)
		}
		list.Items(func(request.Encoded) bool { return false })
	}
	req := selectors(t, "", "", "spec.force=1")
	req.Version = "v1"
	_, err := o.List(k.ctx, &req)
	wantReason(t, "a field that selectors may not name", err, meta.StatusReasonBadRequest)
	if _, err := registry.NewComputedReader(k.cfg, registry.ComputedResource{Kind: "Nothing"}); err == nil {
		t.Error("an unknown kind: got no error")
	}
}

// TestRulesByVersion: rules may depend on the version of the client's request.
func TestRulesByVersion(t *testing.T) {
	var asked []string
	k, s := inTwoGroups(t, options{resource: func(r *registry.ResourceOf[*widget]) {
		r.Strategy.ValidateIn = func(gv meta.GroupVersion, _, old *widget) field.ErrorList {
			asked = append(asked, fmt.Sprint(gv, " ", old != nil))
			return nil
		}
	}})
	k.create(named("a", colored("red")))
	if _, err := s.Create(k.ctx, inVersion(k.creation(alsoNamed("b", "blue"), &meta.CreateOptions{}), "v2")); err != nil {
		t.Fatal(err)
	}
	if _, err := k.change("b", colored("green")); err != nil {
		t.Fatal(err)
	}
	if want := "[test.example.com/v1 false also.example.com/v2 false test.example.com/v1 true]"; fmt.Sprint(asked) != want {
		t.Errorf("got %v, want %s", asked, want)
	}
}
