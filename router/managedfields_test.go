package router

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

const dropping = ";drop=spec.future+metadata.managedFields"

// handmade is a config map whose fields are in an order that the codec does not write.
type handmade struct{ *object }

func (handmade) Head() int { return 1 }

// oneCell is a Tabler with the same row for all objects.
type oneCell struct{ *fake }

func (oneCell) Row(context.Context, request.Encoded, time.Time) ([]any, []meta.TableRowCondition, error) {
	return []any{"cell"}, nil, nil
}

// ownedMaps serves config maps stored in all possible ways. fields are JSON members of their
// metadata.
func ownedMaps(t *testing.T, fields string) *RESTRouter {
	made := func(json string) *object {
		return &object{json: strings.ReplaceAll(json, "FIELDS,", fields), forms: map[uint32][]byte{}}
	}
	objects := []request.Encoded{
		made(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","resourceVersion":"7",FIELDS,"labels":{"a":"b"}},"data":{"k":"v"}}`),
		handmade{made(`{"metadata":{FIELDS,"name":"b","namespace":"ns","resourceVersion":"7"},"data":{"k":"v"},"apiVersion":"v1","kind":"ConfigMap"}`)},
		&unconvertedObject{object: made(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c",FIELDS,"namespace":"ns","resourceVersion":"7"}}`)},
		configMap("d", "none in any case"),
	}
	f := &fake{objects: objects, cursor: &script{end: io.EOF, batches: [][]request.Event{{
		{Type: request.Added, Object: objects[0]}, {Type: request.Modified, Object: objects[1]}, {Type: request.Added, Object: objects[3]},
		{Type: request.Bookmark, ResourceVersion: "8", InitialEnd: true}, {Type: request.Deleted, Object: objects[2]},
	}}}}
	rr := NewRESTRouter(testConfig(t))
	res := all("configmaps", true, f)
	res.Encoder, res.Tabler = converter{}, oneCell{f}
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{res}})
	return rr
}

// TestDropManagedFields: a client that asks for objects without managedFields gets, byte for byte,
// the response of a server whose objects have none. Other clients get the fields.
func TestDropManagedFields(t *testing.T) {
	const owner = `"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:k":{}}}}],`
	body := configMap("a", "v").json
	for _, tt := range []struct{ method, target, body string }{
		{"GET", maps + "/a", ""}, {"GET", maps + "/a?pretty=1", ""}, {"GET", maps, ""}, {"GET", maps + "?pretty=1", ""},
		{"GET", maps + "?watch=1", ""}, {"POST", maps, body}, {"PUT", maps + "/a", body}, {"PATCH", maps + "/a", `{"data":{}}`}, {"DELETE", maps, ""},
	} {
		for _, accept := range []string{"application/json", "application/yaml", protobuf, partial, partials, table} {
			for _, include := range []string{"", "None", "Metadata", "Object"} {
				if include != "" && accept != table {
					continue
				}
				target := tt.target
				if include != "" {
					target += map[bool]string{true: "&", false: "?"}[strings.Contains(target, "?")] + "includeObject=" + include
				}
				ask := func(fields, accept string) (answer string, owned bool) {
					header := []string{"Accept", accept}
					if tt.method == "PATCH" {
						header = append(header, "Content-Type", "application/merge-patch+json")
					}
					w := serve(t, ownedMaps(t, fields), tt.method, target, tt.body, header...)
					return fmt.Sprint(w.Code, w.Header(), w.Body), strings.Contains(w.Body.String(), "FieldsV1")
				}
				want, _ := ask("", accept)
				got, owned := ask(owner, accept+dropping)
				if got != want || owned {
					t.Errorf("%s %s as %s without:\n got %q\nwant %q", tt.method, target, accept, got, want)
				}
				if with, owned := ask(owner, accept); !strings.HasPrefix(with, "406") && include != "None" && !owned {
					t.Errorf("%s %s as %s: got %q, want managedFields in it", tt.method, target, accept, with)
				}
			}
		}
	}
}

// TestDroppedFormIsKept: managedFields are cut out of an object once, even if there are none.
func TestDroppedFormIsKept(t *testing.T) {
	o := configMap("a", "v")
	rr := core(t, &fake{objects: []request.Encoded{o}})
	for _, accept := range []string{"application/json", "application/yaml", protobuf} {
		for i, path := range []string{maps + "/a", maps, maps + "/a"} {
			built := o.built
			serve(t, rr, "GET", path, "", "Accept", accept+dropping)
			if i > 0 && o.built != built {
				t.Errorf("GET %s as %s without managedFields makes it again", path, accept)
			}
		}
	}
	if o.built != 3 { // JSON, and protobuf with and without
		t.Errorf("%d forms are kept, want 3", o.built)
	}
}
