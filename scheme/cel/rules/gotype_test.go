package rules_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Chart is a kind with rules in its tags, whose fields have all shapes that rules see.
type Chart struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`

	_ struct{} `rule:"!has(self.metadata.name) || self.metadata.name.size() < 5" message:"name is too long"`
	_ struct{} `rule:"!has(self.none) && !has(self.list)" message:"what is empty is not there"`

	Tree  *Leaf                `json:"tree,omitempty"`
	List  []string             `json:"list"`
	None  *int32               `json:"none"`
	Port  *meta.IntOrString    `json:"port,omitempty" rule:"type(self) == int ? self > 1 : self.startsWith('x')"`
	Marks map[string]Mark      `json:"marks,omitempty"`
	Limit map[string]meta.Time `json:"limit,omitempty"`
}

type Leaf struct {
	Size int64 `json:"size,omitempty" rule:"self < 10"`
	Next *Leaf `json:"next,omitempty"`
}

type Mark struct {
	Extent `json:",inline"`
	Color  string `json:"color,omitempty" rule:"oldSelf.hasValue() || self == 'red'" optionalOldSelf:"true"`
}

type Extent struct {
	_    struct{} `rule:"self.low < self.high"`
	Low  float64  `json:"low"`
	High float64  `json:"high"`
}

// TestOfType: rules see a field of a Go type as they would see it in a custom resource.
func TestOfType(t *testing.T) {
	declared := rules.OfType(typeinfo.Of(reflect.TypeFor[Chart]()))
	if err := declared.Err(); err != nil {
		t.Fatal(err)
	}
	broken := func(text string) *Chart { return &Chart{Marks: map[string]Mark{"a": {Extent{Low: 2, High: 1}, text}}} }
	for _, tt := range []struct {
		name     string
		now, old *Chart
		want     string
	}{
		{"empty", &Chart{}, nil, ""},
		{"the name of the object", &Chart{ObjectMeta: meta.ObjectMeta{Name: "atlas"}}, nil, "<nil>: Invalid value: name is too long"},
		{"a type within itself", &Chart{Tree: &Leaf{Size: 11, Next: &Leaf{Size: 12}}}, nil, "tree.size: Invalid value: 11: failed rule: self < 10"},
		{"an integer or a string", &Chart{Port: &meta.IntOrString{Type: meta.StringType, StrVal: "y"}}, nil, "port: Invalid value"},
		{"an inlined struct, in an entry", broken("red"), nil, "marks[a]: Invalid value: failed rule: self.low < self.high"},
		{"no old value", &Chart{Marks: map[string]Mark{"a": {Extent{Low: 1, High: 2}, "blue"}}}, nil, "marks[a].color: Invalid value: \"blue\""},
		{"an old value", &Chart{Marks: map[string]Mark{"a": {Extent{Low: 1, High: 2}, "blue"}}}, &Chart{Marks: map[string]Mark{"a": {Extent{Low: 1, High: 2}, "red"}}}, ""},
		{"broken as before", broken("red"), broken("red"), ""},
		{"broken in another way", broken("green"), broken("red"), "marks[a]: Invalid value: failed rule: self.low < self.high"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var old meta.Typed
			if tt.old != nil {
				old = tt.old
			}
			errs := declared.Validate(t.Context(), tt.now, old)
			switch {
			case tt.want == "" && len(errs) > 0, tt.want != "" && (len(errs) != 1 || !strings.HasPrefix(errs[0].Error(), tt.want)):
				t.Errorf("got %v, want %q", errs, tt.want)
			}
		})
	}
}

type wrong struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty"`
	Size            int64 `json:"size" rule:"self.a > 1"`
}

func TestTypeMistakes(t *testing.T) {
	err := rules.OfType(typeinfo.Of(reflect.TypeFor[wrong]())).Err()
	if err == nil || !strings.Contains(err.Error(), "size: Invalid value: \"self.a > 1\": compilation failed: ERROR: <input>:1:5: type 'int' does not support field selection") {
		t.Errorf("got %v", err)
	}
	if declared := rules.OfType(typeinfo.Of(reflect.TypeFor[Extent]())); declared == nil || rules.OfType(typeinfo.Of(reflect.TypeFor[meta.ObjectMeta]())) != nil {
		t.Errorf("a type without rules has some, or one with rules none")
	}
}
