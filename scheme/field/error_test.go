package field

import (
	"errors"
	"testing"
)

type name string

type pair struct {
	A *int   `json:"a"`
	B string `json:"b"`
}

func ptr[T any](v T) *T { return &v }

func TestErrorMessages(t *testing.T) {
	p := NewPath("a")
	for _, tt := range []struct {
		err  *Error
		want string
	}{
		{Required(p, ""), `a: Required value`},
		{Required(p, "d"), `a: Required value: d`},
		{Forbidden(p, "no"), `a: Forbidden: no`},
		{Duplicate(p, "x"), `a: Duplicate value: "x"`},
		{NotFound(p, "v"), `a: Not found: "v"`},
		{TooLong(p, "v", 5), `a: Too long: may not be more than 5 bytes`},
		{TooLong(p, "v", 1), `a: Too long: may not be more than 1 byte`},
		{TooLong(p, "v", -1), `a: Too long: value is too long`},
		{TooMany(p, 5, 3), `a: Too many: 5: must have at most 3 items`},
		{TooMany(p, 5, 1), `a: Too many: 5: must have at most 1 item`},
		{TooMany(p, -1, 3), `a: Too many: must have at most 3 items`},
		{TooMany(p, 5, -1), `a: Too many: 5: has too many items`},
		{InternalError(p, errors.New("x")), `a: Internal error: x`},
		{TypeInvalid(p, "v", "d"), `a: Invalid value: "v": d`},
		{NotSupported(p, name("v"), []string{"b", "a"}), `a: Unsupported value: "v": supported values: "b", "a"`},
		{NotSupported(p, []string{"v"}, []name{"a"}), `a: Unsupported value: ["v"]: supported values: "a"`},
		{NotSupported(nil, "v", []string{}), `<nil>: Unsupported value: "v"`},
		{Invalid(p, nil, "d"), `a: Invalid value: null: d`},
		{Invalid(p, (*int)(nil), "d"), `a: Invalid value: null: d`},
		{Invalid(p, ptr(3), "d"), `a: Invalid value: 3: d`},
		{Invalid(p, ptr("x"), "d"), `a: Invalid value: "x": d`},
		{Invalid(p, ptr("<\x00"), "d"), `a: Invalid value: "\u003c\u0000": d`},
		{Invalid(p, (*string)(nil), "d"), `a: Invalid value: null: d`},
		{Invalid(p, name("q"), "d"), `a: Invalid value: "q": d`},
		{Invalid(p, uint8(4), "d"), `a: Invalid value: 4: d`},
		{Invalid(p, 1e30, "d"), `a: Invalid value: 1e+30: d`},
		{Invalid(p, true, ""), `a: Invalid value: true`},
		{Invalid(p, "a\n\"é\x00", "d"), `a: Invalid value: "a\n\"é\x00": d`},
		{Invalid(p, pair{A: ptr(1), B: "<"}, "d"), `a: Invalid value: {"a":1,"b":"\u003c"}: d`},
		{Invalid(p, []string(nil), "d"), `a: Invalid value: null: d`},
		{Invalid(p, map[string]int{"b": 1, "a": 2}, "d"), `a: Invalid value: {"a":2,"b":1}: d`},
		{Invalid(p, Omit{}, "d"), `a: Invalid value: d`},
	} {
		if got := tt.err.Error(); got != tt.want {
			t.Errorf("got %s\nwant %s", got, tt.want)
		}
	}
}

func TestPathString(t *testing.T) {
	p := NewPath("a")
	for _, tt := range []struct {
		path *Path
		want string
	}{
		{nil, "<nil>"},
		{(*Path)(nil).Index(3), "[3]"},
		{(*Path)(nil).Key("x"), "[x]"},
		{NewPath(""), "[]"},
		{NewPath("").Child("a"), "[].a"},
		{NewPath("a", "", "b"), "a[].b"},
		{p.Index(1).Index(2).Key("a.b").Child("c", "d"), "a[1][2][a.b].c.d"},
	} {
		if got := tt.path.String(); got != tt.want {
			t.Errorf("String: got %q, want %q", got, tt.want)
		}
	}
}

func TestToAggregate(t *testing.T) {
	p := NewPath("a")
	if err := (ErrorList{}).ToAggregate(); err != nil {
		t.Errorf("empty: got %v, want nil", err)
	}
	one := ErrorList{Required(p, ""), Required(p, "")}.ToAggregate()
	if got, want := one.Error(), "a: Required value"; got != want {
		t.Errorf("repeated: got %q, want %q", got, want)
	}
	two := ErrorList{Required(p, ""), Required(p, "x"), Required(p, "")}.ToAggregate()
	if got, want := two.Error(), "[a: Required value, a: Required value: x]"; got != want {
		t.Errorf("several: got %q, want %q", got, want)
	}
	var e *Error
	if !errors.As(two, &e) || e.Type != ErrorTypeRequired {
		t.Errorf("errors.As: got %v, want the first error", e)
	}
}
