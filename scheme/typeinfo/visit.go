package typeinfo

import (
	"reflect"
	"sync"
)

// visit.go walks Go values for an action that concerns a few types: defaulting, and DropEmpty. The
// walk enters only types that reach a type with an action.

// A Visitor runs an action on structs of chosen types wherever they are below a value: in nested
// structs, behind pointers, in lists and maps. Once for each type it compiles where such structs
// can be; a type that reaches none costs a map lookup and is not walked. A struct is visited before
// the structs in it, fields in their order, map entries in no order. Custom types are not entered.
// A Visitor is safe for concurrent use.
type Visitor struct {
	action func(*Type) func(Pointer)
	mu     sync.Mutex // held while plans are compiled
	plans  sync.Map   // *Type to *visit, nil if nothing is to do
}

// NewVisitor returns a Visitor. It calls action for each struct type that it meets, when it
// compiles the type, and may call it several times for one type; action must return the same each
// time. If action returns nil, structs of the type are not visited; otherwise the returned function
// is called with the address of each.
func NewVisitor(action func(*Type) func(Pointer)) *Visitor {
	return &Visitor{action: action}
}

// visit is the plan for one type. For a struct, own is the action and parts are the members below
// which there are structs to visit. For a list or map, own is the loop over its elements.
type visit struct {
	own   func(Pointer) // may be nil
	parts []part
}

// part is a field of a struct, and what is to be done with its value. offset is where the field is
// in the struct.
type part struct {
	offset uintptr
	run    func(Pointer)
}

func (v *visit) run(p Pointer) {
	if v.own != nil {
		v.own(p)
	}
	for i := range v.parts {
		v.parts[i].run(p.Add(v.parts[i].offset))
	}
}

// Visit visits the value of type t at p.
func (v *Visitor) Visit(t *Type, p Pointer) {
	if plan := v.plan(t); plan != nil {
		plan.run(p)
	}
}

// Needs reports whether Visit can have anything to do in a value of type t.
func (v *Visitor) Needs(t *Type) bool { return v.plan(t) != nil }

// plan returns the plan of t, compiling it on first use; nil if there is nothing to visit.
func (v *Visitor) plan(t *Type) *visit {
	if found, ok := v.plans.Load(t); ok {
		return found.(*visit)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	session := visitCompiler{visitor: v, plans: map[*Type]*visit{}}
	plan := session.compile(t)
	for typ, p := range session.plans {
		v.plans.Store(typ, p) // not earlier: plans of recursive types are incomplete until compile returns
	}
	return plan
}

// visitCompiler compiles the plans of the types below one type. plans holds the new ones, which are
// published together at the end.
type visitCompiler struct {
	visitor *Visitor
	plans   map[*Type]*visit
}

// compile returns the plan of t: one of c.plans, a published one, or a new one.
func (c visitCompiler) compile(t *Type) *visit {
	if plan, ok := c.plans[t]; ok {
		return plan
	}
	if found, ok := c.visitor.plans.Load(t); ok {
		return found.(*visit)
	}
	if !c.reaches(t, map[*Type]bool{}) {
		c.plans[t] = nil
		return nil
	}
	plan := &visit{}
	c.plans[t] = plan // before its parts: recursive types
	switch t.Kind {
	case Struct:
		plan.own = c.visitor.action(t)
		for _, m := range t.Members {
			if below := c.compile(m.Type); below != nil {
				plan.parts = append(plan.parts, part{m.Offset, through(below, m.Pointer)})
			}
		}
	case List:
		plan.own = eachElement(through(c.compile(t.Elem), t.ElemPointer), t.Go.Elem().Size())
	case Map:
		plan.own = eachEntry(t.Go, through(c.compile(t.Elem), t.ElemPointer), t.ElemPointer)
	}
	return plan
}

// reaches reports whether t or anything below it has an action.
func (c visitCompiler) reaches(t *Type, seen map[*Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind {
	case Struct:
		if c.visitor.action(t) != nil {
			return true
		}
		for _, m := range t.Members {
			if c.reaches(m.Type, seen) {
				return true
			}
		}
	case List, Map:
		return c.reaches(t.Elem, seen)
	}
	return false
}

// through returns the function that runs plan on the value at an address, or if pointer is true, on
// the value that the pointer at the address points to.
//
//go:noinline
func through(plan *visit, pointer bool) func(Pointer) {
	if !pointer {
		return plan.run
	}
	return func(p Pointer) {
		if to := *p.Slot(); !to.IsNil() {
			plan.run(to)
		}
	}
}

// eachElement returns the function that runs run on each element of the slice at an address. size
// is the size of an element in bytes.
//
//go:noinline
func eachElement(run func(Pointer), size uintptr) func(Pointer) {
	return func(p Pointer) {
		s := p.Slice()
		for i := range s.Len {
			run(s.Elem(i, size))
		}
	}
}

// eachEntry returns the function that visits the values of the map at an address. A value that is
// no pointer is copied out of the map, visited and put back, because the action may change it and a
// value in a map has no address.
func eachEntry(t reflect.Type, run func(Pointer), pointer bool) func(Pointer) {
	return func(p Pointer) {
		m := p.Value(t)
		if m.Len() == 0 {
			return
		}
		e := entry{reflect.New(t.Key()).Elem(), reflect.New(t.Elem()).Elem()}
		for iter := m.MapRange(); iter.Next(); {
			e.key.SetIterKey(iter)
			e.value.SetIterValue(iter)
			run(AddressOf(e.value))
			if !pointer {
				m.SetMapIndex(e.key, e.value)
			}
		}
	}
}
