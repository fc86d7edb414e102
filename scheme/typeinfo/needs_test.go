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

// object is an object with metadata, for needs about labels.
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
		{"label a is the name", need{}, "must have the form"},
		{"object: label a is no name", need{}, "must have the form"},
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
		{"number=1", need{}, "number must be a string"},
		{"labels=a", need{}, "labels must be a string"},
		{"part.limits[cpu]", need{}, "cannot be followed by [cpu]"},
		{"counts[a]", need{}, "cannot be followed by [a]"},
		{"labels[]", need{}, "cannot be followed by []"},
		{"labels[a", need{}, "cannot be followed by [a"},
		{"labels[a]b", need{}, `there must be a dot before "b"`},
		{"names[0]", need{}, "cannot be followed by [0]"},
		{"parts[].name", need{}, "cannot be followed by [].name"},
		{"name[a]", need{}, "cannot be followed by [a]"},
		{"milli(limits", need{}, "no closing parenthesis"},
		{"milli(labels)", need{}, "must name a map of quantities"},
		{"milli(none)", need{}, `has no member "none"`},
		{"milli(limits) | name", need{}, `"milli(limits)" cannot be combined`},
		{"name | name is other", need{}, `"name is other" cannot be combined`},
		{"labels within none", need{}, "must both be members"},
		{"part.labels within more", need{}, "must both be members"},
		{"labels within names", need{}, "do not fit the comparison"},
		{"name is number", need{}, "do not fit the comparison"},
		{"name is maybe", need{}, "must both be members"},
		{"maybe is name", need{}, "must both be members"},
		{"name is other[0]", need{}, "do not fit the comparison"},
		{"number is names[0]", need{}, "do not fit the comparison"},
		{"name is parts[0]", need{}, "do not fit the comparison"},
		{"name is parts[0].none", need{}, "do not fit the comparison"},
		{"name is parts[0].maybe", need{}, "do not fit the comparison"},
		{"name is parts[0].number", need{}, "do not fit the comparison"},
		{"name is pointers[0].name", need{}, "do not fit the comparison"},
		{"name is parts[0]name", need{}, `"name" after [0] must be`},
		{"name is names[0].", need{}, `"." after [0] must be`},
		{"none: name", need{}, `has no member "none"`},
		{"parts: name", need{}, "must end at a struct"},
		{"names[]: name", need{}, "must end at a struct"},
		{"name: name", need{}, "must end at a struct"},
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
