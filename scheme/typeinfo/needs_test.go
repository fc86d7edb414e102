package typeinfo_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

type needing struct {
	Name     string                   `json:"name,omitempty"`
	Other    string                   `json:"other,omitempty"`
	Maybe    *string                  `json:"maybe,omitempty"`
	Number   int32                    `json:"number,omitempty"`
	Labels   map[string]string        `json:"labels,omitempty"`
	More     map[string]string        `json:"more,omitempty"`
	Counts   map[string]int32         `json:"counts,omitempty"`
	Limits   map[string]meta.Quantity `json:"limits,omitempty"`
	Names    []string                 `json:"names,omitempty"`
	Parts    []needing                `json:"parts,omitempty"`
	Pointers []*needing               `json:"pointers,omitempty"`
	Part     *needing                 `json:"part,omitempty"`
	Object   *object                  `json:"object,omitempty"`
}

// object is an object for needs with a label.
type object struct {
	meta.ObjectMeta `json:"metadata"`
}

// TestParseNeed parses each form of a need, and each mistake in one.
func TestParseNeed(t *testing.T) {
	type (
		need = typeinfo.Need
		term = typeinfo.Term
	)
	path := func(names ...string) (steps []typeinfo.Step) {
		for _, name := range names {
			key, isKey := strings.CutPrefix(name, "@")
			if isKey {
				name = ""
			} else {
				key = ""
			}
			steps = append(steps, typeinfo.Step{Name: name, Key: key})
		}
		return steps
	}
	for _, tt := range []struct {
		text  string
		want  need
		wrong string // is in the error
	}{
		{"name", need{Terms: []term{{Op: typeinfo.NeedPresent, Path: path("name")}}}, ""},
		{"!maybe", need{Terms: []term{{Op: typeinfo.NeedAbsent, Path: path("maybe")}}}, ""},
		{"name=a b", need{Terms: []term{{Op: typeinfo.NeedEqual, Path: path("name"), Text: "a b"}}}, ""},
		{"maybe=a", need{Terms: []term{{Op: typeinfo.NeedEqual, Path: path("maybe"), Text: "a"}}}, ""},
		{"part.part.name", need{Terms: []term{{Op: typeinfo.NeedPresent, Path: path("part", "part", "name")}}}, ""},
		{"labels[a.b/c]=d", need{Terms: []term{{Op: typeinfo.NeedEqual, Path: path("labels", "@a.b/c"), Text: "d"}}}, ""},
		{"milli(part.limits)", need{Terms: []term{{Op: typeinfo.NeedMilli, Path: path("part", "limits")}}}, ""},
		{"labels within more", need{Terms: []term{{Op: typeinfo.NeedWithin, Path: path("labels"), Other: "more"}}}, ""},
		{"name is other", need{Terms: []term{{Op: typeinfo.NeedSame, Path: path("name"), Other: "other"}}}, ""},
		{"object: label a.b/c is the name", need{At: path("object"), Terms: []term{{Op: typeinfo.NeedNamed, Text: "a.b/c"}}}, ""},
		{"label a is the name", need{}, "no label of an object"},
		{"object: label a is no name", need{}, "no label of an object"},
		{"name is names[0]", need{Terms: []term{{Op: typeinfo.NeedFirst, Path: path("name"), Other: "names"}}}, ""},
		{"name is parts[0].other", need{Terms: []term{{Op: typeinfo.NeedFirst, Path: path("name"), Other: "parts", Text: "other"}}}, ""},
		{"name | !part | other=x", need{Terms: []term{
			{Op: typeinfo.NeedPresent, Path: path("name")}, {Op: typeinfo.NeedAbsent, Path: path("part")}, {Op: typeinfo.NeedEqual, Path: path("other"), Text: "x"},
		}}, ""},
		{"part: name", need{At: path("part"), Terms: []term{{Op: typeinfo.NeedPresent, Path: path("name")}}}, ""},
		{"part.parts[].pointers[]: name is other", need{
			At: path("part", "parts", "@", "pointers", "@"), Terms: []term{{Op: typeinfo.NeedSame, Path: path("name"), Other: "other"}},
		}, ""},

		{"", need{}, `has no member ""`},
		{"none", need{}, `has no member "none"`},
		{"part.none", need{}, `has no member "none"`},
		{"name.part", need{}, `has no member "part"`},
		{"part.", need{}, `has no member ""`},
		{"!none", need{}, `has no member "none"`},
		{"!name=a", need{}, `has no member "name=a"`},
		{"name | none", need{}, `has no member "none"`},
		{"name |none", need{}, `has no member "name |none"`},
		{"number=1", need{}, "number is no string"},
		{"labels=a", need{}, "labels is no string"},
		{"part.limits[cpu]", need{}, "cannot be followed by [cpu]"},
		{"counts[a]", need{}, "cannot be followed by [a]"},
		{"labels[]", need{}, "cannot be followed by []"},
		{"labels[a", need{}, "cannot be followed by [a"},
		{"labels[a]b", need{}, `no dot before "b"`},
		{"names[0]", need{}, "cannot be followed by [0]"},
		{"parts[].name", need{}, "cannot be followed by [].name"},
		{"name[a]", need{}, "cannot be followed by [a]"},
		{"milli(limits", need{}, "no closing parenthesis"},
		{"milli(labels)", need{}, "is no map of quantities"},
		{"milli(none)", need{}, `has no member "none"`},
		{"milli(limits) | name", need{}, `"milli(limits)" stands alone`},
		{"name | name is other", need{}, `"name is other" stands alone`},
		{"labels within none", need{}, "are no such members"},
		{"part.labels within more", need{}, "are no such members"},
		{"labels within names", need{}, "cannot be compared so"},
		{"name is number", need{}, "cannot be compared so"},
		{"name is maybe", need{}, "are no such members"},
		{"maybe is name", need{}, "are no such members"},
		{"name is other[0]", need{}, "cannot be compared so"},
		{"number is names[0]", need{}, "cannot be compared so"},
		{"name is parts[0]", need{}, "cannot be compared so"},
		{"name is parts[0].none", need{}, "cannot be compared so"},
		{"name is parts[0].maybe", need{}, "cannot be compared so"},
		{"name is parts[0].number", need{}, "cannot be compared so"},
		{"name is pointers[0].name", need{}, "cannot be compared so"},
		{"name is parts[0]name", need{}, `"name" is no field`},
		{"name is names[0].", need{}, `"." is no field`},
		{"none: name", need{}, `has no member "none"`},
		{"parts: name", need{}, "there is no struct at the place"},
		{"names[]: name", need{}, "there is no struct at the place"},
		{"name: name", need{}, "there is no struct at the place"},
		{"part: none", need{}, `has no member "none"`},
	} {
		got, err := typeinfo.ParseNeed(typeinfo.Of(reflect.TypeFor[needing]()), tt.text)
		switch {
		case tt.wrong == "" && (err != nil || !reflect.DeepEqual(got, tt.want)):
			t.Errorf("%q: got %+v, %v, want %+v", tt.text, got, err, tt.want)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), "typeinfo_test.needing")):
			t.Errorf("%q: got %+v, %v, want an error with %q and the type", tt.text, got, err, tt.wrong)
		}
	}
}
