package extensions

import (
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// DefinedBy returns the resource that the definition called name defines. The name of a definition
// is <plural>.<group>, which validation makes sure of.
func DefinedBy(name string) meta.GroupResource {
	plural, group, _ := strings.Cut(name, ".")
	return meta.GroupResource{Group: group, Resource: plural}
}

// namesInUse holds the names that a definition wants, each with whether another definition of its
// group has been given it. Plural, singular and short names are one space of names; kinds and list
// kinds are another. Two definitions of a group never share a name within a space.
type namesInUse struct{ resources, kinds map[string]bool }

// inUse looks up the names in want among the accepted names of the definitions in group. group may
// include the definition that wants the names: acceptNames does not count a name that the
// definition has already.
func inUse(want *apiextensionsv1.CustomResourceDefinitionNames,
	group iter.Seq[*apiextensionsv1.CustomResourceDefinition]) namesInUse {
	used := namesInUse{map[string]bool{want.Plural: false, want.Singular: false},
		map[string]bool{want.Kind: false, want.ListKind: false}}
	for _, short := range want.ShortNames {
		used.resources[short] = false
	}
	given := func(wanted map[string]bool, name string) {
		if _, ok := wanted[name]; ok {
			wanted[name] = true
		}
	}
	for def := range group {
		n := &def.Status.AcceptedNames
		given(used.resources, n.Plural)
		given(used.resources, n.Singular)
		for _, short := range n.ShortNames {
			given(used.resources, short)
		}
		given(used.kinds, n.Kind)
		given(used.kinds, n.ListKind)
	}
	return used
}

// acceptNames returns the names that def is given (status.acceptedNames), and the condition
// NamesAccepted. A wanted name is given if def has it already or no other definition has it. If a
// wanted name is refused, def keeps the name that it had for that purpose. The condition is true if
// every wanted name was given; if several were refused, it tells of the last one, as in
// kube-apiserver. Short names are given all together or not at all.
func acceptNames(def *apiextensionsv1.CustomResourceDefinition, used namesInUse) (
	apiextensionsv1.CustomResourceDefinitionNames, apiextensionsv1.CustomResourceDefinitionCondition) {
	want, had := &def.Spec.Names, &def.Status.AcceptedNames
	got := *had
	cond := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue, Reason: "NoConflicts",
		Message: "no conflicts found",
	}
	accept := func(taken map[string]bool, want, had string, got *string, reason string) {
		if want != had && taken[want] {
			cond.Status, cond.Reason, cond.Message = apiextensionsv1.ConditionFalse, reason, alreadyInUse(want)
			return
		}
		*got = want
	}
	accept(used.resources, want.Plural, had.Plural, &got.Plural, "PluralConflict")
	accept(used.resources, want.Singular, had.Singular, &got.Singular, "SingularConflict")
	if text := shortNameConflicts(want.ShortNames, had.ShortNames, used.resources); text != "" {
		cond.Status, cond.Reason, cond.Message = apiextensionsv1.ConditionFalse, "ShortNamesConflict", text
	} else {
		got.ShortNames = want.ShortNames
	}
	accept(used.kinds, want.Kind, had.Kind, &got.Kind, "KindConflict")
	accept(used.kinds, want.ListKind, had.ListKind, &got.ListKind, "ListKindConflict")
	got.Categories = want.Categories
	return got, cond
}

// shortNameConflicts returns the message about the short names in want that other definitions have,
// "" if there are none. Several conflicts are listed in brackets, each once.
func shortNameConflicts(want, had []string, taken map[string]bool) string {
	var conflicts []string
	for _, short := range want {
		if text := alreadyInUse(short); taken[short] && !slices.Contains(had, short) &&
			!slices.Contains(conflicts, text) {
			conflicts = append(conflicts, text)
		}
	}
	if len(conflicts) < 2 {
		return strings.Join(conflicts, "")
	}
	return "[" + strings.Join(conflicts, ", ") + "]"
}

func alreadyInUse(name string) string { return fmt.Sprintf("%q is already in use", name) }

// SameNames reports whether a and b are equal field by field. The order of short names and of
// categories counts.
func SameNames(a, b *apiextensionsv1.CustomResourceDefinitionNames) bool {
	return a.Plural == b.Plural && a.Singular == b.Singular && a.Kind == b.Kind && a.ListKind == b.ListKind &&
		slices.Equal(a.ShortNames, b.ShortNames) && slices.Equal(a.Categories, b.Categories)
}
