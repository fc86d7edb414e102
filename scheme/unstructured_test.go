package scheme_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

var (
	_ meta.Object = (*scheme.Unstructured)(nil)
	_ meta.List   = (*scheme.UnstructuredList)(nil)
)

const crontab = `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"c","labels":{"a":"b"}},` +
	`"aFirst":null,"spec":{"big":9223372036854775807,"huge":1e300,"list":[1,"x",{"y":true}],"ratio":0.5,"text":"<&>"}}`

func TestUnstructuredJSON(t *testing.T) {
	var u scheme.Unstructured
	if err := json.Unmarshal([]byte(crontab), &u); err != nil {
		t.Fatal(err)
	}
	if u.APIVersion != "stable.example.com/v1" || u.Kind != "CronTab" || u.Name != "c" || u.Labels["a"] != "b" {
		t.Errorf("got head %+v %+v", u.TypeMeta, u.ObjectMeta)
	}
	if got := strings.Join(u.FieldNames(), " "); got != "aFirst spec" {
		t.Errorf("FieldNames: got %q", got)
	}
	if got, ok := scheme.At[int64](&u, "spec", "big"); !ok || got != 9223372036854775807 {
		t.Errorf("spec.big: got %v, %v", got, ok)
	}
	if got, ok := scheme.At[float64](&u, "spec", "huge"); !ok || got != 1e300 {
		t.Errorf("spec.huge: got %v, %v", got, ok)
	}
	out, err := u.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"aFirst":null,"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{`
	if !strings.HasPrefix(string(out), want) || !strings.Contains(string(out), `"text":"<&>"`) {
		t.Errorf("MarshalJSON: got %s", out)
	}
	var again scheme.Unstructured
	if err := json.Unmarshal(out, &again); err != nil || !reflect.DeepEqual(again, u) {
		t.Errorf("round trip: got %+v, %v, want %+v", again, err, u)
	}
}

func TestUnstructuredMetadataIsExact(t *testing.T) {
	var u scheme.Unstructured
	text := `{"metadata":{"Name":"wrong","name":"right","other":1,"ownerReferences":[{"UID":"x","uid":"y"}],"labels":{"UID":"kept"}}}`
	if err := json.Unmarshal([]byte(text), &u); err != nil {
		t.Fatal(err)
	}
	if u.Name != "right" || u.OwnerReferences[0].UID != "y" || u.Labels["UID"] != "kept" {
		t.Errorf("got %+v", u.ObjectMeta)
	}
}

func TestUnstructuredErrors(t *testing.T) {
	for _, text := range []string{`null`, `[]`, `{`, `{"kind":1}`, `{"metadata":[]}`, `{"metadata":{"labels":1}}`, `{}x`, `{"a":[{"b":1e999}]}`} {
		before := scheme.Unstructured{Content: map[string]any{"a": "b"}}
		u := before
		if err := u.UnmarshalJSON([]byte(text)); err == nil {
			t.Errorf("UnmarshalJSON(%s): got no error", text)
		} else if !reflect.DeepEqual(u, before) {
			t.Errorf("UnmarshalJSON(%s) changed the object", text)
		}
	}
}

func TestUnstructuredSetAndRemove(t *testing.T) {
	var u scheme.Unstructured
	if err := u.Set("v", "status", "phase"); err != nil {
		t.Fatal(err)
	}
	for _, path := range [][]string{nil, {"kind"}, {"metadata", "name"}, {"status", "phase", "deeper"}} {
		if err := u.Set("v", path...); err == nil {
			t.Errorf("Set(%v): got no error", path)
		}
	}
	if got, _ := scheme.At[string](&u, "status", "phase"); got != "v" {
		t.Errorf("At: got %q", got)
	}
	if _, ok := scheme.At[int64](&u, "status", "phase"); ok {
		t.Error("At of another type: got true")
	}
	if _, ok := scheme.At[string](&u, "status", "phase", "deeper"); ok {
		t.Error("At below a string: got true")
	}
	u.Remove("status", "phase")
	u.Remove("nothing", "there")
	u.Remove()
	if got, _ := scheme.At[map[string]any](&u, "status"); len(got) != 0 {
		t.Errorf("Remove: got %v", got)
	}
}

func TestUnstructuredCopy(t *testing.T) {
	var u scheme.Unstructured
	if err := json.Unmarshal([]byte(crontab), &u); err != nil {
		t.Fatal(err)
	}
	c := scheme.Copy(&u).(*scheme.Unstructured)
	if !reflect.DeepEqual(c, &u) || !reflect.DeepEqual(u.DeepCopy(), &u) {
		t.Errorf("Copy: got %+v, want %+v", c, u)
	}
	c.Labels["a"] = "changed"
	if err := c.Set("changed", "spec", "text"); err != nil {
		t.Fatal(err)
	}
	if got, _ := scheme.At[string](&u, "spec", "text"); got != "<&>" || u.Labels["a"] != "b" {
		t.Error("Copy shares memory")
	}
	if typ := typeinfo.For[scheme.Unstructured](); typ == nil || typ.Kind != typeinfo.Custom {
		t.Errorf("descriptor: got %+v, want a custom type", typ)
	}
	s := newScheme(t)
	s.Default(&u)
	if errs := s.Check(&u, nil); len(errs) > 0 {
		t.Errorf("Check: got %v", errs)
	}
	if _, err := s.ToHub(&u); !scheme.IsNotRegistered(err) {
		t.Errorf("ToHub: got %v, want not registered", err)
	}
}

func TestUnstructuredList(t *testing.T) {
	l := scheme.UnstructuredList{TypeMeta: meta.TypeMeta{APIVersion: "g/v1", Kind: "CronTabList"},
		ListMeta: meta.ListMeta{ResourceVersion: "5"}}
	empty, err := l.MarshalJSON()
	if want := `{"apiVersion":"g/v1","items":[],"kind":"CronTabList","metadata":{"resourceVersion":"5"}}`; err != nil || string(empty) != want {
		t.Errorf("MarshalJSON: got %s, %v, want %s", empty, err, want)
	}
	l.Items = []*scheme.Unstructured{{Content: map[string]any{"a": int64(1)}}}
	text, err := json.Marshal(&l)
	if err != nil {
		t.Fatal(err)
	}
	var got scheme.UnstructuredList
	if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, l) {
		t.Errorf("round trip: got %+v, %v, want %+v", got, err, l)
	}
	if err := got.UnmarshalJSON([]byte(`{"metadata":1}`)); err == nil {
		t.Error("UnmarshalJSON of bad metadata: got no error")
	}
}

func FuzzUnstructured(f *testing.F) {
	for _, seed := range []string{crontab, `{}`, `{"a":1e999}`, `{"metadata":{"managedFields":[{"fieldsV1":{}}]}}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var u, again scheme.Unstructured
		if u.UnmarshalJSON(data) != nil {
			return
		}
		out, err := u.MarshalJSON()
		if err != nil {
			t.Fatalf("%q: %v", data, err)
		}
		if err := again.UnmarshalJSON(out); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		// Bytes are compared: 1.0 becomes 1, and so an integer.
		if second, err := again.MarshalJSON(); err != nil || !bytes.Equal(second, out) {
			t.Errorf("%q: got %s, %v after a round trip, want %s", data, second, err, out)
		}
	})
}
