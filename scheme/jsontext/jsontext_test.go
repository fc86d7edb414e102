package jsontext

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/meter"
)

// texts are JSON, and texts that are almost JSON.
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

// plain is the plain twin of Decode, by way of encoding/json.
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

// FuzzDecode compares decoding and encoding of trees with encoding/json.
func FuzzDecode(f *testing.F) {
	addTexts(f)
	f.Fuzz(checkDecode)
}

func checkDecode(t *testing.T, data []byte) {
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

// FuzzRaw decodes a value level by level by Look. It finds what Decode finds, and reports false if
// the value is malformed.
func FuzzRaw(f *testing.F) {
	addTexts(f)
	f.Fuzz(checkRaw)
}

func checkRaw(t *testing.T, data []byte) {
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
}

// whole decodes all levels of a Raw. Numbers beyond a float64 become infinite.
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

// FuzzString compares quoting with encoding/json, and reads the quoted string back.
func FuzzString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\x00<b>&\u2028\"\\\n\xff\b\f\t\r\x7f\ufffd\u20ac\U0001f600", "\xe2\x80", "1234567\"", "12345678<"} {
		f.Add(s)
	}
	f.Fuzz(checkString)
}

func checkString(t *testing.T, s string) {
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
}

// nearly has one value of each kind. The tests cut it, or change a byte of it, at every place.
const nearly = `{"a\u00e9\n":[true,false,null,-10.25e+3,0E-1,""], "b" :{"":"\uAbcF\u0fa0\ud83d\ude00"},"ab":{"0":9}}`

// TestNearly: a text that ends too early, or has one wrong byte, is malformed for every reader here
// if and only if it is malformed for encoding/json.
func TestNearly(t *testing.T) {
	for i := range len(nearly) {
		checkDecode(t, []byte(nearly[:i]))
		checkRaw(t, []byte(nearly[:i]))
		checkRaw(t, []byte(nearly[i:]))
		for _, c := range "\x00 \x1f\"\\,:]}[{n-.0/9+eEgGu\x7f" {
			data := []byte(nearly)
			data[i] = byte(c)
			checkDecode(t, data)
			checkRaw(t, data)
		}
	}
}

// TestStringsAtEachPosition: strings are scanned eight bytes at a time, so a special byte is tested
// at each offset.
func TestStringsAtEachPosition(t *testing.T) {
	const filler = "abcdefghijk"
	parts := []string{"\x80", "\xe2", "\xff", "\u2027", "\u2028", "\u2029", "\u202a", "\xe2\x80", "\xe2\x81\xa8", "\u2128", "é", "\U0001f600"}
	for c := range utf8.RuneSelf {
		parts = append(parts, string([]byte{byte(c)}))
	}
	for _, part := range parts {
		for i := range filler {
			for _, s := range []string{filler[:i] + part, filler[:i] + part + filler[i:]} {
				checkString(t, s)
				if part >= " " {
					checkRaw(t, []byte(`"`+s+`"`))
				}
			}
		}
	}
}

// TestEscapesAtEachDistance: after an escape, the scan goes byte by byte for a while, so a special
// byte is tested at each distance from an escape.
func TestEscapesAtEachDistance(t *testing.T) {
	const filler = "abcdefghijk"
	for _, escape := range []string{`\n`, `\u00e9`} {
		for _, part := range []string{`\n`, `\u00e9`, `\x`, `\u00`, `\`, `"`, "\t", "é", "\xff"} {
			for i := range filler {
				for _, s := range []string{filler[:i] + part, filler[:i] + part + filler, filler[:i] + escape + filler[:i] + part} {
					checkDecode(t, []byte(`"`+escape+s+`"`))
					checkDecode(t, []byte(`"`+escape+s))
					checkRaw(t, []byte(`"`+escape+s+`"`))
				}
			}
		}
	}
}

func TestStringEnd(t *testing.T) {
	for text, want := range map[string]int{`"`: 1, `"a`: 2, `"\`: 2, `"a\"`: 4, `"a"`: 3, `"a\""b`: 5, `"\\"b`: 4} {
		if got := StringEnd([]byte(text), 0); got != want {
			t.Errorf("StringEnd(%s): got %d, want %d", text, got, want)
		}
		if got := StringEnd([]byte("[ "+text), 2); got != want+2 {
			t.Errorf("StringEnd([ %s): got %d, want %d", text, got, want+2)
		}
	}
}

// TestDepth: nesting is allowed to the depth that encoding/json allows.
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

// TestAppendTreeError: a value that is no tree and has no JSON is an error.
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

// TestLazyTree: a lazy tree is written like its decoded tree, except that members of Raw values
// keep their order.
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

// TestDecodeCountsBytes: the Meter counts each byte once.
func TestDecodeCountsBytes(t *testing.T) {
	data := []byte("[" + strings.Repeat(`[],{"a":1},`, 1<<14) + "1]")
	if _, err := Decode(data, meter.WithBudget(t.Context(), len(data))); err != nil {
		t.Errorf("a budget of as many steps as there are bytes: %v", err)
	}
	if _, err := Decode(data, meter.WithBudget(t.Context(), len(data)*9/10)); !errors.Is(err, meter.ErrSpent) {
		t.Errorf("a smaller budget: got %v, want %v", err, meter.ErrSpent)
	}
}

// recordingObserver is an Observer that records its calls, and returns the errors that a test sets.
type recordingObserver struct {
	notes            []string
	repeated, beyond error
}

func (j *recordingObserver) EnterKey(key string) { j.notes = append(j.notes, key) }
func (j *recordingObserver) EnterIndex(i int)    { j.notes = append(j.notes, strconv.Itoa(i)) }
func (j *recordingObserver) Leave()              { j.notes = append(j.notes, "up") }

func (j *recordingObserver) Repeated(key string) error {
	j.notes = append(j.notes, "again "+key)
	return j.repeated
}

func (j *recordingObserver) Beyond(err *json.UnmarshalTypeError) error {
	j.notes = append(j.notes, err.Value)
	return j.beyond
}

func TestObserver(t *testing.T) {
	const data = `{"a":[1,{"b":2}],"c":1e999,"a":[]}`
	refusal := errors.New("refused")
	for _, tt := range []struct {
		name   string
		unique bool
		told   recordingObserver
		want   any
		err    error
		notes  string
	}{
		{"repeated keys are nothing", false, recordingObserver{}, map[string]any{"a": []any{}, "c": nil}, nil, "a 0 up 1 b up up up c number 1e999 up a up"},
		{"repeated keys go on", true, recordingObserver{}, map[string]any{"a": []any{}, "c": nil}, nil, "a 0 up 1 b up up up c number 1e999 up again a a up"},
		{"repeated keys end it", true, recordingObserver{repeated: refusal}, nil, refusal, "a 0 up 1 b up up up c number 1e999 up again a"},
		{"large numbers end it", true, recordingObserver{beyond: refusal}, nil, refusal, "a 0 up 1 b up up up c number 1e999"},
	} {
		s := NewScanner([]byte(data), true, nil)
		s.Observer, s.Unique = &tt.told, tt.unique
		got, err := s.Document()
		if err != tt.err || err == nil && !reflect.DeepEqual(got, tt.want) || strings.Join(tt.told.notes, " ") != tt.notes {
			t.Errorf("%s: got %v, %v and %q, want %v, %v and %q", tt.name, got, err, tt.told.notes, tt.want, tt.err, tt.notes)
		}
	}
}

func TestUnique(t *testing.T) {
	for data, want := range map[string]error{`{"a":{"a":1},"b":{"a":1}}`: nil, `{"b":{"a":1,"a":1}}`: errSyntax} {
		s := NewScanner([]byte(data), false, nil)
		s.Unique = true
		if _, err := s.Document(); err != want {
			t.Errorf("%s: got %v, want %v", data, err, want)
		}
	}
}

// TestUnsigned: integers from 1<<63 to 1<<64-1 are floats, or uint64 if Unsigned is set.
func TestUnsigned(t *testing.T) {
	for _, tt := range []struct {
		number           string
		signed, unsigned any
	}{
		{"9223372036854775807", int64(math.MaxInt64), int64(math.MaxInt64)},
		{"9223372036854775808", float64(1 << 63), uint64(1 << 63)},
		{"18446744073709551615", float64(1 << 64), uint64(math.MaxUint64)},
		{"18446744073709551616", float64(1 << 64), float64(1 << 64)},
		{"-9223372036854775809", -float64(1 << 63), -float64(1 << 63)},
		{"1e3", 1e3, 1e3},
	} {
		for unsigned, want := range map[bool]any{false: tt.signed, true: tt.unsigned} {
			s := NewScanner([]byte(tt.number), false, nil)
			s.Unsigned = unsigned
			if got, err := s.Document(); got != want || err != nil {
				t.Errorf("%s, unsigned %v: got %T %v, %v, want %T %v", tt.number, unsigned, got, got, err, want, want)
			}
		}
	}
}

func TestAtoi(t *testing.T) {
	for _, tt := range []struct {
		text         string
		n            int64
		fits, fits32 bool
	}{
		{"0", 0, true, true}, {"-0", 0, true, true}, {"-7", -7, true, true}, {"1234567890", 1234567890, true, true},
		{"2147483647", math.MaxInt32, true, true}, {"2147483648", 1 << 31, true, false},
		{"-2147483648", math.MinInt32, true, true}, {"-2147483649", math.MinInt32 - 1, true, false},
		{"123456789012345678", 123456789012345678, true, false}, {"-123456789012345678", -123456789012345678, true, false},
		{"1234567890123456789", 1234567890123456789, true, false}, {"-9223372036854775808", math.MinInt64, true, false},
		{"9223372036854775808", 0, false, false}, {"99999999999999999999", 0, false, false},
	} {
		n, ok := Atoi([]byte(tt.text))
		if ok != tt.fits || ok && n != tt.n {
			t.Errorf("Atoi(%s): got %d, %v", tt.text, n, ok)
		}
		n32, ok := Atoi32([]byte(tt.text))
		if ok != tt.fits32 || ok && int64(n32) != tt.n {
			t.Errorf("Atoi32(%s): got %d, %v", tt.text, n32, ok)
		}
	}
}
