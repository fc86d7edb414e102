package codec

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// TestDecodeErrors compares errors with those of kube-apiserver 1.36.
func TestDecodeErrors(t *testing.T) {
	f := newTestFactory(t)
	deep := func(open string, n int) string {
		return `{"apiVersion":"v1","kind":"ConfigMap","x":` + strings.Repeat(open, n)
	}
	for _, tt := range []struct {
		name string
		kind meta.GroupVersionKind
		body string
		want string
	}{
		{"truncated", configMapKind, `{"apiVersion":"v1",`,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"apiVersion":"v1",)`},
		{"not JSON", configMapKind, `hello`,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'h' looking for beginning of value (68656c6c6f)`},
		{"empty", configMapKind, ``,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input (<empty>)`},
		{"long", configMapKind, `{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}`,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: unexpected end of JSON input ({"apiVersion": "v1", "kind": " ...)`},
		{"YAML as JSON", configMapKind, "apiVersion: v1\nkind: ConfigMap\n",
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character 'a' looking for beginning of value (61706956657273696f6e3a2076310a6b696e643a20436f6e6669674d6170 ...)`},
		{"array", configMapKind, `[]`,
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" } (5b5d)`},
		{"deep arrays", configMapKind, deep("[", 10001),
			`the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: invalid character '[' exceeded max depth ({"apiVersion":"v1","kind":"Con ...)`},
		{"wrong version", configMapKind, `{"apiVersion":"v7","kind":"ConfigMap"}`,
			`ConfigMap in version "v7" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "v7" in scheme "test"`},
		{"unknown group", configMapKind, `{"apiVersion":"nope/v1","kind":"ConfigMap"}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: no kind "ConfigMap" is registered for version "nope/v1" in scheme "test"`},
		{"bad apiVersion", configMapKind, `{"apiVersion":"a/b/c","kind":"ConfigMap"}`,
			`the object provided is unrecognized (must be of type ConfigMap): unexpected GroupVersion string: a/b/c ({"apiVersion":"a/b/c","kind":" ...)`},
		{"map from array", configMapKind, `{"data":["a"]}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.data of type map[string]string`},
		{"map from string", configMapKind, `{"data":"str"}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal string into Go struct field ConfigMap.data of type map[string]string`},
		{"map value", configMapKind, `{"data":{"n":1}}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string`},
		{"metadata", configMapKind, `{"metadata":{"name":5}}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string`},
		{"label", configMapKind, `{"metadata":{"labels":{"a":1}}}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ObjectMeta.metadata.labels of type string`},
		{"first of two", configMapKind, `{"metadata":{"name":true},"data":[]}`,
			`ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal bool into Go struct field ObjectMeta.metadata.name of type string`},
		{"nested in lists", podKind, `{"spec":{"containers":[{"name":"c","ports":[{"containerPort":"http"}]}]}}`,
			`Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field ContainerPort.spec.containers.ports.containerPort of type int32`},
		{"fraction", podKind, `{"spec":{"terminationGracePeriodSeconds":1.5}}`,
			`Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 1.5 into Go struct field PodSpec.spec.terminationGracePeriodSeconds of type int64`},
		{"overflow", podKind, `{"spec":{"containers":[{"ports":[{"hostPort":2147483648}]}]}}`,
			`Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number 2147483648 into Go struct field ContainerPort.spec.containers.ports.hostPort of type int32`},
		{"inlined struct", podKind, `{"spec":{"volumes":[{"name":"v","emptyDir":7}]}}`,
			`Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal number into Go struct field Volume.spec.volumes.VolumeSource.emptyDir of type v1.EmptyDirVolumeSource`},
		{"base64", secretKind, `{"data":{"a":"%%%"}}`,
			`Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 0`},
		{"custom type wins", oddKind, `{"text":1,"upper":"a1"}`,
			`Odd in version "v1" cannot be handled as a Odd: "a1" is not made of letters`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, strict := range []bool{false, true} {
				out, err := f.Decode(DecodeRequest{Data: []byte(tt.body), Default: tt.kind, Strict: strict})
				if err == nil {
					t.Fatalf("Decode(%s): got no error", tt.body)
				}
				got := BodyError(err, out.GVK, tt.kind.Kind, []byte(tt.body)).Status.Message
				if got != tt.want {
					t.Errorf("Decode(%s, strict=%v):\n got %s\nwant %s", tt.body, strict, got, tt.want)
				}
			}
		})
	}
}

func TestDecodeStrict(t *testing.T) {
	f := newTestFactory(t)
	for _, tt := range []struct {
		kind meta.GroupVersionKind
		body string
		want []string
	}{
		{configMapKind, `{"data":{"a":"b"}}`, nil},
		{configMapKind, `{"dato":{"x":"y","x":1},"metadata":{"labelz":{},"name":"s"}}`,
			[]string{`unknown field "dato"`, `unknown field "metadata.labelz"`}},
		{configMapKind, `{"metadata":{"name":"dup","name":"dup2"},"data":{"k":"1","k":"2"}}`,
			[]string{`duplicate field "metadata.name"`, `duplicate field "data.k"`}},
		{configMapKind, `{"Data":{}, "data":{}, "data":{}, "data":{}}`,
			[]string{`unknown field "Data"`, `duplicate field "data"`}},
		{podKind, `{"spec":{"bogus":1,"containers":[{"name":"c","imagePullPolcy":"x","env":[{"name":"A"},{"valu":"b"}]}],"x":1}}`,
			[]string{`unknown field "spec.bogus"`, `unknown field "spec.containers[0].imagePullPolcy"`,
				`unknown field "spec.containers[0].env[1].valu"`, `unknown field "spec.x"`}},
		{oddKind, `{"map":{"a.b":{"x":1},"a.b":{"text":"t"}},"anything":{"a":1,"a":[{"b":1,"b":2}]},"anythings":{"q":1,"q":2}}`,
			[]string{`unknown field "map.a.b.x"`, `duplicate field "map.a.b"`, `duplicate field "anything.a"`,
				`duplicate field "anything.a[0].b"`, `duplicate field "anythings.q"`}},
		{oddKind, `{"nested":{"\u0074ext":"a","text":"b","te\"xt":1}}`,
			[]string{`duplicate field "nested.text"`, `unknown field "nested.te\"xt"`}},
	} {
		req := DecodeRequest{Data: []byte(tt.body), Default: tt.kind, Strict: true}
		out, err := f.Decode(req)
		if err != nil {
			t.Errorf("Decode(%s): %v", tt.body, err)
			continue
		}
		if !reflect.DeepEqual(out.Strict, tt.want) {
			t.Errorf("Decode(%s):\n got %q\nwant %q", tt.body, out.Strict, tt.want)
		}
		req.Strict = false
		loose, err := f.Decode(req)
		if err != nil || !reflect.DeepEqual(out.Object, loose.Object) {
			t.Errorf("Decode(%s): strict and loose decoding differ: %v, %v, %v", tt.body, out.Object, loose.Object, err)
		}
	}
}

func TestDecodeStrictIsBounded(t *testing.T) {
	f := newTestFactory(t)
	body := `{"x":1`
	for i := range 300 {
		body += `,"x` + strings.Repeat("y", i) + `":1`
	}
	out, err := f.Decode(DecodeRequest{Data: []byte(body + "}"), Default: configMapKind, Strict: true})
	if err != nil || len(out.Strict) != maxStrict {
		t.Errorf("Decode: got %d messages, error %v, want %d", len(out.Strict), err, maxStrict)
	}
}

func TestDecodeKind(t *testing.T) {
	f := newTestFactory(t)
	for _, tt := range []struct {
		name, body string
		def        meta.GroupVersionKind
		want       meta.GroupVersionKind
		err        string
	}{
		{"default", `{}`, configMapKind, configMapKind, ""},
		{"null", `null`, configMapKind, configMapKind, ""},
		{"kind only", `{"kind":"ConfigMap"}`, configMapKind, configMapKind, ""},
		{"version only", `{"apiVersion":"v1"}`, configMapKind, configMapKind, ""},
		{"another kind", `{"metadata":{"name":"x"},"kind":"Secret","apiVersion":"v1"}`, configMapKind, secretKind, ""},
		{"another case", `{"Kind":"Secret","APIVERSION":"v1","metadata":{"name":"x"}}`, configMapKind, secretKind, ""},
		{"stored", `{"kind":"Secret","apiVersion":"v1","metadata":{"name":"x"}}`, meta.GroupVersionKind{}, secretKind, ""},
		{"stored, late kind", `{"metadata":{"name":"x"},"kind":"Secret","apiVersion":"v1"}`, meta.GroupVersionKind{}, secretKind, ""},
		{"no kind", `{"apiVersion":"v1"}`, meta.GroupVersionKind{}, meta.GroupVersionKind{Version: "v1"},
			`Object 'Kind' is missing in '{"apiVersion":"v1"}'`},
		{"no version", `{"kind":"Pod"}`, meta.GroupVersionKind{}, meta.GroupVersionKind{Kind: "Pod"},
			`Object 'apiVersion' is missing in '{"kind":"Pod"}'`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := f.Decode(DecodeRequest{Data: []byte(tt.body), Default: tt.def})
			if msg := errText(err); msg != tt.err || out.GVK != tt.want {
				t.Fatalf("Decode(%s): got %v, %q, want %v, %q", tt.body, out.GVK, msg, tt.want, tt.err)
			}
			if tt.err == "" && out.Object.GetTypeMeta().GroupVersionKind() != tt.want {
				t.Errorf("Decode(%s): object says %v, want %v", tt.body, out.Object.GetTypeMeta(), tt.want)
			}
		})
	}
}

// TestBodyErrorIsBounded: the error about a long body is short.
func TestBodyErrorIsBounded(t *testing.T) {
	f := newTestFactory(t)
	long := strings.Repeat("<", 1<<20)
	for name, body := range map[string]string{
		"kind":       `{"apiVersion":"v1","kind":"` + long + `"}`,
		"apiVersion": `{"kind":"ConfigMap","apiVersion":"` + long + `"}`,
		"time":       `{"metadata":{"creationTimestamp":"` + long + `"}}`,
		"number":     `{"metadata":{"generation":` + strings.Repeat("9", 1<<20) + `}}`,
		"no kind":    `{"apiVersion":"v1","a":"` + long + `"}`,
	} {
		def := configMapKind
		if name == "no kind" {
			def = meta.GroupVersionKind{}
		}
		out, err := f.Decode(DecodeRequest{Data: []byte(body), Default: def})
		if err == nil {
			t.Errorf("%s: decoded %v", name, out.GVK)
			continue
		}
		if got := len(BodyError(err, out.GVK, "ConfigMap", []byte(body)).Status.Message); got > 256<<10 {
			t.Errorf("%s: got a message of %d bytes, want 256 KiB at most", name, got)
		}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// TestDecodeAsEncodingJSON compares decoding with encoding/json, also for repeated fields, which
// both merge in the order of the input.
func TestDecodeAsEncodingJSON(t *testing.T) {
	for _, body := range decodeSeeds {
		compareDecode(t, []byte(body))
	}
}

var decodeSeeds = []string{
	`{}`, `null`, ` { } `, `{"text":"a\u00e9\ud83d\ude00\ud800x","word":"w"}`, "{\"text\":\"\xff\xfe\"}",
	`{"nested":{"text":"1","strings":["a","b","c"]},"nested":{"word":"2","strings":[null,"x"]}}`,
	`{"list":[{"text":"a"},{"text":"b"}],"list":[{"word":"c"}]}`,
	`{"pointers":[null,{"int32":1}],"pointers":[{"int64":-9007199254740993}]}`,
	`{"map":{"a":{"text":"x"}},"map":{"a":{"word":"y"},"b":null}}`,
	`{"ints":[1,-2,3e0]}`, `{"ints":[],"bools":[true,false],"floats":[1,2.5e3,-0]}`,
	`{"ints":null,"map":null,"pointer":null,"anything":null}`,
	`{"pointer":{"textP":"a","boolP":true,"int32P":5,"int64P":6,"upperP":"abc","next":{"next":{}}},"pointer":null}`,
	`{"bytes":"aGk=","blobs":["aGk=",null,""],"blobMap":{"a":"aGk=","b":null,"c":""}}`,
	`{"bytes":[104,105]}`, `{"bytes":[256]}`, `{"bytes":"a"}`, `{"bytes":"aG\nk="}`,
	`{"upper":null,"upperP":null,"customs":{"a":"b","c":null}}`, `{"upper":{}}`, `{"customs":{"a":"1"}}`,
	`{"namedMap":{"a":"b"},"intMap":{"x":1,"y":9223372036854775808},"listMap":{"l":["a"],"m":null,"n":[]}}`,
	`{"anything":{"a":[1,2.5,"s",null,true,{"b":[]}]},"anythings":{"a":{},"b":1e400}}`,
	`{"metadata":{"name":"n","labels":{"a":"b"},"finalizers":["x"],"ownerReferences":[{"uid":"u","controller":true}]}}`,
	`{"text":1,"bool":"x","int32":true,"float":"1","list":{},"map":[],"nested":3,"strings":[1]}`,
	`{"text":"a"} x`, `{"text":"a",}`, `{,}`, `{"a"}`, `[1`, `{"text":"\x"}`, `{"text":"a` + "\n" + `"}`, `{"int32":01}`, `{"int32":-}`, `{"int32":1.}`,
	`{"text":tru}`, `{"text":"a"`, `"`, `{"text":"\ud83d\u0041"}`, `{"float":1e999}`, `{"int64":1e2}`, `{"high":"h"}`,
}

// compareDecode compares decoding into Odd with encoding/json, for names in the right letter case.
func compareDecode(t *testing.T, body []byte) {
	t.Helper()
	p := planOf(typeinfo.For[Odd]())
	var got, quick, want Odd
	strict, gotErr := decodeInto(body, p, pointer(&got), DecodeRequest{Strict: true})
	if _, err := decodeInto(body, p, pointer(&quick), DecodeRequest{Shared: true}); errText(err) != errText(gotErr) {
		t.Errorf("%q: strict: %v, loose: %v", body, gotErr, err)
	}
	if !reflect.DeepEqual(got, quick) && gotErr == nil {
		t.Errorf("%q: strict: %+v, loose: %+v", body, got, quick)
	}
	for _, s := range strict {
		if strings.HasPrefix(s, "unknown") {
			return // encoding/json might find it in another case
		}
	}
	wantErr := json.Unmarshal(body, &want)
	if gotErr == nil && wantErr == nil {
		want.Anything, _ = floatsOnly(want.Anything), 0
		got.Anything = floatsOnly(got.Anything)
		want.Anythings, _ = floatsOnly(want.Anythings).(map[string]any)
		got.Anythings, _ = floatsOnly(got.Anythings).(map[string]any)
		emptyBytes(&want)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%q:\n got %+v\nwant %+v", body, got, want)
		}
		return
	}
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%q: got error %v, want %v", body, gotErr, wantErr)
	}
	if gotErr != nil && !json.Valid(body) && gotErr.Error() != wantErr.Error() {
		t.Errorf("%q: got error %v, want %v", body, gotErr, wantErr)
	}
}

// floatsOnly turns integers in a tree into floats, as encoding/json decodes them.
func floatsOnly(v any) any {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case []any:
		for i := range v {
			v[i] = floatsOnly(v[i])
		}
		return v
	case map[string]any:
		for k := range v {
			v[k] = floatsOnly(v[k])
		}
		return v
	}
	return v
}

// emptyBytes replaces null by empty bytes in lists and maps, as this package decodes them;
// encoding/json does not.
func emptyBytes(o *Odd) {
	for i, b := range o.Blobs {
		if b == nil {
			o.Blobs[i] = []byte{}
		}
	}
	for key, b := range o.BlobMap {
		if b == nil {
			o.BlobMap[key] = []byte{}
		}
	}
}

// TestDecodeNullBytes: null is empty bytes in a list or map of bytes, and changes nothing in a
// field.
func TestDecodeNullBytes(t *testing.T) {
	const body = `{"nested":{"bytes":null},"blobs":[null,"aGk=",""],"blobMap":{"a":null,"b":"aGk=","c":"","d":[104,105]}}`
	for _, request := range []DecodeRequest{{}, {Strict: true}, {Shared: true}} {
		var got Odd
		if _, err := decodeInto([]byte(body), planOf(typeinfo.For[Odd]()), pointer(&got), request); err != nil {
			t.Fatal(err)
		}
		empty, hi := []byte{}, []byte("hi")
		want := Odd{Blobs: [][]byte{empty, hi, empty}, BlobMap: map[string][]byte{"a": empty, "b": hi, "c": empty, "d": hi}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v:\n got %+v\nwant %+v", request, got, want)
		}
	}
}

func FuzzDecode(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) { compareDecode(t, body) })
}

func FuzzTree(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, _, err := DecodeTree(body, true, nil)
		loose, _, looseErr := DecodeTree(body, false, nil)
		if errText(err) != errText(looseErr) || err == nil && !reflect.DeepEqual(got, loose) {
			t.Fatalf("DecodeTree(%q): strict %v, %v; loose %v, %v", body, got, err, loose, looseErr)
		}
		var want any
		wantErr := json.Unmarshal(body, &want)
		if errText(err) != errText(wantErr) {
			t.Fatalf("DecodeTree(%q): got error %v, want %v", body, err, wantErr)
		}
		if err == nil && !reflect.DeepEqual(floatsOnly(got), want) {
			t.Fatalf("DecodeTree(%q): got %v, want %v", body, got, want)
		}
	})
}

func TestDecodeShares(t *testing.T) {
	f := newTestFactory(t)
	body := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"name"},"data":{"key":"value"}}`)
	out, err := f.Decode(DecodeRequest{Data: body, Default: configMapKind})
	if err != nil {
		t.Fatal(err)
	}
	clear(body)
	cm := out.Object.(*corev1.ConfigMap)
	if cm.Name != "name" || cm.Data["key"] != "value" || cm.Kind != "ConfigMap" {
		t.Errorf("the object changed with its input: %+v", cm)
	}
}

// TestStrictText: many repeated fields below a long key must not make messages whose total length
// is unbounded.
func TestStrictText(t *testing.T) {
	key := strings.Repeat("k", 1<<20)
	body := `{"` + key + `":{` + strings.Repeat(`"a":1,"b":1,`, 100_000) + `"c":1}}`
	_, found, err := DecodeTree([]byte(body), true, nil)
	if want := fmt.Sprintf("duplicate field %q", field.Cut(key, field.MaxText)); err != nil || len(found) == 0 || found[0] != want {
		t.Fatalf("DecodeTree: %d messages, error %v", len(found), err)
	}
	total := 0
	for _, s := range found {
		total += len(s)
	}
	if total > maxStrict*2*field.MaxText {
		t.Errorf("DecodeTree: messages of %d bytes", total)
	}
}

func TestDecodeAs(t *testing.T) {
	f := newTestFactory(t)
	for _, tt := range []struct{ data, wantErr string }{
		{`{"kind":"Other","metadata":{"name":"a"}}`, "<nil>"},
		{`{"metadata":{"name":"a"}`, "unexpected end of JSON input"},
		{`{"metadata":{"name":1}}`, "json: cannot unmarshal number into Go struct field ObjectMeta.metadata.name of type string"},
	} {
		out, err := f.Decode(DecodeRequest{Data: []byte(tt.data), As: configMapKind})
		if fmt.Sprint(err) != tt.wantErr || out.GVK != configMapKind {
			t.Errorf("Decode(%s): got %v, %v, want %s", tt.data, out.GVK, err, tt.wantErr)
		}
	}
}
