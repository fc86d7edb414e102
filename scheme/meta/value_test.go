package meta

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestIntOrStringJSON(t *testing.T) {
	for _, tt := range []struct {
		in, want string
		proto    []byte
	}{
		{`5`, `5`, []byte{8, 0, 16, 5, 26, 0}},
		{`"50%"`, `"50%"`, []byte{8, 1, 16, 0, 26, 3, '5', '0', '%'}},
		{`"é\n"`, `"é\n"`, []byte{8, 1, 16, 0, 26, 3, 0xc3, 0xa9, 10}},
		{`null`, `0`, []byte{8, 0, 16, 0, 26, 0}},
		{`1.5`, `json: cannot unmarshal number 1.5 into Go value of type int32`, nil},
		{`2147483648`, `json: cannot unmarshal number 2147483648 into Go value of type int32`, nil},
		{`true`, `json: cannot unmarshal bool into Go value of type int32`, nil},
		{`[]`, `json: cannot unmarshal array into Go value of type int32`, nil},
	} {
		var v IntOrString
		if got := roundTrip(tt.in, &v, func() any { return v }); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.in, got, tt.want)
		}
		if tt.proto == nil {
			continue
		}
		var back IntOrString
		if got := v.AppendProto(nil); !bytes.Equal(got, tt.proto) {
			t.Errorf("%s: got % x, want % x", tt.in, got, tt.proto)
		} else if err := back.ParseProto(got); err != nil || back != v {
			t.Errorf("%s: read back %+v, %v", tt.in, back, err)
		}
	}
	if _, err := json.Marshal(IntOrString{Type: 7}); err == nil {
		t.Error("impossible type: got no error")
	}
}

func TestScaledValue(t *testing.T) {
	for _, tt := range []struct {
		in      IntOrString
		up      bool
		want    int
		wantErr string
	}{
		{FromInt32(3), true, 3, ""},
		{FromString("50%"), true, 4, ""},
		{FromString("50%"), false, 3, ""},
		{FromString("-5%"), false, -1, ""},
		{FromString("5"), false, 0, "invalid value for IntOrString: invalid type: string is not a percentage"},
		{FromString("x%"), false, 0, `invalid value for IntOrString: invalid value "x%": strconv.Atoi: parsing "x": invalid syntax`},
	} {
		got, err := tt.in.ScaledValue(7, tt.up)
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != tt.want || text != tt.wantErr {
			t.Errorf("%s of 7: got %d, %q, want %d, %q", tt.in, got, text, tt.want, tt.wantErr)
		}
	}
}

func TestRaw(t *testing.T) {
	for _, tt := range []struct {
		in    string
		raw   []byte
		proto []byte
	}{
		{`null`, nil, nil},
		{`{"a":1}`, []byte(`{"a":1}`), []byte("\x0a\x07{\"a\":1}")},
	} {
		var r, back RawExtension
		buffer := []byte(tt.in)
		if err := r.UnmarshalJSON(buffer); err != nil || !bytes.Equal(r.Raw, tt.raw) {
			t.Errorf("%s: got %q, %v, want %q", tt.in, r.Raw, err, tt.raw)
		}
		clear(buffer) // as a decoder does that reuses it
		if out, err := json.Marshal(r); err != nil || string(out) != tt.in {
			t.Errorf("%s: wrote %s, %v", tt.in, out, err)
		}
		if got := r.AppendProto(nil); !bytes.Equal(got, tt.proto) {
			t.Errorf("%s: got % x, want % x", tt.in, got, tt.proto)
		} else if err := back.ParseProto(got); err != nil || !bytes.Equal(back.Raw, r.Raw) {
			t.Errorf("%s: read back %q, %v", tt.in, back.Raw, err)
		}
	}
	var f FieldsV1
	if err := f.UnmarshalJSON([]byte(`{"f:a":{}}`)); err != nil || string(f.Raw) != `{"f:a":{}}` {
		t.Errorf("FieldsV1: got %q, %v", f.Raw, err)
	}
}

func FuzzParseGroupVersion(f *testing.F) {
	for _, s := range []string{"", "v1", "apps/v1", "a/b/c", "/", "a/", "/v1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		gv, ok := ParseGroupVersion(s)
		if !ok || gv.Group == "" {
			return
		}
		if back, ok := ParseGroupVersion(gv.String()); !ok || back != gv || gv.String() != s {
			t.Errorf("%q: got %+v, read back %+v", s, gv, back)
		}
	})
}

func TestParseGroupVersion(t *testing.T) {
	for _, tt := range []struct {
		in   string
		want GroupVersion
		ok   bool
	}{
		{"v1", GroupVersion{Version: "v1"}, true},
		{"apps/v1", GroupVersion{"apps", "v1"}, true},
		{"", GroupVersion{}, true},
		{"a/b/c", GroupVersion{"a", "b/c"}, false},
	} {
		if got, ok := ParseGroupVersion(tt.in); got != tt.want || ok != tt.ok {
			t.Errorf("ParseGroupVersion(%q): got %+v, %v, want %+v, %v", tt.in, got, ok, tt.want, tt.ok)
		}
	}
}

// TestRawExtensionEqual compares values as they are stored.
func TestRawExtensionEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`{"a":[1,"x y"]}`, "{ \"a\" : [1,\n\"x y\"] }\t", true},
		{`{"a":"<"}`, `{"a":"\u003c"}`, true},
		{`{"a":"x y"}`, `{"a":"xy"}`, false},
		{`{"a":1}`, `{"a":1.0}`, false},
		{``, `{}`, false},
		{``, ``, true},
	} {
		if got := (&RawExtension{[]byte(tt.a)}).EqualTo(&RawExtension{[]byte(tt.b)}); got != tt.want {
			t.Errorf("%q and %q: got %v, want %v", tt.a, tt.b, got, tt.want)
		}
	}
}
