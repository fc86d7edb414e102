package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// compareEncode encodes v as encoding/json does and back.
func compareEncode(t *testing.T, v *Odd) {
	t.Helper()
	want, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	got, err := AppendJSON([]byte("before"), v)
	if err != nil || string(got) != "before"+string(want) {
		t.Fatalf("AppendJSON: %v\n got %s\nwant before%s", err, got, want)
	}
	var back, wantBack Odd
	if err := json.Unmarshal(want, &wantBack); err != nil {
		t.Fatal(err)
	}
	strict, err := decodeInto(want, planOf(typeinfo.For[Odd]()), pointer(&back), DecodeRequest{Strict: true})
	if err != nil || strict != nil {
		t.Fatalf("decode %s: %v, %q", want, err, strict)
	}
	back.Anything = floatsOnly(back.Anything)
	back.Anythings, _ = floatsOnly(back.Anythings).(map[string]any)
	emptyBytes(&wantBack)
	if !reflect.DeepEqual(back, wantBack) {
		t.Fatalf("decode %s:\n got %+v\nwant %+v", want, back, wantBack)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, want, "", "  "); err != nil {
		t.Fatal(err)
	}
	if got := AppendIndent(nil, want); string(got) != indented.String() {
		t.Fatalf("AppendIndent(%s):\n got %s\nwant %s", want, got, indented.Bytes())
	}
}

func TestEncodeAsEncodingJSON(t *testing.T) {
	for seed := range uint64(500) {
		compareEncode(t, randomOdd(seed))
	}
	invalid := &Odd{High: "a\xffb\xc0", Map: map[string]Shapes{"\xff": {}, "<": {}}, Loose: Loose{Anything: map[string]any{"b": "\xff", "a": nil}}}
	compareEncode(t, invalid)
}

func TestAppendJSONTree(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{nil, "null"},
		{"<\u2028>", `"\u003c\u2028\u003e"`},
		{map[string]any{"b": int64(1), "a": []any{nil, true, 1.5, 1e21, map[string]any{}}}, `{"a":[null,true,1.5,1e+21,{}],"b":1}`},
	} {
		if got, err := AppendJSON([]byte("x"), tt.in); err != nil || string(got) != "x"+tt.want {
			t.Errorf("AppendJSON(%v): got %s, %v, want x%s", tt.in, got, err, tt.want)
		}
	}
}

// TestEncodeAtOnce encodes types for the first time in many goroutines, as the value itself and
// inside of an any. Under the race detector it shows that goccy/go-json needs no lock.
func TestEncodeAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for i := range 40 {
		// All these types differ, so each is compiled for the first time.
		name := fmt.Sprintf("F%d", i)
		fresh := reflect.StructOf([]reflect.StructField{
			{Name: name, Type: reflect.TypeFor[[]Odd](), Tag: `json:"odds"`},
			{Name: "Any", Type: reflect.TypeFor[any](), Tag: `json:"any,omitempty"`},
		})
		inner := reflect.New(reflect.ArrayOf(i, fresh)).Elem().Interface()
		for range 8 {
			wg.Go(func() {
				v := reflect.New(fresh)
				v.Elem().Field(0).Set(reflect.ValueOf([]Odd{{}}))
				v.Elem().Field(1).Set(reflect.ValueOf(map[string]any{"x": inner}))
				out, err := AppendJSON(nil, v.Interface())
				if want, _ := json.Marshal(v.Interface()); err != nil || string(out) != string(want) {
					t.Errorf("AppendJSON: %v\n got %s\nwant %s", err, out, want)
				}
			})
		}
	}
	wg.Wait()
}

func FuzzEncode(f *testing.F) {
	f.Add(uint64(1), "text<>")
	f.Fuzz(func(t *testing.T, seed uint64, text string) {
		o := randomOdd(seed)
		o.High, o.Text = text, text
		o.Labels = map[string]string{text: text}
		o.Anything = map[string]any{"x": text}
		compareEncode(t, o)
	})
}

func FuzzIndent(f *testing.F) {
	for _, s := range decodeSeeds {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got := AppendIndent(nil, data)
		var want bytes.Buffer
		if json.Valid(data) && json.Indent(&want, bytes.TrimSpace(data), "", "  ") == nil && string(got) != want.String() {
			t.Fatalf("AppendIndent(%q): got %q, want %q", data, got, want.Bytes())
		}
	})
}

func TestAppend(t *testing.T) {
	f := newTestFactory(t)
	cm := &corev1.ConfigMap{
		TypeMeta:   meta.TypeMeta{Kind: "ConfigMap", APIVersion: "v1"},
		ObjectMeta: meta.ObjectMeta{Name: "a"},
		Data:       map[string]string{"k": "<v>"},
	}
	status := &meta.Status{TypeMeta: meta.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Code: 404}
	for _, tt := range []struct {
		name  string
		obj   meta.Typed
		media Media
		want  string
	}{
		{"compact", cm, Media{}, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a"},"data":{"k":"\u003cv\u003e"}}` + "\n"},
		{"pretty", cm, Media{Pretty: true}, "{\n  \"kind\": \"ConfigMap\",\n  \"apiVersion\": \"v1\",\n  \"metadata\": {\n    \"name\": \"a\"\n  },\n  \"data\": {\n    \"k\": \"\\u003cv\\u003e\"\n  }\n}"},
		{"YAML", cm, Media{Type: YAML}, "apiVersion: v1\ndata:\n  k: <v>\nkind: ConfigMap\nmetadata:\n  name: a\n"},
		{"protobuf", cm, Media{Type: Protobuf}, "k8s\x00\n\x0f\n\x02v1\x12\tConfigMap\x12\x27\n\x13\n\x01a\x12\x00\x1a\x00\"\x00*\x002\x008\x00B\x00\x12\x08\n\x01k\x12\x03<v>\x1a\x00\"\x00"},
		{"status", status, Media{}, `{"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","code":404}` + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := f.Append([]byte("before"), tt.obj, tt.media)
			if err != nil || (tt.media.Type != Protobuf && string(got) != "before"+tt.want) {
				t.Errorf("Append: %v\n got %q\nwant %q", err, got, "before"+tt.want)
			}
			data, err := AppendJSON(nil, tt.obj)
			if err != nil {
				t.Fatal(err)
			}
			if again, err := f.Transcode([]byte("before"), data, tt.media); err != nil || string(again) != string(got) {
				t.Errorf("Transcode: %v\n got %q\nwant %q", err, again, got)
			}
		})
	}
	_, err := f.Append(nil, &meta.Table{}, Media{Type: Protobuf})
	want := "object *meta.Table does not implement the protobuf marshalling interface and cannot be encoded to a protobuf message"
	if se, ok := err.(*meta.StatusError); !ok || se.Status.Code != 406 || se.Status.Message != want {
		t.Errorf("Append(Table): got %v, want a 406: %s", err, want)
	}
}

func TestPartial(t *testing.T) {
	got, err := AppendPartial(nil, []byte(`{"kind":"Secret","apiVersion":"v1","metadata":{"name":"s","labels":{"a":"b"}},"data":{"k":"v"}}`), "v1")
	want := `{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"s","labels":{"a":"b"}}}`
	if err != nil || string(got) != want {
		t.Errorf("AppendPartial: %v\n got %s\nwant %s", err, got, want)
	}
	for _, bad := range []string{`{}`, `[]`, ``, `{"metadata":1}`} {
		if got, err := AppendPartial(nil, []byte(bad), "v1"); err == nil {
			t.Errorf("AppendPartial(%s): got %s, want an error", bad, got)
		}
	}
}
