package field

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestEachStops(t *testing.T) {
	var errs ErrorList
	p := NewPath("list")
	seen := 0
	for i, v := range Each(&errs, make([]string, 1_000_000)) {
		seen++
		errs = append(errs, Invalid(p.Index(i), *v, "empty"))
	}
	if seen != MaxErrors+1 || len(errs) != seen || !errs.Full() {
		t.Errorf("Each: got %d elements and %d errors, want %d: one more than is shown", seen, len(errs), MaxErrors+1)
	}
	single, text := errs.Show()
	if len(single) != MaxErrors+1 || single[MaxErrors].Body != "and at least 1 more" || !strings.HasSuffix(text, ", and at least 1 more]") {
		t.Errorf("Show: got %d, the last %+v, the text ends in %q", len(single), single[len(single)-1], text[len(text)-50:])
	}
	if got := errs.ToAggregate().Error(); got != text {
		t.Errorf("ToAggregate: got %.50q, want the text that is shown", got)
	}
	var order []string
	errs = nil
	for key, v := range Entries(&errs, map[string]int{"b": 2, "a": 1, "c": 3}) {
		order = append(order, fmt.Sprint(key, v))
	}
	if fmt.Sprint(order) != "[a1 b2 c3]" {
		t.Errorf("Entries: got %v", order)
	}
}

// TestEachIsFree checks that Each and Entries allocate nothing as long as there are no errors.
func TestEachIsFree(t *testing.T) {
	list, none := make([]pair, 100), map[string]string{}
	if got := testing.AllocsPerRun(100, func() {
		var errs ErrorList
		for i, v := range Each(&errs, list) {
			if v.B != "" {
				errs = append(errs, Invalid(NewPath("x").Index(i), v, ""))
			}
		}
		for key, v := range Entries(&errs, none) {
			errs = append(errs, Invalid(NewPath("x").Key(key), v, ""))
		}
	}); got > 0 {
		t.Errorf("got %v allocations, want none", got)
	}
}

// allocated returns the number of bytes that a function allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestLongErrors has values, details, keys and lists of megabytes in errors.
func TestLongErrors(t *testing.T) {
	long := strings.Repeat("ä<", 1<<20)
	many := make([]string, 1<<20)
	deep := any("x")
	for range 100_000 {
		deep = []any{deep}
	}
	p := NewPath("a")
	var errs ErrorList
	for name, err := range map[string]*Error{
		"text":    Invalid(p, long, "d"),
		"pointer": Invalid(p, &long, "d"),
		"detail":  Invalid(p, "v", long),
		"list":    Invalid(p, many, "d"),
		"map":     Invalid(p, map[string]any{"a": many}, "d"),
		"bytes":   Invalid(p, []byte(long), "d"),
		"deep":    Invalid(p, deep, "d"),
		"struct":  Invalid(p, &pair{B: long}, "d"),
		"key":     Invalid(p.Key(long), "v", "d"),
		"keys":    Invalid(p.Key(long).Key(long).Child(long), "v", "d"),
	} {
		if n := len(err.Error()); n > 4*MaxText {
			t.Errorf("%s: got %d bytes", name, n)
		}
		if bytes := allocated(func() { _ = err.Error() }); bytes > 32*MaxText {
			t.Errorf("%s: %d bytes were allocated", name, bytes)
		}
		if !utf8.ValidString(err.Error()) {
			t.Errorf("%s: cut inside a character", name)
		}
		errs = append(errs, err, err, err, err)
	}
	single, text := errs.Show()
	if len(text) > maxList+16*MaxText || len(single) == len(errs) || !strings.Contains(single[len(single)-1].Body, "more") {
		t.Errorf("got %d bytes and %d of %d errors", len(text), len(single), len(errs))
	}
	for _, v := range []any{"x", many[:100], map[string]any{"a": int64(1), "b": nil}, pair{B: "x"}} {
		if got := Invalid(p, v, "d").Body(); strings.Contains(got, valueOmitted) || strings.Contains(got, "...") {
			t.Errorf("%v: got %s, want it whole", v, got)
		}
	}
}

func TestCut(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"", 0, ""},
		{"abc", 3, "abc"},
		{"abcd", 3, "abc..."},
		{"aäb", 2, "a..."},
		{"ab\u20ac", 4, "ab..."},
		{"\x80\x80\x80\x80\x80\x80", 5, "\x80..."},
		{"ä", 1, "..."},
	} {
		if got := Cut(tt.text, tt.limit); got != tt.want {
			t.Errorf("Cut(%q, %d): got %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
