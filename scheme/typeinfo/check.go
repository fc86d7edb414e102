package typeinfo

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"unicode/utf8"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// check.go compiles the check tags of a type to a checkPlan and runs the plan over Go values. The
// registry calls Validate for each write of a typed object; the schema of a Go type, in
// scheme/schema, applies the same checks to trees and takes its formats from here. The checks are
// declarative validation: Kubernetes generates this code from +k8s: comments.

// formats maps the names that check:"format=..." may give to functions that return what is wrong
// with a value, nil if nothing is.
var formats = map[string]func(string) []string{
	"dns1123Label":     names.IsDNS1123Label,
	"dns1123Subdomain": names.IsDNS1123Subdomain,
	"dns1035Label":     names.IsDNS1035Label,
	"qualifiedName":    names.IsQualifiedName,
	"labelValue":       names.IsValidLabelValue,
	"configMapKey":     names.IsConfigMapKey,
	"envVarName":       names.IsEnvVarName,
	"cIdentifier":      names.IsCIdentifier,
	"httpHeaderName":   names.IsHTTPHeaderName,
	"pathSegment":      names.IsPathSegmentName,
	"portName":         names.IsValidPortName,
	"ip":               names.IsValidIP,
	"cidr":             names.IsValidCIDR,
}

// Format returns the function behind check:"format=name", which returns what is wrong with a value.
// It is nil if there is no format of that name.
func Format(name string) func(string) []string { return formats[name] }

// Validate applies the declared checks to v and everything below it, and returns the errors in the
// order of the fields. It stops once the list of errors is full (field.ErrorList.Full). v is a
// pointer to a struct; old is the value before an update, of the same type, or nil. A value whose
// type has no descriptor passes.
//
// An empty field (zero, a nil pointer, an empty list or map) fails required. If the field has
// omitempty, an empty value passes all other checks.
//
// For immutable, an element of a list of type map is compared with the old element that has the
// same keys, and an entry of a map with the old entry of the same key. Elements of other lists have
// no old value, so immutable has no effect inside them. A new spelling of an equal value is no
// change (see Equal).
//
// A duplicate in a list is an error, unless the old list had a duplicate as well. Kubernetes calls
// such a tolerance ratcheting.
func Validate(v, old any) field.ErrorList {
	now, before := reflect.ValueOf(v), reflect.ValueOf(old)
	if now.Kind() != reflect.Pointer || now.IsNil() {
		return nil
	}
	t := Of(now.Type())
	if t == nil {
		return nil
	}
	plan := checks.plan(t)
	if plan == nil {
		return nil
	}
	c := checker{}
	if before.IsValid() && before.Type() == now.Type() && !before.IsNil() {
		c.value(plan, now.Elem(), before.Elem())
	} else {
		c.value(plan, now.Elem(), reflect.Value{})
	}
	return c.errs
}

// Checked reports whether Validate checks anything of a type.
func Checked(t *Type) bool { return checks.plan(t) != nil }

// checkPlans holds the plan of each type that was validated. Plans are compiled at first use, and
// published only when all plans below them are complete.
type checkPlans struct {
	mu    sync.Mutex
	plans sync.Map // *Type to *checkPlan, nil if there is nothing to check
}

var checks checkPlans

// checkPlan says what to check in a value of one type: fields of a struct, or the elements of a
// list or map. Fields without checks on them or below them are not in it.
type checkPlan struct {
	typ    *Type
	fields []fieldChecks
	elem   *checkPlan
	// compares says that something below is immutable or unique. If it is false, old elements are
	// not looked up, because no check reads them.
	compares bool
}

// fieldChecks are the checks of one field. required and immutable are not among the tests, because
// a test sees one value: required asks whether there is a value at all, and immutable compares the
// value with the old one.
type fieldChecks struct {
	f         *Field
	required  bool
	immutable bool
	tests     []test
	below     *checkPlan
}

// test is one check of the value of a field; it reports errors to the checker. now is never a
// pointer.
type test func(c *checker, now reflect.Value)

// plan returns the plan of t, compiling it on first use; nil if there is nothing to check.
func (c *checkPlans) plan(t *Type) *checkPlan {
	if found, ok := c.plans.Load(t); ok {
		return found.(*checkPlan)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	made := map[*Type]*checkPlan{}
	plan := c.compile(t, made)
	for typ, p := range made {
		c.plans.Store(typ, p)
	}
	return plan
}

// compile returns the plan of t and adds it to made, with the plans of all types below t. A
// recursive type finds its own plan in made, which is still incomplete then.
func (c *checkPlans) compile(t *Type, made map[*Type]*checkPlan) *checkPlan {
	if plan, ok := made[t]; ok {
		return plan
	}
	checked := func(check Check) bool { return check.Name != "optional" && check.Name != "listed" }
	if !declares(t, func(f *Field) bool { return f.Unique || slices.ContainsFunc(f.Checks, checked) }) {
		made[t] = nil
		return nil
	}
	immutable := func(check Check) bool { return check.Name == "immutable" }
	plan := &checkPlan{typ: t,
		compares: declares(t, func(f *Field) bool { return f.Unique || slices.ContainsFunc(f.Checks, immutable) })}
	made[t] = plan
	switch t.Kind {
	case List, Map:
		plan.elem = c.compile(t.Elem, made)
	case Struct:
		for _, f := range t.Fields {
			fc := fieldChecks{f: f, below: c.compile(f.Type, made)}
			for _, check := range f.Checks {
				fc.required = fc.required || check.Name == "required"
				fc.immutable = fc.immutable || check.Name == "immutable"
				if run := newTest(f, check); run != nil {
					fc.tests = append(fc.tests, run)
				}
			}
			if fc.required || fc.immutable || fc.tests != nil || fc.below != nil || f.Unique {
				plan.fields = append(plan.fields, fc)
			}
		}
	}
	return plan
}

// declares reports whether t, or a type that t reaches, has a field for which wanted is true.
func declares(t *Type, wanted func(*Field) bool) bool {
	found := NewVisitor(func(t *Type) func(Pointer) {
		for _, f := range t.Members {
			if wanted(f) {
				return func(Pointer) {}
			}
		}
		return nil
	})
	return found.Needs(t)
}

// newTest returns the test of one check, nil for the checks that are no tests. The check's argument
// is valid, because readChecks refused invalid ones when the type was compiled.
func newTest(f *Field, check Check) test {
	limit, _ := strconv.ParseFloat(check.Arg, 64)
	n := int(math.Min(limit, math.MaxInt32))
	switch check.Name {
	case "min":
		return invalid(func(v reflect.Value) bool { return asFloat(v) < limit },
			"must be greater than or equal to "+check.Arg)
	case "max":
		return invalid(func(v reflect.Value) bool { return asFloat(v) > limit },
			"must be less than or equal to "+check.Arg)
	case "minLength":
		return invalid(func(v reflect.Value) bool { return textLen(v) < n },
			"must be at least "+check.Arg+" characters long")
	case "minItems":
		return invalid(func(v reflect.Value) bool { return v.Len() < n }, "must have at least "+check.Arg+" items")
	case "pattern":
		re := regexp.MustCompile(check.Arg) // cannot panic: readChecks has compiled it once
		return invalid(func(v reflect.Value) bool { return !re.MatchString(v.String()) },
			"must match the regular expression '"+check.Arg+"'")
	case "maxLength":
		return func(c *checker, now reflect.Value) {
			if textLen(now) > n {
				c.report(field.TooLong(c.path(), plain(now), n))
			}
		}
	case "maxItems":
		return func(c *checker, now reflect.Value) {
			if now.Len() > n {
				c.report(field.TooMany(c.path(), now.Len(), n))
			}
		}
	case "format":
		wrong := formats[check.Arg]
		return func(c *checker, now reflect.Value) {
			for _, detail := range wrong(now.String()) {
				c.report(field.Invalid(c.path(), now.String(), detail))
			}
		}
	case "enum":
		return enumTest(f)
	}
	// optional and listed are for OpenAPI only; fieldChecks has required and immutable.
	return nil
}

// invalid returns a test that reports detail for each value that wrong is true for.
func invalid(wrong func(now reflect.Value) bool, detail string) test {
	return func(c *checker, now reflect.Value) {
		if wrong(now) {
			c.report(field.Invalid(c.path(), plain(now), detail))
		}
	}
}

// enumTest returns the test of check:"enum": of the string itself, or of each element of a list or
// map of strings. The message lists the allowed values in order.
func enumTest(f *Field) test {
	allowed, items := slices.Sorted(slices.Values(f.Enum)), slices.Sorted(slices.Values(f.ItemEnum))
	return func(c *checker, now reflect.Value) {
		switch f.Type.Kind {
		case String:
			if text := now.String(); !slices.Contains(allowed, text) {
				c.report(field.NotSupported(c.path(), text, allowed))
			}
		case List:
			for i := 0; i < now.Len() && !c.errs.Full(); i++ {
				if text := now.Index(i).String(); !slices.Contains(items, text) {
					c.report(field.NotSupported(c.path().Index(i), text, items))
				}
			}
		case Map:
			for _, key := range sortedKeys(now) {
				if c.errs.Full() {
					return
				}
				if text := now.MapIndex(key).String(); !slices.Contains(items, text) {
					c.report(field.NotSupported(c.path().Key(key.String()), text, items))
				}
			}
		}
	}
}

// plain returns a value as messages print it: named strings and numbers as plain ones.
func plain(v reflect.Value) any {
	switch v.Kind() {
	case reflect.String:
		return v.String()
	case reflect.Bool:
		return v.Bool()
	case reflect.Int32, reflect.Int64:
		return v.Int()
	case reflect.Float64:
		return v.Float()
	case reflect.Invalid:
		return nil
	}
	return v.Interface()
}

// isEmpty reports whether a field holds nothing: zero, a nil pointer, or a list or map without
// elements.
func isEmpty(v reflect.Value) bool {
	return v.IsZero() || (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) && v.Len() == 0
}

func asFloat(v reflect.Value) float64 {
	if v.CanInt() {
		return float64(v.Int())
	}
	return v.Float()
}

// textLen returns the length of a string in characters, and that of a []byte in bytes.
func textLen(v reflect.Value) int {
	if v.Kind() == reflect.String {
		return utf8.RuneCountInString(v.String())
	}
	return v.Len()
}

// sortedKeys returns the keys of a map in order, so that errors come in the same order each time.
func sortedKeys(m reflect.Value) []reflect.Value {
	keys := m.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int {
		if a.String() < b.String() {
			return -1
		}
		return 1
	})
	return keys
}

// checker walks one object. way is the path from the object to the current field, in steps; a
// field.Path is built of it only for an error, so that a valid object costs no allocation for
// paths.
type checker struct {
	way  []wayStep
	errs field.ErrorList
}

// wayStep is a field name, a list index or a map key.
type wayStep struct {
	name  string
	key   string
	index int
	kind  Kind // Struct, List or Map
}

func (c *checker) report(err *field.Error) { c.errs = append(c.errs, err) }

// path returns c.way as a field.Path.
func (c *checker) path() *field.Path {
	var p *field.Path
	for _, step := range c.way {
		switch {
		case p == nil:
			p = field.NewPath(step.name)
		case step.kind == List:
			p = p.Index(step.index)
		case step.kind == Map:
			p = p.Key(step.key)
		default:
			p = p.Child(step.name)
		}
	}
	return p
}

// value checks a value and everything below it. before is the old value, or the zero Value if there
// is none.
func (c *checker) value(plan *checkPlan, now, before reflect.Value) {
	switch plan.typ.Kind {
	case Struct:
		for i := range plan.fields {
			c.field(&plan.fields[i], now, before)
		}
	case List:
		c.list(plan, nil, now, before)
	case Map:
		for _, key := range sortedKeys(now) {
			if c.errs.Full() {
				return
			}
			var old reflect.Value
			if before.IsValid() {
				old = before.MapIndex(key)
			}
			c.elem(plan, wayStep{kind: Map, key: key.String()}, now.MapIndex(key), old)
		}
	}
}

// field checks one field of the struct now.
func (c *checker) field(fc *fieldChecks, now, before reflect.Value) {
	c.way = append(c.way, wayStep{kind: Struct, name: fc.f.Name})
	defer func() { c.way = c.way[:len(c.way)-1] }()
	value := now.FieldByIndex(fc.f.Index)
	var old reflect.Value
	if before.IsValid() {
		old = before.FieldByIndex(fc.f.Index)
	}
	absent := isEmpty(value)
	if fc.immutable && old.IsValid() && !(absent && isEmpty(old)) && !equalValues(value, old) {
		c.report(field.Invalid(c.path(), plain(reflect.Indirect(value)), "field is immutable"))
	}
	if absent && fc.required {
		c.report(field.Required(c.path(), ""))
		return
	}
	if fc.f.Pointer {
		value = value.Elem() // the zero Value for nil
		if old.IsValid() {
			old = old.Elem()
		}
	}
	for _, run := range fc.tests {
		if !value.IsValid() || absent && fc.f.OmitEmpty {
			break
		}
		run(c, value)
	}
	if fc.f.Unique && value.IsValid() {
		c.unique(fc.f, value, old)
	}
	switch {
	case fc.below == nil || !value.IsValid():
	case fc.f.Type.Kind == List:
		c.list(fc.below, fc.f.ListKeys, value, old)
	default:
		c.value(fc.below, value, old)
	}
}

// list checks the elements of a list. keys are the names of the key fields of a list of type map,
// nil for other lists. Old elements are found through an index, in linear time.
func (c *checker) list(plan *checkPlan, keys []string, now, before reflect.Value) {
	var index map[string]int
	if keys != nil && plan.compares && before.IsValid() {
		index = indexOf(plan.typ.Elem, keys, before)
	}
	for i := 0; i < now.Len() && !c.errs.Full(); i++ {
		var old reflect.Value
		if index != nil {
			if at, ok := index[listKey(plan.typ.Elem, keys, now.Index(i))]; ok {
				old = before.Index(at)
			}
		}
		c.elem(plan, wayStep{kind: List, index: i}, now.Index(i), old)
	}
}

// indexOf returns the index of each element of a list by its keys (see listKey). If several
// elements have the same keys, it returns the index of the first.
func indexOf(elem *Type, keys []string, list reflect.Value) map[string]int {
	index := make(map[string]int, list.Len())
	for i := range list.Len() {
		key := listKey(elem, keys, list.Index(i))
		if _, repeated := index[key]; key != "" && !repeated {
			index[key] = i
		}
	}
	return index
}

// listKey returns the keys of an element as one string, which is equal for equal keys: a port 80
// with protocol TCP is `80,"TCP",`. A nil element has no keys; its string is "".
func listKey(elem *Type, keys []string, item reflect.Value) string {
	item = reflect.Indirect(item)
	if !item.IsValid() {
		return ""
	}
	var id []byte
	for _, key := range keys {
		value := reflect.Indirect(item.FieldByIndex(elem.Field(key).Index))
		if value.IsValid() {
			id = fmt.Appendf(id, "%#v", value.Interface())
		}
		id = append(id, ',') // behind each key, also where it is missing
	}
	return string(id)
}

// elem checks an element of a list or map.
func (c *checker) elem(plan *checkPlan, step wayStep, now, before reflect.Value) {
	if plan.typ.ElemPointer {
		if now.IsNil() {
			return
		}
		now = now.Elem()
		if before.IsValid() && !before.IsNil() {
			before = before.Elem()
		} else {
			before = reflect.Value{}
		}
	}
	c.way = append(c.way, step)
	c.value(plan.elem, now, before)
	c.way = c.way[:len(c.way)-1]
}
