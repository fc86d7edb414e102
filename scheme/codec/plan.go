package codec

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// How types map to JSON: makePlan turns a descriptor into a plan, once per type, on first use.
// decode.go, collection.go and encode.go work by plans.

// plan is a descriptor prepared for JSON, so that encoding and decoding need little reflection. All
// Factories share the plans. A plan never changes once another goroutine can see it.
type plan struct {
	kind     typeinfo.Kind
	typ      *typeinfo.Type // of a struct
	goType   reflect.Type
	fields   []fieldPlan
	byName   map[string]int // index into fields
	elem     *plan          // of a list or map
	pointers bool           // the elements or values are pointers
	// strings, byteValues and quantities say that Go's own operations serve: strings for a []string
	// or map[string]string, byteValues for a map[string][]byte, quantities for a
	// map[string]meta.Quantity. Named string types have the same memory and count as strings.
	strings    bool
	byteValues bool
	quantities bool
	size       uintptr // bytes of an element of a list, as the list holds it
	// behind is the number of bytes that an element of a list takes beyond size (what its pointer
	// points to), or an entry of a map takes in all.
	behind uintptr
	// Samples for typeinfo.InterfaceAt: the first four are pointers to a Custom type that implement
	// the interface, nil if it does not; slice is a pointer to a list.
	unmarshal json.Unmarshaler
	marshal   json.Marshaler
	appends   jsonAppender
	choice    typeinfo.Choice
	slice     any
}

// fieldPlan is a field of a struct as JSON has it.
type fieldPlan struct {
	name      string
	head      string // the name as JSON with its colon, such as "name":
	offset    uintptr
	plan      *plan
	pointer   bool
	omitEmpty bool
	// errName is the name of the field in errors: preceded by the names of the embedded structs
	// that the field comes from.
	errName string
}

// compiled is a cache of values made of descriptors, each made once, on first use.
type compiled[V any] struct {
	sync.Mutex
	done sync.Map // *typeinfo.Type to *V
}

// get returns the value made of t. make makes the values of t and of all types that t contains. For
// each type it calls lookup first, and it stores the value in fresh before it makes the values of
// the parts, so that recursive types end. Other goroutines see a value only when it is complete.
func (c *compiled[V]) get(t *typeinfo.Type, make func(t *typeinfo.Type, fresh map[*typeinfo.Type]*V) *V) *V {
	if v, ok := c.done.Load(t); ok {
		return v.(*V)
	}
	c.Lock()
	defer c.Unlock()
	fresh := map[*typeinfo.Type]*V{}
	v := make(t, fresh)
	for t, v := range fresh {
		c.done.Store(t, v)
	}
	return v
}

// lookup returns the value of t if it exists already or is being made, else nil.
func (c *compiled[V]) lookup(t *typeinfo.Type, fresh map[*typeinfo.Type]*V) *V {
	if v, ok := c.done.Load(t); ok {
		return v.(*V)
	}
	return fresh[t]
}

// plans holds the plans of all types.
var plans compiled[plan]

// planOf returns the plan of t.
func planOf(t *typeinfo.Type) *plan { return plans.get(t, makePlan) }

// makePlan makes the plan of t; see compiled.get.
func makePlan(t *typeinfo.Type, fresh map[*typeinfo.Type]*plan) *plan {
	if p := plans.lookup(t, fresh); p != nil {
		return p
	}
	p := &plan{kind: t.Kind, typ: t, goType: t.Go, pointers: t.ElemPointer}
	fresh[t] = p
	switch t.Kind {
	case typeinfo.Struct:
		p.byName = make(map[string]int, len(t.Fields))
		for _, f := range t.Fields {
			if f.Name == "" {
				continue
			}
			p.byName[f.Name] = len(p.fields)
			p.fields = append(p.fields, fieldPlan{
				name: f.Name, head: string(appendText(nil, f.Name)) + ":",
				offset: f.Offset, pointer: f.Pointer, omitEmpty: f.OmitEmpty,
				plan: makePlan(f.Type, fresh), errName: errorName(t.Go, f),
			})
		}
	case typeinfo.List:
		p.elem = makePlan(t.Elem, fresh)
		p.strings = t.Elem.Kind == typeinfo.String && !t.ElemPointer
		p.size = t.Go.Elem().Size()
		p.slice = reflect.New(t.Go).Interface()
		p.behind = behind(t)
	case typeinfo.Map:
		p.elem = makePlan(t.Elem, fresh)
		p.strings = t.Elem.Kind == typeinfo.String && !t.ElemPointer
		p.byteValues = t.Elem.Kind == typeinfo.Bytes && !t.ElemPointer
		p.quantities = t.Elem.Go == reflect.TypeFor[meta.Quantity]() && !t.ElemPointer
		p.behind = behind(t)
	case typeinfo.Custom:
		sample := reflect.New(t.Go).Interface()
		p.unmarshal, _ = sample.(json.Unmarshaler)
		p.marshal, _ = sample.(json.Marshaler)
		p.appends, _ = sample.(jsonAppender)
		p.choice, _ = sample.(typeinfo.Choice)
	}
	return p
}

// behind returns the plan.behind of t, a list or map.
func behind(t *typeinfo.Type) (n uintptr) {
	if t.ElemPointer {
		n = t.Elem.Go.Size()
	}
	if t.Kind == typeinfo.Map {
		n += t.Go.Key().Size() + t.Go.Elem().Size()
	}
	return n
}

// errorName returns the name that encoding/json's errors use for field f of struct t: it includes
// the names of embedded structs.
func errorName(t reflect.Type, f *typeinfo.Field) string {
	name := ""
	for i := 1; i < len(f.Index); i++ {
		name += t.FieldByIndex(f.Index[:i]).Name + "."
	}
	return name + f.Name
}

// list returns the list that at points to as a reflect.Value. It does what at.Value(p.goType) does,
// but faster.
func (p *plan) list(at typeinfo.Pointer) reflect.Value {
	return reflect.ValueOf(typeinfo.InterfaceAt(p.slice, at)).Elem()
}
