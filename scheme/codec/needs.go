package codec

import (
	"encoding/binary"
	"math/bits"
	"slices"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/coracle-project/coracle/scheme/alias"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Needs makes Peekers that also report whether an object may lack something that completing it with
// defaults would change (Peek.Lacks). What a Peeker has to look at is compiled from descriptors
// when the Peeker is first used, once for each type. Needs is safe for concurrent use.
//
// What is compiled is a tree of needNodes, one tree for JSON and one for protobuf. While a Peeker
// is in an object it keeps a frame, in which it notes facts, one bit for each. At the end of the
// object the bits say which needs are fulfilled.
type Needs struct {
	// of returns what the defaulting of a struct type needs; known is false if nobody says what it needs.
	of func(*typeinfo.Type) (needs []typeinfo.Need, known bool)

	mu          sync.Mutex // held while nodes are compiled
	json, proto map[*typeinfo.Type]*needNode
}

// NewNeeds returns Needs. of returns what the functions that complete a struct of a type need to
// find in it; known is false if that is not known of one of them. Then all that holds such a struct
// is taken for lacking something.
func NewNeeds(of func(*typeinfo.Type) (needs []typeinfo.Need, known bool)) *Needs {
	return &Needs{of: of, json: map[*typeinfo.Type]*needNode{}, proto: map[*typeinfo.Type]*needNode{}}
}

// Peeker is NewPeeker for objects of a type, which is not asked for before it is needed. more
// returns further needs of such objects.
func (n *Needs) Peeker(typ func() *typeinfo.Type, more func() []typeinfo.Need, paths ...string) *Peeker {
	p := NewPeeker(paths...)
	p.needs = sync.OnceValue(func() *needNode { return n.node(typ(), more(), false) })
	return p
}

// ProtoPeeker is NewProtoPeeker for objects of a type. more returns further needs of such objects.
func (n *Needs) ProtoPeeker(typ func() *typeinfo.Type, more func() []typeinfo.Need, paths ...string) *ProtoPeeker {
	p := NewProtoPeeker(typ, paths...)
	p.needs = sync.OnceValue(func() *needNode { return n.node(typ(), more(), true) })
	return p
}

func (n *Needs) node(t *typeinfo.Type, more []typeinfo.Need, proto bool) *needNode {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := needCompiler{needs: n, proto: proto, done: n.json}
	if proto {
		c.done = n.proto
	}
	return c.node(t, demand{needs: more}, 0)
}

// needNode says what is looked at in an object. nil: nothing.
type needNode struct {
	// lacking says that whatever is there lacks something, zeroLacks that an object without members does.
	lacking, zeroLacks bool
	fields             []needField
	names              nameTable
	numbers            []*needField // by number, in protobuf

	must, never uint64 // facts that must hold, and must not
	clauses     []needClause
	relation    relation
	label       string // the label that has to be the name of the object, "" for none
}

// needClause holds if one of the facts in mask is true, or one that is in flip, too, is false.
type needClause struct{ mask, flip uint64 }

// relation is a need about two members of one object.
type relation struct {
	op     typeinfo.Op // NeedWithin, NeedSame or NeedFirst
	set    bool
	before []byte // of NeedFirst: what stands before the string in the list
}

// needField is a member that is looked at, or into.
type needField struct {
	name   string
	number int32
	seen   uint64 // its bit among those of the fields
	// several says that protobuf has the field once for each element.
	several bool
	// opaque says that a value which is not empty lacks something, because nobody looks into it.
	opaque bool
	kind   typeinfo.Kind
	below  *needNode // of a struct, of the elements of a list, or with the entries of a map as fields
	tests  []needTest
	// simple says that all there is to do is the one test whether the value is full, for this object.
	simple bool
	// into says that all there is to do is to look into it: a struct, or a list of structs.
	into bool
	wire uint64 // how protobuf has a number or string, for simple fields; no wire type for others
}

// needTest finds a fact about a value.
type needTest struct {
	op   testOp
	bit  uint64
	up   int // the frame is that of so many objects above
	text string
	kind valueKind
}

type testOp uint8

const (
	testFull  testOp = iota // it is there, and not empty
	testSome                // it may be there
	testEqual               // it is the text
	testMilli               // a quantity in it is finer than thousandths: it lacks something
	testOne                 // it is the first member of a relation
	testOther               // it is the second one
)

// valueKind says when a value is empty.
type valueKind uint8

const (
	anyValue valueKind = iota
	stringValue
	boolValue
	numberValue
	intOrStringValue
	customValue   // nobody here knows
	nullableValue // a pointer: it is empty if it is null
)

// lacks reports whether an object in which these facts were found lacks something.
func (n *needNode) lacks(facts uint64) bool {
	if facts&n.must != n.must || facts&n.never != 0 {
		return true
	}
	for _, c := range n.clauses {
		if (facts^c.flip)&c.mask == 0 {
			return true
		}
	}
	return false
}

// unnamed reports whether an object lacks the label that n, which may be nil, wants to be its name.
func (n *needNode) unnamed(out *Peek) bool {
	if n == nil || n.label == "" {
		return false
	}
	there := false
	for i := range out.Labels {
		if label := &out.Labels[i]; label.Key == n.label {
			if there = label.Value == out.Name; !there {
				return true
			}
		}
	}
	return !there
}

// maxFacts is how many members and facts of an object are told apart. Of a type with more, nothing
// is proven.
const maxFacts = 64

// needCompiler compiles nodes.
type needCompiler struct {
	needs *Needs
	proto bool
	done  map[*typeinfo.Type]*needNode
}

// claim is a fact that an object at a depth wants to know about what stands below it.
type claim struct {
	path  []typeinfo.Step // that is left
	test  needTest
	depth int
}

// demand is what objects above want of a value.
type demand struct {
	claims []claim
	needs  []typeinfo.Need // at places that are left
}

func (d demand) none() bool { return len(d.claims)+len(d.needs) == 0 }

// below returns what d wants of a step.
func (d demand) below(is func(typeinfo.Step) bool) (below demand) {
	for _, c := range d.claims {
		if len(c.path) > 0 && is(c.path[0]) {
			c.path = c.path[1:]
			below.claims = append(below.claims, c)
		}
	}
	for _, n := range d.needs {
		if len(n.Place) > 0 && is(n.Place[0]) {
			n.Place = n.Place[1:]
			below.needs = append(below.needs, n)
		}
	}
	return below
}

// node compiles a struct of which objects above want something. It stands at a depth of structs.
func (c *needCompiler) node(t *typeinfo.Type, want demand, depth int) *needNode {
	if want.none() {
		if n, ok := c.done[t]; ok {
			return n
		}
		if !c.reaches(t, map[*typeinfo.Type]bool{}) {
			c.done[t] = nil
			return nil
		}
	}
	n := &needNode{}
	if want.none() {
		c.done[t] = n // before its parts: recursive types
	}
	own, known := c.own(t)
	for _, need := range want.needs {
		if len(need.Place) == 0 {
			own = append(own, need)
		}
	}
	f := needFrame{node: n, depth: depth, facts: map[string]uint64{}, known: known, want: want}
	for _, need := range own {
		f.add(need)
	}
	members := t.Fields
	if c.proto {
		members = t.Members
	}
	for _, m := range members {
		c.member(&f, t, m)
	}
	f.finish(c.proto)
	return n
}

// own returns what is needed of t itself. JSON has the members of inlined structs beside those of t.
func (c *needCompiler) own(t *typeinfo.Type) (needs []typeinfo.Need, known bool) {
	needs, known = c.needs.of(t)
	if c.proto {
		return needs, known
	}
	for _, m := range t.Members {
		if m.Inline {
			more, ok := c.own(m.Type)
			needs, known = append(needs[:len(needs):len(needs)], more...), known && ok
		}
	}
	return needs, known
}

// reaches reports whether something is needed of t or of anything below it.
func (c *needCompiler) reaches(t *typeinfo.Type, seen map[*typeinfo.Type]bool) bool {
	if t == nil || seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind {
	case typeinfo.Struct:
		if needs, known := c.needs.of(t); len(needs) > 0 || !known {
			return true
		}
		return slices.ContainsFunc(t.Members, func(m *typeinfo.Field) bool { return c.reaches(m.Type, seen) })
	case typeinfo.List, typeinfo.Map:
		return c.reaches(t.Elem, seen)
	}
	return false
}

// needFrame is a node while it is compiled.
type needFrame struct {
	node  *needNode
	depth int
	facts map[string]uint64 // the bits, by what they are about
	known bool
	want  demand // of the node itself and of those above
}

// add notes a need, which is at its place or below it.
func (f *needFrame) add(need typeinfo.Need) {
	if len(need.Place) > 0 {
		f.want.needs = append(f.want.needs, need)
		return
	}
	switch term := need.Terms[0]; term.Op {
	case typeinfo.NeedNamed:
		f.known = f.known && f.depth == 0 // a Peek has the name and the labels of the object itself
		f.node.label = term.Text
		return
	case typeinfo.NeedMilli:
		f.claim(term.Path, needTest{op: testMilli})
		return
	case typeinfo.NeedWithin, typeinfo.NeedSame, typeinfo.NeedFirst:
		f.known = f.known && !f.node.relation.set // there is room for one
		f.node.relation = relation{op: term.Op, set: true, before: []byte(`[`)}
		if term.Text != "" {
			f.node.relation.before = []byte(`[{"` + term.Text + `":`)
		}
		f.claim(term.Path, needTest{op: testOne})
		f.claim([]typeinfo.Step{{Name: term.Other}}, needTest{op: testOther})
		return
	}
	var clause needClause
	for _, term := range need.Terms {
		test := needTest{op: testFull}
		switch term.Op {
		case typeinfo.NeedAbsent:
			test.op = testSome
		case typeinfo.NeedEqual:
			test.op, test.text = testEqual, term.Text
		}
		bit := f.fact(term.Path, test)
		clause.mask |= bit
		if term.Op == typeinfo.NeedAbsent {
			clause.flip |= bit
		}
	}
	f.clause(clause)
}

func (f *needFrame) clause(c needClause) {
	switch one := c.mask&(c.mask-1) == 0; {
	case one && c.flip == 0:
		f.node.must |= c.mask
	case one:
		f.node.never |= c.mask
	default:
		f.node.clauses = append(f.node.clauses, c)
	}
}

// fact returns the bit of what a test finds out about what stands at a path.
func (f *needFrame) fact(path []typeinfo.Step, test needTest) uint64 {
	key := string(byte(test.op)) + test.text
	for _, s := range path {
		key += "\x00" + s.Name + "\x00" + s.Key
	}
	bit, again := f.bit(key)
	if test.bit = bit; !again {
		f.claim(path, test)
	}
	return bit
}

// bit returns the bit of a fact, and whether it had been asked for before.
func (f *needFrame) bit(key string) (bit uint64, again bool) {
	if bit, ok := f.facts[key]; ok {
		return bit, true
	}
	if len(f.facts) == maxFacts {
		f.known = false
		return 1, true
	}
	f.facts[key] = 1 << len(f.facts)
	return f.facts[key], false
}

func (f *needFrame) claim(path []typeinfo.Step, test needTest) {
	f.want.claims = append(f.want.claims, claim{path, test, f.depth})
}

// member compiles a member of the struct t.
func (c *needCompiler) member(f *needFrame, t *typeinfo.Type, m *typeinfo.Field) {
	field := needField{name: m.Name, number: m.Number, kind: m.Type.Kind}
	var want demand
	if m.Inline { // in protobuf: a message, of whose members the names in t are those
		want = demand{slices.Clone(f.want.claims), slices.Clone(f.want.needs)}
		elsewhere := func(s []typeinfo.Step) bool { return len(s) == 0 || memberWith(t, s[0].Name) != m }
		want.claims = slices.DeleteFunc(want.claims, func(c claim) bool { return elsewhere(c.path) })
		want.needs = slices.DeleteFunc(want.needs, func(n typeinfo.Need) bool { return elsewhere(n.Place) })
	} else {
		want = f.want.below(func(s typeinfo.Step) bool { return s.Name == m.Name })
	}
	for _, claim := range want.claims {
		if len(claim.path) == 0 {
			claim.test.up, claim.test.kind = f.depth-claim.depth, kindOf(m)
			field.tests = append(field.tests, claim.test)
		}
	}
	want.claims = slices.DeleteFunc(want.claims, func(c claim) bool { return len(c.path) == 0 })
	switch m.Type.Kind {
	case typeinfo.Struct:
		field.below = c.node(m.Type, want, f.depth+1)
		if field.below != nil && field.below.zeroLacks && !m.Pointer {
			bit, _ := f.bit("struct " + m.GoName)
			field.tests = append(field.tests, needTest{op: testFull, kind: nullableValue, bit: bit})
			f.clause(needClause{mask: bit})
		}
	case typeinfo.List:
		field.several = true
		elements := want.below(func(s typeinfo.Step) bool { return s == typeinfo.Step{} })
		if m.Type.Elem.Kind == typeinfo.Struct {
			field.below = c.node(m.Type.Elem, elements, f.depth+1)
		} else {
			field.opaque = c.reaches(m.Type, map[*typeinfo.Type]bool{})
		}
	case typeinfo.Map:
		field.several = true
		if field.opaque = c.reaches(m.Type, map[*typeinfo.Type]bool{}); !want.none() {
			field.below = entries(want, f.depth+1)
		}
	}
	if field.below != nil || field.opaque || len(field.tests) > 0 {
		f.node.fields = append(f.node.fields, field)
	}
}

// entries compiles what is wanted of the entries of a map of strings.
func entries(want demand, depth int) *needNode {
	f := needFrame{node: &needNode{}, depth: depth, known: true}
	for _, claim := range want.claims {
		key := claim.path[0].Key
		i := slices.IndexFunc(f.node.fields, func(f needField) bool { return f.name == key })
		if i < 0 {
			i = len(f.node.fields)
			f.node.fields = append(f.node.fields, needField{name: key, kind: typeinfo.String})
		}
		claim.test.up, claim.test.kind = depth-claim.depth, stringValue
		f.node.fields[i].tests = append(f.node.fields[i].tests, claim.test)
	}
	f.finish(false)
	return f.node
}

// finish completes the node.
func (f *needFrame) finish(proto bool) {
	n := f.node
	n.lacking = !f.known || len(n.fields) > maxFacts
	n.zeroLacks = n.lacking || n.lacks(0)
	if n.lacking {
		return // nothing is looked at
	}
	for i := range n.fields {
		field := &n.fields[i]
		field.seen = 1 << (i % maxFacts)
		field.simple = field.below == nil && !field.opaque && len(field.tests) == 1 && field.tests[0].op == testFull && field.tests[0].up == 0
		field.into = field.below != nil && !field.opaque && len(field.tests) == 0 && field.kind != typeinfo.Map
		field.wire = wireOf(field.kind)
		if number := int(field.number); proto && number > 0 && number < smallNumbers {
			n.numbers = append(n.numbers, make([]*needField, max(0, number+1-len(n.numbers)))...)
			n.numbers[number] = field
		} else if proto && number >= smallNumbers {
			n.lacking, n.zeroLacks = true, true
		}
	}
	if proto {
		return
	}
	var ok bool
	if n.names, ok = makeNameTable(n.fields); !ok {
		n.lacking, n.zeroLacks = true, true
	}
}

// wireOf returns the wire type of a number or string, and of all else what is none.
func wireOf(k typeinfo.Kind) uint64 {
	switch k {
	case typeinfo.String:
		return uint64(protowire.BytesType)
	case typeinfo.Bool, typeinfo.Int32, typeinfo.Int64:
		return uint64(protowire.VarintType)
	}
	return 8
}

// kindOf says when a field is empty.
func kindOf(f *typeinfo.Field) valueKind {
	switch {
	case f.Pointer:
		return nullableValue
	case f.Type.Go == intOrString.Go:
		return intOrStringValue
	}
	switch f.Type.Kind {
	case typeinfo.String:
		return stringValue
	case typeinfo.Bool:
		return boolValue
	case typeinfo.Int32, typeinfo.Int64, typeinfo.Float64:
		return numberValue
	case typeinfo.Custom, typeinfo.Any, typeinfo.Struct:
		return customValue
	}
	return anyValue
}

var intOrString = typeinfo.For[meta.IntOrString]()

// nameTable finds fields by name.
type nameTable struct {
	// filter has a bit for the length and the first character of each name. A name without its bit is
	// none of them.
	filter uint64
	seed   uint64
	shift  uint8
	slots  []nameSlot // each name has its own; none: there are no names
}

// nameSlot is a place in a nameTable, empty without a field.
type nameSlot struct {
	hash  nameHash
	field *needField
}

// nameHash is the length of a name and some of its characters: all of them, if there are up to 16.
type nameHash struct {
	first, last uint64
	length      int
}

func hashName(name string) nameHash {
	b := alias.Bytes(name)
	switch n := len(b); {
	case n >= 8:
		return nameHash{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[n-8:]), n}
	case n >= 4:
		return nameHash{uint64(binary.LittleEndian.Uint32(b)), uint64(binary.LittleEndian.Uint32(b[n-4:])), n}
	case n > 0:
		return nameHash{uint64(b[0])<<16 | uint64(b[n/2])<<8 | uint64(b[n-1]), 0, n}
	}
	return nameHash{}
}

// makeNameTable looks for a seed that gives each field a slot of its own. It reports false for
// names that differ in nothing that is looked at, which nobody has yet.
func makeNameTable(fields []needField) (t nameTable, ok bool) {
	if len(fields) == 0 {
		return t, true
	}
	for size := uint8(3); size <= 10; size++ {
		t = nameTable{shift: 64 - size, slots: make([]nameSlot, 1<<size)}
		for try := range uint64(256) {
			t.seed = 0x9E3779B97F4A7C15 + 2*try
			if t.place(fields) {
				return t, true
			}
		}
	}
	return nameTable{}, false
}

func (t *nameTable) place(fields []needField) bool {
	clear(t.slots)
	for i := range fields {
		t.filter |= filterBit(fields[i].name)
		hash := hashName(fields[i].name)
		slot := t.slot(hash)
		if slot.field != nil {
			return false
		}
		*slot = nameSlot{hash, &fields[i]}
	}
	return true
}

func (t *nameTable) slot(h nameHash) *nameSlot {
	mixed := (h.first ^ bits.RotateLeft64(h.last, 29) ^ uint64(h.length)<<56) * t.seed
	return &t.slots[mixed>>t.shift]
}

// find returns the field with a name, nil if there is none.
func (t *nameTable) find(name string) *needField {
	if t.filter&filterBit(name) == 0 {
		return nil
	}
	hash := hashName(name)
	slot := t.slot(hash)
	if slot.hash != hash || slot.field == nil || len(name) > 16 && slot.field.name != name {
		return nil
	}
	return slot.field
}

// filterBit is the bit of a name in a filter.
func filterBit(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((uint(name[0])*7 + uint(len(name))) % 64)
}
