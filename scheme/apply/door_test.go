package apply_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter/metertest"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// kinds has the schemas of two versions of ConfigMap: v1, and v2, in which data is called text.
type kinds map[string]*schema.Schema

func (k kinds) Schema(apiVersion string) *schema.Schema { return k[apiVersion] }

func (kinds) Empty(apiVersion string) (any, error) {
	return map[string]any{"apiVersion": apiVersion, "kind": "ConfigMap"}, nil
}

func (kinds) Convert(_ context.Context, tree any, from, to string) (any, error) {
	text, err := jsontext.AppendTree(nil, tree, jsontext.Plain)
	if err != nil || strings.Contains(string(text), "inconvertible") {
		return nil, errors.New("webhook says no")
	}
	names := strings.NewReplacer(`"data":`, `"text":`, `"v1"`, `"v2"`)
	if to == "v1" {
		names = strings.NewReplacer(`"text":`, `"data":`, `"v2"`, `"v1"`)
	}
	return lazy(names.Replace(string(text))), nil
}

// configMaps returns the door to ConfigMaps in v1 or v2.
func configMaps(tb testing.TB, version string) *apply.Door {
	tb.Helper()
	v2, errs := schema.Parse(nil, []byte(`{"type":"object","properties":{"text":{"type":"object","additionalProperties":{"type":"string"}}}}`))
	if len(errs) > 0 {
		tb.Fatal(errs)
	}
	return &apply.Door{
		Versions: kinds{"v1": schema.FromType(typeinfo.For[corev1.ConfigMap]()), "v2": v2},
		Kind:     meta.GroupVersionKind{Version: version, Kind: "ConfigMap"},
	}
}

func lazy(text string) any { return jsontext.RawOf([]byte(text)) }

func eager(tb testing.TB, text string) map[string]any {
	tb.Helper()
	tree, err := jsontext.Decode([]byte(text), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return tree.(map[string]any)
}

// body returns a ConfigMap with data.
func body(version, data string) string {
	name := "data"
	if version == "v2" {
		name = "text"
	}
	return fmt.Sprintf(`{"apiVersion":%q,"kind":"ConfigMap","metadata":{"name":"n","namespace":"ns"},%q:{%s}}`, version, name, data)
}

// history is an object that is written once an hour.
type history struct {
	tb   testing.TB
	door *apply.Door
	live apply.Object
	now  time.Time
}

func newHistory(tb testing.TB) *history {
	door := configMaps(tb, "v1")
	return &history{tb, door, apply.Object{Tree: lazy(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, time.Unix(0, 0)}
}

// put updates the object. managed are the managedFields that the client sends.
func (h *history) put(manager, data string, managed ...meta.ManagedFieldsEntry) {
	h.tb.Helper()
	obj := apply.Object{Tree: lazy(body("v1", data)), Managed: managed, Stored: true}
	entries, err := h.door.Update(h.tb.Context(), h.live, obj, h.writer(manager))
	if err != nil {
		h.tb.Fatalf("Update: %v", err)
	}
	h.live = apply.Object{Tree: obj.Tree, Managed: entries, Stored: true}
}

// apply applies data.
func (h *history) apply(manager, data string, force bool) error {
	h.tb.Helper()
	applied, err := h.door.Apply(h.tb.Context(), h.live, eager(h.tb, body("v1", data)), h.writer(manager), force)
	if err != nil {
		return err
	}
	if applied.Tree == nil {
		applied.Tree = h.live.Tree
	}
	h.live = apply.Object{Tree: applied.Tree, Managed: applied.Managed, Stored: true}
	return nil
}

func (h *history) writer(manager string) apply.Writer {
	h.now = h.now.Add(time.Hour)
	return apply.Writer{Manager: manager, Now: h.now}
}

// data returns the data of the object.
func (h *history) data() string {
	h.tb.Helper()
	text, err := jsontext.AppendTree(nil, h.live.Tree, jsontext.Plain)
	if err != nil {
		h.tb.Fatal(err)
	}
	var object struct{ Data map[string]string }
	if err := json.Unmarshal(text, &object); err != nil {
		h.tb.Fatal(err)
	}
	return fmt.Sprint(object.Data)
}

// owners returns the entries, each with its manager, operation and hour, and the keys of data that
// it owns. "data" means that it owns the field data and no key.
func (h *history) owners() string {
	var out []string
	for _, e := range h.live.Managed {
		at := "-"
		if e.Time != nil {
			at = fmt.Sprint(e.Time.Unix() / 3600)
		}
		fields := strings.NewReplacer(`{"f:data":`, "", `{}`, "", `"`, "", ":", "").Replace(string(e.FieldsV1.Raw))
		fields = cmp.Or(strings.TrimSuffix(fields, "}"), "data")
		out = append(out, fmt.Sprintf("%s/%s@%s %s", e.Manager, e.Operation, at, fields))
	}
	return strings.Join(out, "; ")
}

func (h *history) want(data, owners string) {
	h.tb.Helper()
	if got := h.data(); got != "map["+data+"]" {
		h.tb.Errorf("data: got %s, want %s", got, data)
	}
	if got := h.owners(); got != owners {
		h.tb.Errorf("owners:\ngot  %s\nwant %s", got, owners)
	}
}

// TestUpdates: fields go from one updater to another.
func TestUpdates(t *testing.T) {
	h := newHistory(t)
	h.put("", `"a":"1","b":"1"`)
	h.want("a:1 b:1", "unknown/Update@1 {.,fa,fb}")
	h.put("other", `"a":"2","b":"1"`)
	h.want("a:2 b:1", "unknown/Update@1 {.,fb}; other/Update@2 {fa}")
	h.put("other", `"a":"2","b":"1"`)
	h.want("a:2 b:1", "unknown/Update@1 {.,fb}; other/Update@2 {fa}")
	h.put("third", `"a":"2"`)
	h.want("a:2", "unknown/Update@1 data; other/Update@2 {fa}")
}

// TestManagedOfClients checks the effect of managedFields in an update.
func TestManagedOfClients(t *testing.T) {
	entry := meta.ManagedFieldsEntry{Manager: "m", Operation: "Update", APIVersion: "v1", FieldsType: "FieldsV1",
		FieldsV1: &meta.FieldsV1{Raw: []byte(` { "f:data" : {"f:a":{} }} `)}}
	wrong := entry
	wrong.FieldsV1 = &meta.FieldsV1{Raw: []byte(`{"f:data"`)}
	gone := entry
	gone.APIVersion = "v0"
	for _, tt := range []struct {
		name    string
		managed []meta.ManagedFieldsEntry
		want    string
	}{
		{"none", nil, "first/Update@1 {.,fa}"},
		{"entries", []meta.ManagedFieldsEntry{entry}, "m/Update@- {fa}"},
		{"an entry that cannot be decoded", []meta.ManagedFieldsEntry{entry, wrong}, "first/Update@1 {.,fa}"},
		{"an unknown version", []meta.ManagedFieldsEntry{gone, entry}, "m/Update@- {fa}"},
		{"an empty list", []meta.ManagedFieldsEntry{}, ""},
		{"an empty entry", []meta.ManagedFieldsEntry{{}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := newHistory(t)
			h.put("first", `"a":"1"`)
			h.put("second", `"a":"1"`, tt.managed...)
			if tt.managed != nil && len(tt.managed) == 0 {
				h.live.Managed, _ = h.door.Update(t.Context(), h.live, apply.Object{Tree: h.live.Tree, Managed: tt.managed}, h.writer("second"))
			}
			h.want("a:1", tt.want)
		})
	}
}

// TestForgotten: after a client has removed all entries, no manager owns a field until one applies.
func TestForgotten(t *testing.T) {
	h := newHistory(t)
	h.put("first", `"a":"1"`)
	h.put("first", `"a":"1"`, meta.ManagedFieldsEntry{})
	h.put("second", `"a":"2"`)
	h.want("a:2", "")
	if err := h.apply("applier", `"b":"1"`, false); err != nil {
		t.Fatal(err)
	}
	h.want("a:2 b:1", "applier/Apply@4 {fb}; before-first-apply/Update@4 {.,fa}")
}

// TestApplications: fields go from one applier to another.
func TestApplications(t *testing.T) {
	h := newHistory(t)
	if err := h.apply("one", `"a":"1","b":"1"`, false); err != nil {
		t.Fatal(err)
	}
	h.want("a:1 b:1", "one/Apply@1 {fa,fb}")
	if err := h.apply("two", `"a":"1","c":"1"`, false); err != nil {
		t.Fatal(err)
	}
	h.want("a:1 b:1 c:1", "one/Apply@1 {fa,fb}; two/Apply@2 {fa,fc}")
	if err := h.apply("one", ``, false); err != nil { // a stays, because two owns it too
		t.Fatal(err)
	}
	h.want("a:1 c:1", "two/Apply@2 {fa,fc}; one/Apply@3 data")
	if err := h.apply("three", `"c":"1"`, false); err != nil { // no value changes, so the entry has no time
		t.Fatal(err)
	}
	h.want("a:1 c:1", "three/Apply@- {fc}; two/Apply@2 {fa,fc}; one/Apply@3 data")
}

// TestConflicts applies fields of other managers, without and with force.
func TestConflicts(t *testing.T) {
	h := newHistory(t)
	h.put("puts <it>", `"a":"1","b":"1"`)
	if err := h.apply("applier", `"c":"1"`, false); err != nil {
		t.Fatal(err)
	}
	err := h.apply("other", `"a":"2","b":"2","c":"2"`, false)
	var status *meta.StatusError
	if !errors.As(err, &status) {
		t.Fatalf("got %v, want a conflict", err)
	}
	want := "Apply failed with 3 conflicts: conflicts with \"applier\":\n- .data.c\n" +
		"conflicts with \"puts <it>\" using v1:\n- .data.a\n- .data.b"
	if status.Status.Code != 409 || status.Status.Reason != meta.StatusReasonConflict || status.Status.Message != want {
		t.Errorf("got %+v, want %s", status.Status, want)
	}
	first := meta.StatusCause{Type: "FieldManagerConflict", Message: `conflict with "applier"`, Field: ".data.c"}
	if causes := status.Status.Details.Causes; len(causes) != 3 || causes[0] != first {
		t.Errorf("causes: got %+v, want 3, first %+v", causes, first)
	}

	err = h.apply("other", `"a":"2"`, false)
	if want := `Apply failed with 1 conflict: conflict with "puts <it>" using v1: .data.a`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if err := h.apply("other", `"a":"2"`, true); err != nil {
		t.Fatal(err)
	}
	h.want("a:2 b:1 c:1", "applier/Apply@2 {fc}; other/Apply@5 {fa}; puts <it>/Update@1 {.,fb}")
}

// TestManyConflicts bounds the message and the causes of an error about many conflicts.
func TestManyConflicts(t *testing.T) {
	data := func(value string) string {
		var entries []string
		for i := range 5000 {
			entries = append(entries, fmt.Sprintf(`"%s%d":%q`, strings.Repeat("k", 200), i, value))
		}
		return strings.Join(entries, ",")
	}
	h := newHistory(t)
	h.put("m", data("1"))
	var status *meta.StatusError
	if err := h.apply("other", data("2"), false); !errors.As(err, &status) {
		t.Fatalf("got %v, want a conflict", err)
	}
	if got := status.Status.Message; !strings.HasPrefix(got, "Apply failed with 5000 conflicts: ") || len(got) > 256<<10 {
		t.Errorf("message: %d bytes, %.100s", len(got), got)
	}
	if n := len(status.Status.Details.Causes); n < 100 || n > 1000 {
		t.Errorf("got %d causes", n)
	}
}

// TestBadConfigs: an invalid configuration is refused.
func TestBadConfigs(t *testing.T) {
	for _, tt := range []struct{ config, want string }{
		{`{"apiVersion":"v1","kind":"Pod"}`, "invalid object type: /v1, Kind=Pod"},
		{`{"apiVersion":"a/b/c","kind":"ConfigMap"}`, "invalid object type: /, Kind="},
		{`{"kind":"ConfigMap"}`, "invalid object type: /, Kind=ConfigMap"},
		{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[]}}`, "metadata.managedFields must be nil"},
		{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"managedFields":[{"manager":"x"}]}}`, "metadata.managedFields must be nil"},
		{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n","namespace":"ns"},"extra":1}`,
			"failed to create typed patch object (ns/n; /v1, Kind=ConfigMap): .extra: field not declared in schema"},
	} {
		h := newHistory(t)
		_, err := h.door.Apply(t.Context(), h.live, eager(t, tt.config), h.writer("m"), false)
		var status *meta.StatusError
		if !errors.As(err, &status) || status.Status.Code != 400 || status.Status.Message != tt.want {
			t.Errorf("%s: got %v, want 400 %s", tt.config, err, tt.want)
		}
	}
}

// TestEnds: each pass over a large object checks the context, and stops when the context has ended.
// Objects of a usual size need no check.
func TestEnds(t *testing.T) {
	s, errs := schema.Parse(nil, []byte(`{"type":"object","properties":{"data":{"type":"object","properties":{
		"map":{"type":"object","additionalProperties":{"type":"string"}},
		"set":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"},
		"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}}},
			"x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["a"]}}}}}`))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	door := &apply.Door{
		Versions: kinds{"v1": s}, Kind: meta.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Custom: true,
		ResetFields: map[string]*apply.Set{"v1": apply.Fields("status")},
	}
	// large returns an object with n unordered entries in each collection, all with the same value.
	large := func(n int, value string) string {
		var m, set, list []string
		for i := range n {
			k := i * 7919 % n
			m = append(m, fmt.Sprintf(`"k%d":%q`, k, value))
			set = append(set, fmt.Sprintf(`"%s-%d"`, value, k))
			list = append(list, fmt.Sprintf(`{"a":%d,"b":%q}`, k, value))
		}
		return body("v1", fmt.Sprintf(`"map":{%s},"set":[%s],"list":[%s]`, strings.Join(m, ","), strings.Join(set, ","), strings.Join(list, ",")))
	}
	empty, by := apply.Object{Tree: lazy(`{"apiVersion":"v1","kind":"ConfigMap"}`)}, apply.Writer{Manager: "m", Now: time.Unix(0, 0)}
	works := func(n int) map[string]func(ctx context.Context) error {
		stored := apply.Object{Tree: lazy(large(n, "first")), Stored: true}
		applied, err := door.Apply(t.Context(), empty, eager(t, large(n, "first")), by, false)
		if err != nil {
			t.Fatal(err)
		}
		owned := stored
		owned.Managed = applied.Managed
		config := eager(t, large(n, "second"))
		other := apply.Writer{Manager: "other", Now: time.Unix(1, 0)}
		apply := func(live apply.Object, by apply.Writer, force bool) func(ctx context.Context) error {
			return func(ctx context.Context) error {
				_, err := door.Apply(ctx, live, config, by, force)
				return err
			}
		}
		return map[string]func(ctx context.Context) error{
			"create": func(ctx context.Context) error { _, err := door.Update(ctx, empty, stored, by); return err },
			"update": func(ctx context.Context) error {
				obj := owned
				obj.Tree = lazy(large(n, "third"))
				_, err := door.Update(ctx, owned, obj, other)
				return err
			},
			"the first application": apply(stored, by, true),
			"another application":   apply(owned, by, false),
			"a forced application":  apply(owned, other, true),
			"a conflict":            func(ctx context.Context) error { return conflicts(apply(owned, other, false)(ctx)) },
		}
	}
	for what, work := range works(2) {
		t.Run("small/"+what, func(t *testing.T) {
			ctx := &metertest.Context{Context: t.Context()}
			if err := work(ctx); err != nil || ctx.Looks > 0 {
				t.Errorf("got %v after %d looks at the context", err, ctx.Looks)
			}
		})
	}
	once, twice := works(300), works(600)
	for what, work := range once {
		t.Run("large/"+what, func(t *testing.T) {
			metertest.Ends(t, 1, work)
			a, b := &metertest.Context{Context: t.Context()}, &metertest.Context{Context: t.Context()}
			if err := errors.Join(work(a), twice[what](b)); err != nil || b.Looks < a.Looks*3/2 {
				t.Errorf("got %v, %d looks, and %d at twice the size", err, a.Looks, b.Looks)
			}
		})
	}
}

// conflicts returns err, or nil if err says that there are conflicts.
func conflicts(err error) error {
	if _, ok := err.(*meta.StatusError); ok {
		return nil
	}
	return err
}

// TestBadLive: if the stored object cannot be merged, the error is the server's.
func TestBadLive(t *testing.T) {
	for _, tt := range []struct{ live, want string }{
		{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"},"gone":1}`,
			"failed to create typed live object (/n; /v1, Kind=ConfigMap): .gone: field not declared in schema"},
		{`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"n"},"data":"text"}`,
			"failed to create typed live object (/n; /v1, Kind=ConfigMap): .data: expected map, got &{text}"},
	} {
		h := newHistory(t)
		h.put("m", `"a":"1"`)
		h.live.Tree = lazy(tt.live)
		_, err := h.door.Apply(t.Context(), h.live, eager(t, body("v1", ``)), h.writer("m"), false)
		if status := meta.StatusOf(err); status == nil || status.Code != 500 || status.Message != tt.want {
			t.Errorf("%s: got %v, want 500 %s", tt.live, err, tt.want)
		}
	}
}

// TestVersions writes an object in two versions.
func TestVersions(t *testing.T) {
	h := newHistory(t)
	if err := h.apply("m", `"a":"1","b":"1"`, false); err != nil {
		t.Fatal(err)
	}
	h.put("updater", `"a":"1","b":"2"`)
	v2 := configMaps(t, "v2")
	live := apply.Object{Tree: lazy(body("v2", `"a":"1","b":"2"`)), Managed: h.live.Managed, Stored: true}
	if _, err := v2.Apply(t.Context(), live, eager(t, body("v2", `"b":"3"`)), h.writer("n"), false); err == nil ||
		err.Error() != `Apply failed with 1 conflict: conflict with "updater" using v1: .data.b` {
		t.Errorf("got %v, want a conflict in the version of the other", err)
	}
	applied, err := v2.Apply(t.Context(), live, eager(t, body("v2", `"c":"1"`)), h.writer("m"), false)
	if err != nil {
		t.Fatal(err)
	}
	text, err := jsontext.AppendTree(nil, applied.Tree, jsontext.Plain)
	if want := `"text":{"b":"2","c":"1"}`; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %s, %v, want %s: the field that m no longer applies is removed", text, err, want)
	}
	h.live.Managed = applied.Managed
	if got, want := h.owners(), `m/Apply@4 {ftext{fc}; updater/Update@2 {fb}`; got != want {
		t.Errorf("owners:\ngot  %s\nwant %s", got, want)
	}

	live.Tree = lazy(body("v2", `"a":"inconvertible"`))
	if entries, err := v2.Update(t.Context(), live, live, h.writer("m")); err == nil || entries != nil {
		t.Errorf("Update of an object that does not convert: got %v, %v, want an error", entries, err)
	}
	if _, err := v2.Apply(t.Context(), live, eager(t, body("v2", ``)), h.writer("m"), false); err == nil || err.Error() != "webhook says no" {
		t.Errorf("Apply to an object that does not convert: got %v, want its error", err)
	}
}

// TestSubresource: a manager has an entry of its own for writes through a subresource, without the
// fields that the subresource resets.
func TestSubresource(t *testing.T) {
	h := newHistory(t)
	h.put("m", `"a":"1"`)
	h.door.Subresource = "status"
	h.door.ResetFields = map[string]*apply.Set{"v1": apply.Fields("data.b")}
	h.put("m", `"a":"2","b":"2","c":"2"`, meta.ManagedFieldsEntry{}) // a subresource ignores the managedFields of clients
	h.want("a:2 b:2 c:2", "m/Update@1 data; m/Update@2 {fa,fc}")
	if got := h.live.Managed[1].Subresource; got != "status" {
		t.Errorf("subresource: got %q", got)
	}
}

// TestTooManyUpdaters: if there are too many updaters, the oldest entries are joined.
func TestTooManyUpdaters(t *testing.T) {
	h := newHistory(t)
	data := `"k":"1"`
	for i := range 13 {
		data += fmt.Sprintf(`,"k%02d":"1"`, i)
		h.put(fmt.Sprintf("m%02d", i), data)
	}
	if n := len(h.live.Managed); n != 10 {
		t.Fatalf("got %d entries, want 10: %s", n, h.owners())
	}
	if got, want := h.owners(), "ancient-changes/Update@4 {.,fk,fk00,fk01,fk02,fk03}; m04/Update@5 {fk04};"; !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s...", got, want)
	}
}

// TestKubectl applies an object that was written by client-side apply before.
func TestKubectl(t *testing.T) {
	const name = "kubectl.kubernetes.io/last-applied-configuration"
	applied := func(data, annotations string) string {
		return strings.Replace(body("v1", data), `"name":"n"`, `"name":"n"`+annotations, 1)
	}
	note := func(config string) string {
		text, _ := json.Marshal(config)
		return `,"annotations":{"` + name + `":` + string(text) + `}`
	}
	h := newHistory(t)
	live := apply.Object{Tree: lazy(applied(`"a":"1","b":"1"`, note(body("v1", `"a":"1"`)))), Stored: true}
	entries, err := h.door.Update(t.Context(), h.live, live, h.writer("kubectl-client-side-apply"))
	if err != nil {
		t.Fatal(err)
	}
	live.Managed = entries

	if _, err := h.door.Apply(t.Context(), live, eager(t, body("v1", `"a":"2"`)), h.writer("other"), false); err == nil {
		t.Error("another manager applies the fields of kubectl's annotation without a conflict")
	}
	_, err = h.door.Apply(t.Context(), live, eager(t, body("v1", `"a":"2","b":"2"`)), h.writer("kubectl"), false)
	if want := `Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using v1: .data.b`; err == nil || err.Error() != want {
		t.Errorf("kubectl applies more than its annotation has: got %v, want %s", err, want)
	}
	out, err := h.door.Apply(t.Context(), live, eager(t, body("v1", `"a":"2"`)), h.writer("kubectl"), false)
	if err != nil {
		t.Fatal(err)
	}
	object := out.Tree.(map[string]any)
	annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any)
	want := `{"apiVersion":"v1","data":{"a":"2"},"kind":"ConfigMap","metadata":{"name":"n","namespace":"ns"}}` + "\n"
	if annotations[name] != want {
		t.Errorf("annotation: got %q, want %q", annotations[name], want)
	}

	// An annotation that would be too long is removed.
	long := strings.Repeat("x", 200<<10)
	live.Tree = lazy(applied(`"a":"1"`, note(long)))
	out, err = h.door.Apply(t.Context(), live, eager(t, body("v1", `"a":"`+long+long+`"`)), h.writer("kubectl"), true)
	if err != nil {
		t.Fatal(err)
	}
	object = out.Tree.(map[string]any)
	if annotations := object["metadata"].(map[string]any)["annotations"].(map[string]any); len(annotations) != 0 {
		t.Errorf("annotations: got %.100v, want none", annotations)
	}
}

// twenty returns a ConfigMap with twenty entries, one of them with the given value.
func twenty(value string) string {
	data := `"k00":"` + value + `"`
	for i := 1; i < 20; i++ {
		data += fmt.Sprintf(`,"k%02d":"value %d"`, i, i)
	}
	return strings.Replace(body("v1", data), `"name":"n"`, `"name":"n","labels":{"app":"a"}`, 1)
}

// twentyTimes returns an update and an application of one field of twenty.
func twentyTimes(tb testing.TB) (update, application func()) {
	h := newHistory(tb)
	live := apply.Object{Tree: lazy(twenty("a")), Stored: true}
	var err error
	if live.Managed, err = h.door.Update(tb.Context(), h.live, live, h.writer("creator")); err != nil {
		tb.Fatal(err)
	}
	obj := apply.Object{Tree: lazy(twenty("b")), Managed: live.Managed, Stored: true}
	by := h.writer("other")
	update = func() {
		if _, err := h.door.Update(tb.Context(), live, obj, by); err != nil {
			tb.Fatal(err)
		}
	}

	first, err := h.door.Apply(tb.Context(), h.live, eager(tb, twenty("a")), by, false)
	if err != nil {
		tb.Fatal(err)
	}
	was := apply.Object{Tree: lazy(twenty("a")), Managed: first.Managed, Stored: true}
	config := eager(tb, twenty("b"))
	return update, func() {
		if _, err := h.door.Apply(tb.Context(), was, config, by, false); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestAllocations(t *testing.T) {
	update, application := twentyTimes(t)
	if got := testing.AllocsPerRun(100, update); got > 60 {
		t.Errorf("Update: got %v allocations, want at most 60", got)
	}
	if got := testing.AllocsPerRun(100, application); got > 90 {
		t.Errorf("Apply: got %v allocations, want at most 90", got)
	}
}

func BenchmarkDoor(b *testing.B) {
	update, application := twentyTimes(b)
	b.Run("verb=update", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			update()
		}
	})
	b.Run("verb=apply", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			application()
		}
	})
}

// FuzzDoor sends random managedFields and configurations. An object that results from them can be
// applied to again.
func FuzzDoor(f *testing.F) {
	f.Add(`[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:data":{"f:a":{}}}}]`,
		twenty("a"), twenty("b"))
	f.Add(`[{"manager":"m","operation":"Apply","apiVersion":"v2","fieldsType":"FieldsV1","fieldsV1":{"f:text":{".":{},"f:a":{}}}}]`,
		body("v1", `"a":"1"`), body("v1", ``))
	f.Add(`[{}]`, `{"apiVersion":"v1","kind":"ConfigMap","data":[[]]}`, `{"apiVersion":"v1","kind":"ConfigMap","metadata":[]}`)
	f.Fuzz(func(t *testing.T, managed, live, config string) {
		var entries []meta.ManagedFieldsEntry
		if json.Unmarshal([]byte(managed), &entries) != nil || !json.Valid([]byte(live)) {
			return
		}
		tree, err := jsontext.Decode([]byte(config), nil)
		object, ok := tree.(map[string]any)
		if err != nil || !ok {
			return
		}
		h := newHistory(t)
		stored := apply.Object{Tree: lazy(live), Managed: entries, Stored: true}
		if entries, err := h.door.Update(t.Context(), apply.Object{Tree: lazy(live), Stored: true}, stored, h.writer("m")); err == nil {
			stored.Managed = entries
		} else {
			stored.Managed = nil
		}
		applied, err := h.door.Apply(t.Context(), stored, object, h.writer("kubectl"), true)
		if err != nil {
			return
		}
		if err := apply.Decodable(t.Context(), applied.Managed); err != nil {
			t.Errorf("managedFields cannot be decoded: %v", err)
		}
		if applied.Tree == nil {
			applied.Tree = stored.Tree
		}
		stored = apply.Object{Tree: applied.Tree, Managed: applied.Managed, Stored: true}
		if _, err := h.door.Apply(t.Context(), stored, object, h.writer("kubectl"), true); err != nil {
			t.Errorf("the same again: %v", err)
		}
	})
}
