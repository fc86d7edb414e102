package typeinfo

import (
	"fmt"
	"strings"
)

// needs.go parses the needs of defaulting functions. A function that is registered with its needs
// is not called for an object that already fulfils them, so an object that was stored with its
// defaults is served without being decoded. Package scheme registers needs; the Peekers of
// scheme/codec check them in JSON and in protobuf. The head of scheme/codec/needs.go follows the
// needs of a RoleBinding from their text to the answer.

// A Need is a condition under which a defaulting function changes nothing in a value. It is written
// as text:
//
//	need = [ place ": " ] term { " | " term }     each value at the place fulfils a term
//	term = path                      there, and not empty
//	     | "!" path                  not there, or empty
//	     | path "=" text             a string that is text
//	     | "milli(" path ")"         no quantity in it is finer than thousandths
//	     | name " within " name      a map, each key of which is a key of the other map
//	     | name " is " name          two strings, both not there or both the same
//	     | name " is " name "[0]"    the same for the first of a list of strings
//	     | name " is " name "[0]." name    the same for a list of structs and their field
//	     | "label " key " is the name"     of an object: its name is the value of that label
//
// For example, "spec.ports[]: protocol" says that each port has a protocol, and for a Subject
// "apiGroup | kind=ServiceAccount" says that it has an apiGroup or its kind is ServiceAccount.
//
// A path is made of JSON names, separated by dots. name[key] is an entry of a map. In a place,
// name[] stands for each element of a list. If there is no value at the place, the need is
// fulfilled. A pointer is empty only if it is nil. A negative number counts as empty, because some
// defaulting functions replace it. A need with milli, within, is or label has one term only.
type Need struct {
	At    []Step
	Terms []Term
}

// Term is one alternative of a Need.
type Term struct {
	Op   Op
	Path []Step
	Text string // of NeedEqual; the key of NeedNamed
	// Other is the second member of NeedWithin, NeedSame and NeedFirst; Text is the field of
	// NeedFirst, if it has one.
	Other string
}

// Op says what condition a Term states.
type Op uint8

// The ops, in the order of the grammar of Need. From NeedMilli on they stand alone in their Need.
const (
	NeedPresent Op = iota // path
	NeedAbsent            // !path
	NeedEqual             // path=text
	NeedMilli             // milli(path)
	NeedWithin            // name within name
	NeedSame              // name is name
	NeedFirst             // name is name[0]
	NeedNamed             // label key is the name
)

// Step is a part of a path: a member of a struct, an entry of a map, or with neither name each
// element of a list.
type Step struct{ Name, Key string }

// ParseNeed parses the text of a need and checks its paths against t, the struct type of the values
// that the need is about.
func ParseNeed(t *Type, text string) (Need, error) {
	var n Need
	at, terms, placed := t, text, false
	if place, rest, ok := strings.Cut(text, ": "); ok {
		terms, placed = rest, true
		var err error
		if n.At, at, err = parsePath(t, place, true); err != nil {
			return n, fmt.Errorf("need %q of %s: %w", text, t.Go, err)
		}
	}
	if placed && at.Kind != Struct {
		return n, fmt.Errorf("need %q of %s: the path before the colon must end at a struct", text, t.Go)
	}
	parts := strings.Split(terms, " | ")
	for _, part := range parts {
		term, err := parseTerm(at, part)
		if err == nil && term.Op >= NeedMilli && len(parts) > 1 {
			err = fmt.Errorf("%q cannot be combined with other terms", part)
		}
		if err != nil {
			return n, fmt.Errorf("need %q of %s: %w", text, t.Go, err)
		}
		n.Terms = append(n.Terms, term)
	}
	return n, nil
}

// parseTerm parses one term; its paths begin at t.
func parseTerm(t *Type, text string) (Term, error) {
	if inside, ok := strings.CutPrefix(text, "milli("); ok {
		inside, closed := strings.CutSuffix(inside, ")")
		if !closed {
			return Term{}, fmt.Errorf("%q has no closing parenthesis", text)
		}
		path, end, err := parsePath(t, inside, false)
		if err == nil && (end.Kind != Map || end.ElemPointer || !isQuantity(end.Elem)) {
			err = fmt.Errorf("%q must name a map of quantities", text)
		}
		return Term{Op: NeedMilli, Path: path}, err
	}
	if key, ok := strings.CutPrefix(text, "label "); ok {
		key, ok = strings.CutSuffix(key, " is the name")
		if f := t.Field("metadata"); !ok || key == "" || f == nil || f.Type.Field("labels") == nil {
			return Term{}, fmt.Errorf("%q must have the form \"label KEY is the name\", on an object with labels", text)
		}
		return Term{Op: NeedNamed, Text: key}, nil
	}
	if a, b, ok := strings.Cut(text, " within "); ok {
		return relation(t, Term{Op: NeedWithin, Other: b}, a)
	}
	if a, b, ok := strings.Cut(text, " is "); ok {
		if list, rest, ok := strings.Cut(b, "[0]"); ok {
			field, dotted := strings.CutPrefix(rest, ".")
			if dotted == (field == "") {
				return Term{}, fmt.Errorf("%q after [0] must be a dot and the name of a field", rest)
			}
			return relation(t, Term{Op: NeedFirst, Other: list, Text: field}, a)
		}
		return relation(t, Term{Op: NeedSame, Other: b}, a)
	}
	term := Term{Op: NeedPresent}
	rest, negated := strings.CutPrefix(text, "!")
	name, value, equal := strings.Cut(rest, "=")
	switch {
	case negated:
		term.Op = NeedAbsent
	case equal:
		term.Op, term.Text = NeedEqual, value
		rest = name
	}
	var end *Type
	var err error
	if term.Path, end, err = parsePath(t, rest, false); err != nil {
		return term, err
	}
	if term.Op == NeedEqual && end.Kind != String {
		return term, fmt.Errorf("%s must be a string", rest)
	}
	return term, nil
}

func isQuantity(t *Type) bool { return t.Kind == Custom && t.Go.Name() == "Quantity" }

// relation completes a term that relates two members of t, a and term.Other, after checking that
// both exist and that their types fit term.Op.
func relation(t *Type, term Term, a string) (Term, error) {
	one, other := t.Field(a), t.Field(term.Other)
	switch {
	case one == nil || other == nil || one.Pointer || other.Pointer:
		return term, fmt.Errorf("%s and %s must both be members and not pointers", a, term.Other)
	case term.Op == NeedWithin && (one.Type.Kind != Map || other.Type.Kind != Map),
		term.Op == NeedSame && (one.Type.Kind != String || other.Type.Kind != String),
		term.Op == NeedFirst && (one.Type.Kind != String || other.Type.Kind != List || !firstIs(other.Type, term.Text)):
		return term, fmt.Errorf("the types of %s and %s do not fit the comparison", a, term.Other)
	}
	term.Path = []Step{{Name: a}}
	return term, nil
}

// firstIs reports whether the elements of a list are strings, if name is empty, or else structs
// with a string field called name.
func firstIs(list *Type, name string) bool {
	if name == "" {
		return list.Elem.Kind == String && !list.ElemPointer
	}
	f := list.Elem.Field(name)
	return f != nil && !f.Pointer && f.Type.Kind == String && !list.ElemPointer
}

// parsePath returns the steps of a path that begins at t, and the type that it ends at. If each is
// true, the path may have name[] for the elements of a list.
func parsePath(t *Type, text string, each bool) ([]Step, *Type, error) {
	var steps []Step
	for rest := text; ; {
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		f := t.Field(rest[:end])
		if t.Kind != Struct || f == nil {
			return nil, nil, fmt.Errorf("%s has no member %q", t.Go, rest[:end])
		}
		steps, t, rest = append(steps, Step{Name: rest[:end]}), f.Type, rest[end:]
		if strings.HasPrefix(rest, "[") {
			key, after, ok := strings.Cut(rest[1:], "]")
			switch {
			case ok && key == "" && each && t.Kind == List, ok && key != "" && t.Kind == Map && t.Elem.Kind == String:
				steps, t, rest = append(steps, Step{Key: key}), t.Elem, after
			default:
				return nil, nil, fmt.Errorf("%s cannot be followed by %s", t.Go, rest)
			}
		}
		if rest == "" {
			return steps, t, nil
		}
		if rest[0] != '.' {
			return nil, nil, fmt.Errorf("there must be a dot before %q", rest)
		}
		rest = rest[1:]
	}
}

// DefaultNeeds returns the needs of DefaultAction(t): that each field with a default is not empty.
func DefaultNeeds(t *Type) []Need {
	var needs []Need
	for _, f := range t.Members {
		if _, ok := ownDefault(f); ok {
			needs = append(needs, Need{Terms: []Term{{Op: NeedPresent, Path: []Step{{Name: f.Name}}}}})
		}
	}
	return needs
}
