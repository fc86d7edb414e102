package codec

import (
	"encoding/json"
	"reflect"
	"sync"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// plan is a descriptor made ready for decoding: what the descriptor says, without reflection. Plans are shared by all
// Factories and never change once another goroutine can see them.
type plan struct {
	kind     typeinfo.Kind
	typ      *typeinfo.Type
	goType   reflect.Type
	fields   []fieldPlan
	byName   map[string]int // index into fields
	elem     *plan
	pointers bool // the elements are pointers
	// strings says that a List, or a Map with its keys, has plain strings (or types made of them)
	// as elements, and byteValues and quantities that a Map has byte slices or quantities, so that
	// Go's own operations serve.
	strings    bool
	byteValues bool
	quantities bool
	size       uintptr // of an element of a List, as the list holds it
	// behind is what an element of a List, or an entry of a Map, takes beyond size, in bytes.
	behind uintptr
	// The others are samples for typeinfo.Aim: of a Custom type, nil if it is no such thing, and of a List.
	unmarshal json.Unmarshaler
	marshal   json.Marshaler
	appends   jsonAppender
	choice    typeinfo.Choice
	slice     any
}

// fieldPlan is a field of a struct as JSON sees it.
type fieldPlan struct {
	name      string
	head      string // the name as JSON, with the colon behind it
	offset    uintptr
	plan      *plan
	pointer   bool
	omitEmpty bool
	// errName is the field as errors name it: behind the names of the embedded structs that it is lifted from.
	errName string
}

// compiled holds what is made of descriptors, once for each, on first use.
type compiled[V any] struct {
	sync.Mutex
	done sync.Map // *typeinfo.Type to *V
}

// get returns what is made of t. make makes it and all that it reaches, looking each up with known and noting it in
// fresh before its parts, so that recursive types end; others see it when it is complete.
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

// known returns what has been made of t, or is about to be, nil for neither.
func (c *compiled[V]) known(t *typeinfo.Type, fresh map[*typeinfo.Type]*V) *V {
	if v, ok := c.done.Load(t); ok {
		return v.(*V)
	}
	return fresh[t]
}

var plans compiled[plan]

// planOf returns the plan for t, made on first use.
func planOf(t *typeinfo.Type) *plan { return plans.get(t, makePlan) }

func makePlan(t *typeinfo.Type, fresh map[*typeinfo.Type]*plan) *plan {
	if p := plans.known(t, fresh); p != nil {
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
				name: f.Name, head: string(appendText(nil, f.Name)) + ":", offset: f.Offset, pointer: f.Pointer, omitEmpty: f.OmitEmpty,
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

// behind returns how much memory an element of a list takes behind its pointer, or an entry of a map altogether.
func behind(t *typeinfo.Type) (n uintptr) {
	if t.ElemPointer {
		n = t.Elem.Go.Size()
	}
	if t.Kind == typeinfo.Map {
		n += t.Go.Key().Size() + t.Go.Elem().Size()
	}
	return n
}

// errorName returns what encoding/json calls field f of struct t: embedded structs are named as well.
func errorName(t reflect.Type, f *typeinfo.Field) string {
	name := ""
	for i := 1; i < len(f.Index); i++ {
		name += t.FieldByIndex(f.Index[:i]).Name + "."
	}
	return name + f.Name
}

// list returns the List at at, as at.Value would, but more quickly.
func (p *plan) list(at typeinfo.Pointer) reflect.Value {
	return reflect.ValueOf(typeinfo.Aim(p.slice, at)).Elem()
}
