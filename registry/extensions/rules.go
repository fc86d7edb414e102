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

// ruleBook has the rules in the schema of a version, from the first object on that is judged.
type ruleBook struct {
	once  sync.Once
	rules *rules.Rules // nil if there are none
	head  rules.Head
}

// judge judges an object by the rules, unless errors were found that rules need not expect.
func (b *ruleBook) judge(r *registry.Request, version *kind.Version, found field.ErrorList,
	u, old *scheme.Unstructured) field.ErrorList {
	b.once.Do(func() {
		if b.rules = rules.Of(version.Schema(), true); b.rules != nil {
			b.head = b.rules.Head()
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

// misleads reports whether an error is of a kind after which rules would only find more that is
// wrong.
func misleads(err *field.Error) bool {
	switch err.Type {
	case field.ErrorTypeNotSupported, field.ErrorTypeRequired, field.ErrorTypeTooLong, field.ErrorTypeTooMany,
		field.ErrorTypeTypeInvalid:
		return true
	}
	return false
}

// tree returns an object with as much of its head as the rules look at. It shares what it has.
func (b *ruleBook) tree(u *scheme.Unstructured) map[string]any {
	if b.head == rules.NoHead {
		return u.Content
	}
	tree := headed(u)
	if b.head == rules.WholeHead {
		if text, err := json.Marshal(&u.ObjectMeta); err == nil {
			if whole, err := jsontext.Decode(text, nil); err == nil {
				tree["metadata"] = whole
			}
		}
	}
	return tree
}
