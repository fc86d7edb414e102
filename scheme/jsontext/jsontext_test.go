package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meter"
)

// texts are JSON, and what is nearly that.
var texts = []string{
	`null`, ` true `, "\tfalse\r\n", `""`, `0`, `-0`, `-0.0`, `1`, `-12.5e+3`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775809`, `1e400`,
	`1e-400`, `1E5`, `1e-7`, `1e21`, `123456789012345678901234567890`, strings.Repeat("9", 400), `"a\"\\\/\b\f\n\r\tz"`, `"\u00e9\ud83d\ude00\ud800x\udc00\ud800\u0041"`,
	"\"\xff\xe2\x80\xa8 é <a>&\"", `{"a":1,"a":{"b":[]}}`, `{ "b" : [ 1 , {"<":">"} , "12345678\"90" ] , "a" : null }`, `[[],{},[null,true]]`, `{"\u0061":1,"a":2}`,
	``, ` `, `{`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `[1 2]`, `01`, `1.`, `1e`, `-`, `+1`, `.5`, `nul`, `truex`, `"`, `"\`, `"\u12`, `"\x"`, "\"\n\"", `1 2`, `{}x`, "\x00", "[\x00]",
	`"abcdefgh\u003cijklmnop>qrstuvwx&"`, "\"\xe2\x80\"", "\"abcdefg\xe2\x80\xa9hijklmnop\x7f\"",
}

func addTexts(f *testing.F) {
	for _, s := range texts {
		f.Add([]byte(s))
	}
}

// plain decodes as Decode does, by way of encoding/json.
func plain(t *testing.T, data []byte) (any, error) {
	t.Helper()
	var floats, tree any
	err := json.Unmarshal(data, &floats)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&tree); err != nil {
		t.Fatal(err)
	}
	return settle(tree), nil
}

func settle(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			v[k] = settle(e)
		}
	case []any:
		for i, e := range v {
			v[i] = settle(e)
		}
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	}
	return v
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// FuzzDecode holds trees against encoding/json, both ways.
func FuzzDecode(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		want, wantErr := plain(t, data)
		got, err := Decode(data, nil)
		if text(err) != text(wantErr) {
			t.Fatalf("Decode(%q): got error %v, want %v", data, err, wantErr)
		}
		if err != nil {
			return
		}
		if !reflect.DeepEqual(got, want) || !Equal(got, want) {
			t.Fatalf("Decode(%q): got %v, want %v", data, got, want)
		}
		for _, style := range []Style{HTML, Plain} {
			written, err := AppendTree(nil, got, style)
			if want := marshal(t, want, style); err != nil || string(written) != want {
				t.Errorf("AppendTree of %q: got %s, %v, want %s", data, written, err, want)
			}
		}
	})
}

func marshal(t *testing.T, v any, style Style) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(style == HTML)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// FuzzRaw looks into a value level by level: that finds what Decode finds, and nothing where the value is malformed.
func FuzzRaw(f *testing.F) {
	addTexts(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		raw := RawOf(data)
		got, ok := whole(raw)
		s := NewScanner(data, true, nil)
		skipped := errors.Join(s.Skip(), s.End())
		if valid := json.Valid(data); ok != valid || (skipped == nil) != valid {
			t.Fatalf("%q: look says %v, skip %v, encoding/json %v", data, ok, skipped, valid)
		}
		if !ok {
			return
		}
		if want, err := plain(t, data); err == nil {
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%q: got %v, want %v", data, got, want)
			}
		} else if !s.Wide {
			t.Errorf("%q: %v, and no number was wide", data, err)
		}
		var compact, escaped bytes.Buffer
		if err := json.Compact(&compact, data); err != nil {
			t.Fatal(err)
		}
		json.HTMLEscape(&escaped, compact.Bytes())
		if got := AppendRaw(nil, raw, HTML); string(got) != escaped.String() {
			t.Errorf("AppendRaw(%q): got %q, want %q", data, got, &escaped)
		}
		if got := AppendRaw(nil, raw, Plain); string(got) != compact.String() {
			t.Errorf("AppendRaw(%q), plain: got %q, want %q", data, got, &compact)
		}
		ms, ok := Raw(`{"a":`+string(raw)+`,"b": `+string(raw)+"\n}").Members(0, nil)
		if !ok && strings.Count(string(data), "[")+strings.Count(string(data), "{") < MaxDepth {
			t.Fatalf("%q: cannot be a member", data)
		}
		for _, m := range ms {
			if got := m.AppendValue(nil, HTML); string(got) != escaped.String() || m.Value != raw {
				t.Errorf("AppendValue(%q): got %q of %q, want %q", data, got, m.Value, &escaped)
			}
		}
	})
}

// whole looks into everything. Numbers beyond a float64 become infinite.
func whole(r Raw) (any, bool) {
	v, ok := r.Look(0)
	switch v := v.(type) {
	case map[string]any:
		for k, held := range v {
			if held, raw := held.(Raw); raw {
				v[k], _ = whole(held)
			}
		}
	case []any:
		for i, held := range v {
			if held, raw := held.(Raw); raw {
				v[i], _ = whole(held)
			}
		}
	case Raw:
		return v.Number(), ok && v.IsNumber()
	}
	return v, ok
}

// FuzzString holds quoting against encoding/json, and reading what was quoted against what it was.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00<b>&\u2028\"\\\n\xff\b\f\t\r\x7f\ufffd\u20ac\U0001f600", "\xe2\x80", "1234567\"", "12345678<"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, style := range []Style{HTML, Plain} {
			quoted := AppendString([]byte("x"), s, style)[1:]
			if want := marshal(t, s, style); string(quoted) != want {
				t.Errorf("AppendString(%q): got %s, want %s", s, quoted, want)
			}
			if end := StringEnd(append(quoted, `"x`...), 0); end != len(quoted) {
				t.Errorf("StringEnd(%s): got %d, want %d", quoted, end, len(quoted))
			}
			if got, ok := RawOf(quoted).Str(); !ok || got != string([]rune(s)) {
				t.Errorf("%q: quoted and read %q, %v", s, got, ok)
			}
		}
	})
}

// As deep as encoding/json reads, and no deeper.
func TestDepth(t *testing.T) {
	for _, bracket := range []string{"[]", `{"a":}`} {
		opening, closing := bracket[:len(bracket)-1], bracket[len(bracket)-1:]
		for depth, want := range map[int]bool{MaxDepth: true, MaxDepth + 1: false} {
			data := []byte(strings.Repeat(opening, depth) + strings.Repeat(closing, depth))
			if opening != "[" {
				data = []byte(strings.Repeat(opening, depth) + "1" + strings.Repeat(closing, depth))
			}
			if _, err := Decode(data, nil); (err == nil) != want {
				t.Errorf("%d times %s: got %v, want success %v", depth, opening, err, want)
			}
			if json.Valid(data) != want {
				t.Errorf("%d times %s: encoding/json does not say %v", depth, opening, want)
			}
			if _, ok := RawOf(data).Look(1); ok {
				t.Errorf("%d times %s within another: got no error", depth, opening)
			}
		}
	}
}

// What is no tree and has no JSON is an error.
func TestAppendTreeError(t *testing.T) {
	for _, v := range []any{func() {}, map[string]any{"a": []any{make(chan int)}}} {
		if got, err := AppendTree(nil, v, HTML); err == nil {
			t.Errorf("AppendTree(%T): got %s", v, got)
		}
	}
	if got, err := AppendTree(nil, []any{1, []string{"<"}}, Plain); err != nil || string(got) != `[1,["<"]]` {
		t.Errorf("Go values in a tree: got %s, %v", got, err)
	}
}

// A lazy tree is written like the tree that it stands for, but for the order in what nobody has looked into.
func TestLazyTree(t *testing.T) {
	tree, ok := RawOf([]byte(` { "c" : {"z":1.0,"a":"<"} , "b":null, "a" : [ "\u0041" ] } `)).Look(0)
	got, err := AppendTree(nil, tree, HTML)
	if want := `{"a":["\u0041"],"b":null,"c":{"z":1.0,"a":"\u003c"}}`; !ok || err != nil || string(got) != want {
		t.Errorf("got %s, %v, %v, want %s", got, ok, err, want)
	}
}

func TestEqual(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true}, {`1.0`, `1`, true}, {`1`, `1.5`, false}, {`1`, `"1"`, false}, {`1.5`, `1.5`, true}, {`null`, `false`, false},
		{`{"a":[1]}`, `{"a":[1.0]}`, true}, {`{"a":null}`, `{}`, false}, {`{"a":null}`, `{"b":null}`, false}, {`[]`, `{}`, false}, {`[1]`, `[1,1]`, false},
	} {
		a, errA := Decode([]byte(tt.a), nil)
		b, errB := Decode([]byte(tt.b), nil)
		if got := Equal(a, b); got != tt.want || errA != nil || errB != nil {
			t.Errorf("Equal(%s, %s): got %v", tt.a, tt.b, got)
		}
	}
}

func TestDecodeEndsWithMeter(t *testing.T) {
	data := []byte("[" + strings.Repeat("1,", 1<<17) + "1]")
	if _, err := Decode(data, meter.WithBudget(t.Context(), 1<<16)); !errors.Is(err, meter.ErrSpent) {
		t.Errorf("got %v, want %v", err, meter.ErrSpent)
	}
}
