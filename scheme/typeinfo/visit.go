package typeinfo

import (
	"reflect"
	"sync"
)

// A Visitor runs an action on structs of chosen types wherever they stand below a value: in nested
// structs, behind pointers, in lists and maps. It compiles, once for each type, where such structs
// can be; a type that reaches none costs a map lookup and is not walked. Parents are visited before
// what they hold, fields in their order, map entries in none. Custom types are not entered. Safe
// for concurrent use.
type Visitor struct {
	action func(*Type) func(Pointer)
	mu     sync.Mutex // held while plans are compiled
	plans  sync.Map   // *Type to *visit, nil if nothing is to do
}

// NewVisitor returns a visitor. It asks action once about each struct type that it meets: nil means
// that structs of this type are of no interest, otherwise the function is called with a pointer to
// each one.
func NewVisitor(action func(*Type) func(Pointer)) *Visitor {
	return &Visitor{action: action}
}

// visit is the plan for one type.
type visit struct {
	own   func(Pointer) // may be nil
	parts []part
}

// part is a place within a value that may hold something to visit.
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

func (v *Visitor) plan(t *Type) *visit {
	if found, ok := v.plans.Load(t); ok {
		return found.(*visit)
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	session := visitCompiler{visitor: v, plans: map[*Type]*visit{}}
	plan := session.compile(t)
	for typ, p := range session.plans {
		v.plans.Store(typ, p) // complete only now
	}
	return plan
}

type visitCompiler struct {
	visitor *Visitor
	plans   map[*Type]*visit
}

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

// through returns the function that visits a value at a place, or what the pointer at the place
// points to.
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

//go:noinline
func eachElement(run func(Pointer), size uintptr) func(Pointer) {
	return func(p Pointer) {
		s := p.Slice()
		for i := range s.Len {
			run(s.Elem(i, size))
		}
	}
}

// eachEntry visits the values of a map. Values that are no pointers are taken out and put back,
// because an action may change them.
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
