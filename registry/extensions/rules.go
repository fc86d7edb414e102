package extensions

import (
	"encoding/json"
	"slices"
	"sync"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
)

// ruleBook holds the compiled rules of a version. They are compiled when the first object is
// validated.
type ruleBook struct {
	timing *rules.Timing // nil: nobody is told
	once   sync.Once
	rules  *rules.Rules // nil if there are none
	head   rules.Head   // the part of the object's metadata that the rules read
}

// validate runs the rules on u, which replaces old, nil if u is new. found are the errors of the
// object so far. If one of them means that the object does not have the shape that the schema
// describes, no rule is run, because the types that the rules were compiled for would not hold; one
// error says so.
func (b *ruleBook) validate(r *registry.Request, version *kind.Version, found field.ErrorList,
	u, old *scheme.Unstructured) field.ErrorList {
	b.once.Do(func() {
		if b.rules = rules.Of(version.Schema(), true); b.rules != nil {
			b.head, b.rules.Timing = b.rules.Head(), b.timing
		}
	})
	if b.rules == nil {
		return nil
	}
	if slices.ContainsFunc(found, misleads) {
		return field.ErrorList{field.Invalid(nil, nil,
			"some validation rules were not checked because the object was invalid; correct the existing errors to complete validation")}
	}
	var before any
	if old != nil {
		before = b.tree(old)
	}
	return b.rules.Validate(r.Context, nil, b.tree(u), before, r.Warn)
}

// misleads reports whether err is of a kind after which no rule is run. The kinds are
// kube-apiserver's: a type, a required field, an enumeration or a length is violated.
func misleads(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// tree returns the object as rules see it, with as much of its metadata as the rules read. It
// shares the content of u, so nobody may change it.
func (b *ruleBook) tree(u *scheme.Unstructured) map[string]any {
	if b.head == rules.NoHead {
		return u.Content
	}
	tree := treeWithHead(u)
	if b.head == rules.WholeHead {
		if text, err := json.Marshal(&u.ObjectMeta); err == nil {
			if whole, err := jsontext.Decode(text, nil); err == nil {
				tree["metadata"] = whole
			}
		}
	}
	return tree
}
