package router

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
)

// TestApply sends bodies and checks the request.Apply that the registry gets, and the answers of
// its Check.
func TestApply(t *testing.T) {
	whole := map[string]any{"kind": "ConfigMap", "data": map[string]any{"k": "v"}}
	for _, tt := range []struct {
		name, query, body string
		applied           meta.ObjectMeta
		absent            bool
		code              int
		says              string
		config            map[string]any
		warning           string
	}{
		{name: "JSON", body: `{"kind":"ConfigMap","data":{"k":"v"}}`, code: 200, config: whole},
		{name: "YAML", body: "kind: ConfigMap\ndata: {k: v}\n", code: 200, config: whole},
		{name: "almost JSON", body: `{"kind":"ConfigMap","data":{"k":"v",},}`, code: 200, config: whole},
		{name: "nothing", body: "", code: 200},
		{name: "no object", body: "[]", code: 400, says: "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal array into Go value of type map[string]interface {}"},
		{name: "no YAML", body: "a: b: c", code: 400, says: "error decoding YAML: error converting YAML to JSON: yaml: mapping values are not allowed in this context"},
		{name: "no manager", query: "?fieldManager=", code: 422, says: "fieldManager: Required value: is required for apply patch"},
		{name: "a key twice", body: `{"a":1,"a":2}`, code: 200, config: map[string]any{"a": int64(2)}, warning: `line 1: key "a" already set in map`},
		{name: "a key twice, ignored", query: "?fieldManager=m&fieldValidation=Ignore", body: `{"a":1,"a":2}`, code: 200, config: map[string]any{"a": int64(2)}},
		{name: "a key twice, strictly", query: "?fieldManager=m&fieldValidation=Strict", body: "a: 1\na: 2\n", code: 400, says: "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:"},
		{name: "created", absent: true, code: 201},
		{name: "created with a uid", absent: true, applied: meta.ObjectMeta{Name: "a", UID: "u"}, code: 409, says: "uid mismatch: the provided object specified uid u, and no existing object was found"},
		{name: "another name", applied: meta.ObjectMeta{Name: "b"}, code: 400, says: "the name of the object (b) does not match the name on the URL (a)"},
		{name: "another namespace", applied: meta.ObjectMeta{Name: "a", Namespace: "x"}, code: 400, says: "the namespace of the provided object"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{objects: []request.Encoded{configMap("a", "v")}, applied: tt.applied}
			if f.applied.Name == "" {
				f.applied.Name = "a"
			}
			if tt.absent {
				f.err = errors.New("not found")
			}
			if tt.query == "" {
				tt.query = "?fieldManager=m"
			}
			r, info := parsed(t, "PATCH", maps+"/a"+tt.query, tt.body, "Content-Type", "application/apply-patch+yaml; charset=utf-8")
			w := newRecorder()
			core(t, f).ServeHTTP(w, r)
			if w.Code != tt.code || !strings.Contains(strings.ReplaceAll(w.Body.String(), `\n`, " "), tt.says) {
				t.Fatalf("got %d %s, want %d with %q", w.Code, w.Body, tt.code, tt.says)
			}
			if warnings := strings.Join(info.Warnings, " "); warnings != tt.warning {
				t.Errorf("warnings: got %q, want %q", warnings, tt.warning)
			}
			if tt.code >= 300 {
				return
			}
			if req := f.write; !req.ForceCreate || req.Manager != "m" || req.Apply.Force || tt.config != nil && !reflect.DeepEqual(req.Apply.Config, tt.config) {
				t.Errorf("got %+v with %v, want %v", req, req.Apply, tt.config)
			}
		})
	}
}

func TestApplyByForce(t *testing.T) {
	f := &fake{objects: []request.Encoded{configMap("a", "v")}, applied: meta.ObjectMeta{Name: "a"}}
	serve(t, core(t, f), "PATCH", maps+"/a?fieldManager=m&force=true&dryRun=All", "{}", "Content-Type", applyPatch)
	if f.write == nil || !f.write.Apply.Force || !f.write.DryRun {
		t.Errorf("got %+v", f.write)
	}
}

// TestPatchTypesWithoutGoType: strategic merges are for kinds with a Go type.
func TestPatchTypesWithoutGoType(t *testing.T) {
	k, err := kind.Dynamic{GroupKind: meta.GroupKind{Kind: "ConfigMap"}, Versions: []kind.DynamicVersion{{Name: "v1", Schema: &schema.Schema{}}}}.New()
	if err != nil {
		t.Fatal(err)
	}
	res := all("configmaps", true, &fake{})
	res.Type, res.Custom = k, true
	rr := NewRESTRouter(testConfig(t))
	rr.Install(GroupVersion{GroupVersion: meta.GroupVersion{Version: "v1"}, Resources: []Resource{res}})
	w := serve(t, rr, "PATCH", maps+"/a", "{}", "Content-Type", strategicPatch)
	if want := `accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml"`; w.Code != 415 || !strings.Contains(w.Body.String(), want) {
		t.Errorf("got %d %s, want 415 with %s", w.Code, w.Body, want)
	}
}
