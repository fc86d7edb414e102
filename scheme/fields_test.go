package scheme_test

import (
	_ "embed"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// fieldsText lists the fields of Kubernetes 1.36. A line has the name of a model, and "atomic" if
// it is. The indented lines after it have its fields: the JSON name (~ and the Go name for an
// inlined struct) and attributes, separated by tabs.
//
//go:embed testdata/fields.txt
var fieldsText string

// model is a struct of Kubernetes as lines of attributes.
type model struct {
	atomic bool
	fields map[string][]string
	inline map[string][]string
}

func readModels(t *testing.T) map[string]*model {
	t.Helper()
	models := map[string]*model{}
	var current *model
	for line := range strings.Lines(fieldsText) {
		parts := strings.Split(strings.TrimSpace(line), "\t")
		switch {
		case line[0] != '\t':
			current = &model{fields: map[string][]string{}, inline: map[string][]string{}, atomic: len(parts) > 1}
			models[parts[0]] = current
		case parts[0][0] == '~':
			current.inline[parts[0][1:]] = parts[1:]
		default:
			current.fields[parts[0]] = parts[1:]
		}
	}
	return models
}

// attributes prints what a descriptor says about a field in the form of the file.
func attributes(f *typeinfo.Field) []string {
	var list []string
	add := func(when bool, text string) {
		if when {
			list = append(list, text)
		}
	}
	add(f.Number != 0, "pb="+strconv.Itoa(int(f.Number)))
	add(f.Required && !f.Inline, "required")
	add(f.OmitEmpty, "omitempty")
	add(f.HasDefault && (f.Default != "" && f.Default != "0" || f.Pointer), "default="+f.Default) // others are for OpenAPI only
	add(f.Enum != nil, "enum="+strings.Join(f.Enum, ","))
	add(f.ItemEnum != nil, "itemEnum="+strings.Join(f.ItemEnum, ","))
	add(f.ListType != "", "list="+strings.Join(append([]string{f.ListType}, f.ListKeys...), ","))
	add(f.MapType != "", "map="+f.MapType)
	add(f.Atomic && !f.Type.Atomic, "struct=atomic")
	add(!f.Atomic && f.Type.Atomic && !f.Inline, "struct=granular")
	var patch []string
	for strategy, on := range map[string]bool{"merge": f.PatchMerge, "replace": f.PatchReplace, "retainKeys": f.PatchRetainKeys} {
		if on {
			patch = append(patch, strategy)
		}
	}
	slices.Sort(patch)
	add(f.PatchKey != "", "patch="+strings.Join(append(patch, "key="+f.PatchKey), ","))
	add(f.PatchKey == "" && patch != nil, "patch="+strings.Join(patch, ","))
	return list
}

// TestFieldsAreThoseOfKubernetes compares every struct that a registered kind reaches and that
// Kubernetes has, too.
func TestFieldsAreThoseOfKubernetes(t *testing.T) {
	s, models := fullScheme(t), readModels(t)
	seen := map[*typeinfo.Type]bool{}
	compared := 0
	var walk func(typ *typeinfo.Type)
	walk = func(typ *typeinfo.Type) {
		if typ == nil || seen[typ] {
			return
		}
		seen[typ] = true
		if m := models[typ.Name]; m != nil && typ.Kind == typeinfo.Struct {
			compared++
			compare(t, typ, m)
		}
		for _, f := range typ.Members {
			walk(f.Type)
		}
		walk(typ.Elem)
	}
	for _, gvk := range s.AllKinds() {
		walk(s.Type(gvk))
	}
	if compared < 150 {
		t.Errorf("compared %d structs, want many more", compared)
	}
}

func compare(t *testing.T, typ *typeinfo.Type, m *model) {
	if typ.Atomic != m.atomic {
		t.Errorf("%s: got atomic %v, want %v", typ.Name, typ.Atomic, m.atomic)
	}
	found := map[string]bool{}
	for _, f := range typ.Members {
		name, want, ok := f.Name, m.fields[f.Name], false
		if f.Inline {
			name, want = "~"+f.GoName, m.inline[f.GoName]
			_, ok = m.inline[f.GoName]
		} else {
			_, ok = m.fields[f.Name]
		}
		if !ok {
			t.Errorf("%s.%s: Kubernetes has no such field", typ.Name, name)
			continue
		}
		found[name] = true
		if got := attributes(f); !slices.Equal(got, want) {
			t.Errorf("%s.%s: got %v, want %v", typ.Name, name, got, want)
		}
	}
	for name := range m.fields {
		if !found[name] {
			t.Errorf("%s.%s is missing", typ.Name, name)
		}
	}
	for name := range m.inline {
		if !found["~"+name] {
			t.Errorf("%s: inlined %s is missing", typ.Name, name)
		}
	}
}
