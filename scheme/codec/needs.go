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

// What a look into an encoded object must find so that defaulting would change nothing: the needs
// that package scheme collects (typeinfo.Need) are compiled into trees of needNodes. This file only
// compiles; peekneeds.go and protopeekneeds.go evaluate the trees while they read an object.
//
// A worked example, the RoleBinding of rbac.authorization.k8s.io/v1. Two of its structs have
// defaulting functions, and each states what it needs to find so that it changes nothing:
//
//	scheme.AddDefaulting(s, defaultRoleRef, "apiGroup")
//	scheme.AddDefaulting(s, defaultSubject, "apiGroup | kind=ServiceAccount")
//
// They compile to three nodes. A node gives each fact a bit, and says which bits must be set:
//
//	RoleBinding  bit 0: roleRef is there                             must: bit 0
//	             fields: subjects (below it Subject), roleRef (below it RoleRef)
//	RoleRef      bit 0: apiGroup is not empty                        must: bit 0
//	Subject      bit 0: apiGroup is not empty                        clause: bit 0 or bit 1
//	             bit 1: kind is ServiceAccount
//
// No function states the need of bit 0 of RoleBinding. It follows from that of RoleRef, because a
// missing roleRef is decoded as an empty struct, whose apiGroup the function would fill
// (needNode.zeroLacks).
//
// A Peeker now reads this object, which was stored without its defaults:
//
//	{..., "subjects":[{"kind":"ServiceAccount","name":"a"}, {"kind":"User","name":"b"}],
//	 "roleRef":{"apiGroup":"rbac.authorization.k8s.io","kind":"Role","name":"r"}}
//
// At each object that has a node it opens a frame with no bit set. In the first subject kind sets
// bit 1, so the clause holds at the closing brace. In the second subject no bit is set: the clause
// fails, Peek.MayNeedDefaults is set, and the registry decodes the object and completes it. If the
// second subject had an apiGroup, the registry would leave the object undecoded.
//
// A need with a longer path, such as "spec.internalTrafficPolicy | spec.type=ExternalName" of a
// Service, is about facts of the Service that are found one object further in. While the members of
// spec are compiled, the fact travels along as a claim, and becomes a test of the member type whose
// bit belongs to the frame one level up (needTest.up).

// Needs makes Peekers and ProtoPeekers that also report whether defaulting might change an object
// (Peek.MayNeedDefaults). For each struct type it knows what the defaulting functions need to find
// so that they change nothing; see typeinfo.Need. What a Peeker has to look at is compiled from the
// descriptors when the Peeker is first used, once per type. Needs is safe for concurrent use.
//
// The compiled form is a tree of needNodes, one tree for JSON and one for protobuf. While a Peeker
// reads an object with needs it keeps a frame, in which each fact is one bit. At the end of the
// object the bits of the frame decide which needs are met.
type Needs struct {
	// of returns the needs of the functions that default a struct type. known is false if the needs
	// of one of them are not declared.
	of func(*typeinfo.Type) (needs []typeinfo.Need, known bool)

	mu          sync.Mutex // held while nodes are compiled
	json, proto map[*typeinfo.Type]*needNode
}

// NewNeeds returns Needs. of returns the needs of all functions that complete a struct of a type
// with defaults. It returns known=false if the needs of one function are unknown; then every object
// that holds such a struct counts as lacking something.
func NewNeeds(of func(*typeinfo.Type) (needs []typeinfo.Need, known bool)) *Needs {
	return &Needs{of: of, json: map[*typeinfo.Type]*needNode{}, proto: map[*typeinfo.Type]*needNode{}}
}

// Peeker returns a Peeker as NewPeeker does, for objects of the type that typ returns. more returns
// further needs of these objects. Both functions are called when the Peeker is first used, not
// before.
func (n *Needs) Peeker(typ func() *typeinfo.Type, more func() []typeinfo.Need, paths ...string) *Peeker {
	p := NewPeeker(paths...)
	p.needs = sync.OnceValue(func() *needNode { return n.node(typ(), more(), false) })
	return p
}

// ProtoPeeker returns a ProtoPeeker as NewProtoPeeker does, for objects of the type that typ
// returns. more returns further needs of these objects.
func (n *Needs) ProtoPeeker(typ func() *typeinfo.Type, more func() []typeinfo.Need, paths ...string) *ProtoPeeker {
	p := NewProtoPeeker(typ, paths...)
	p.needs = sync.OnceValue(func() *needNode { return n.node(typ(), more(), true) })
	return p
}

// node compiles the tree of the type t, or returns the one that is compiled.
func (n *Needs) node(t *typeinfo.Type, more []typeinfo.Need, proto bool) *needNode {
	n.mu.Lock()
	defer n.mu.Unlock()
	c := needCompiler{needs: n, proto: proto, done: n.json}
	if proto {
		c.done = n.proto
	}
	return c.node(t, demand{needs: more}, 0)
}

// needNode says what is looked at in an object. A nil *needNode means that nothing in the object
// matters.
type needNode struct {
	// lacking says that every object of the type counts as lacking something, because nothing can
	// be proven of it. zeroLacks says that an object without members lacks something.
	lacking, zeroLacks bool
	fields             []needField
	names              nameTable
	numbers            []*needField // by field number, in protobuf

	must, never uint64 // the facts that must hold, and those that must not
	clauses     []needClause
	relation    relation
	label       string // the label whose value must be the name of the object, "" for none
}

// needClause is a disjunction. It holds if one of the facts in mask holds, where a fact that is
// also in flip holds if it is false.
type needClause struct{ mask, flip uint64 }

// relation is a need about two members of one object.
type relation struct {
	op     typeinfo.Op // NeedWithin, NeedSame or NeedFirst
	set    bool
	before []byte // for NeedFirst: what precedes the string in the JSON of the list
}

// needField is a member that tests are about, or that has needs below it.
type needField struct {
	name   string
	number int32
	seen   uint64 // its bit in needLook.seen
	// several says that the field is repeated in protobuf: a list or a map.
	several bool
	// opaque says that a value lacks something unless it is empty, because the tree has no nodes
	// for what is inside the value.
	opaque bool
	kind   typeinfo.Kind
	below  *needNode // of the struct, the list's elements, or the map with its keys as fields
	tests  []needTest
	// simple says that the field has only one test, testFull for this very object, and nothing
	// below.
	simple bool
	// into says that the field has no tests and only needs below it: a struct or a list of structs.
	into bool
	wire uint64 // the wire type of a number or string; 8, which is no wire type, for others
}

// needTest finds out one fact about a value.
type needTest struct {
	op   testOp
	bit  uint64
	up   int // how many frames above the current one the fact belongs to
	text string
	kind valueKind
}

// testOp says which fact a test finds out.
type testOp uint8

const (
	testFull  testOp = iota // the value is there and not empty
	testSome                // the value may be there: it is not proven empty
	testEqual               // the value is the text
	testMilli               // all quantities in the value are whole thousandths; otherwise the object lacks something
	testOne                 // the value is the first member of a relation
	testOther               // the value is the second member of a relation
)

// valueKind says when a value is empty.
type valueKind uint8

const (
	anyValue valueKind = iota // a list, a map or bytes
	stringValue
	boolValue
	numberValue
	intOrStringValue
	customValue   // a struct, any JSON, or a type with its own encoding: nothing is proven
	nullableValue // a pointer: empty only if null
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

// unnamed reports whether an object lacks the label whose value must be its name. n may be nil.
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

// maxFacts is how many members and facts of one object a node can hold. A type with more counts as
// lacking something.
const maxFacts = 64

// needCompiler compiles the nodes of one tree. Needs.mu is held.
type needCompiler struct {
	needs *Needs
	proto bool
	done  map[*typeinfo.Type]*needNode
}

// claim is a fact that the node of an outer object wants to know about a value inside of it.
type claim struct {
	path []typeinfo.Step // the steps from the value at hand to the value that the fact is about
	test needTest
	// depth is the number of structs around the object that wants to know the fact.
	depth int
}

// demand is everything that outer objects want to know about a value.
type demand struct {
	claims []claim
	needs  []typeinfo.Need // with the part of At that leads on from this value
}

// none reports whether nothing is wanted.
func (d demand) none() bool { return len(d.claims)+len(d.needs) == 0 }

// below returns the part of d that concerns the values that a step leads to.
func (d demand) below(is func(typeinfo.Step) bool) (below demand) {
	for _, c := range d.claims {
		if len(c.path) > 0 && is(c.path[0]) {
			c.path = c.path[1:]
			below.claims = append(below.claims, c)
		}
	}
	for _, n := range d.needs {
		if len(n.At) > 0 && is(n.At[0]) {
			n.At = n.At[1:]
			below.needs = append(below.needs, n)
		}
	}
	return below
}

// node compiles the struct type t. want is what outer objects want to know of it, depth the number
// of structs around it. Nodes without demands from above are shared by all that hold t.
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
		c.done[t] = n // before its members, so that recursive types end
	}
	own, known := c.own(t)
	for _, need := range want.needs {
		if len(need.At) == 0 {
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

// own returns the needs of t itself. In JSON the members of inlined structs stand beside those of
// t, so their needs are included.
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

// reaches reports whether t, or a type inside of it, has needs or functions whose needs are not
// declared.
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

// needFrame is a node during its compilation.
type needFrame struct {
	node  *needNode
	depth int
	facts map[string]uint64 // the bit of each fact, by a key that identifies the fact
	known bool
	want  demand // of the node itself and of those above
}

// add adds one need. If the need has a place, it is passed on to the members.
func (f *needFrame) add(need typeinfo.Need) {
	if len(need.At) > 0 {
		f.want.needs = append(f.want.needs, need)
		return
	}
	switch term := need.Terms[0]; term.Op {
	case typeinfo.NeedNamed:
		f.known = f.known && f.depth == 0 // a Peek has only the outermost object's name and labels
		f.node.label = term.Text
		return
	case typeinfo.NeedMilli:
		f.claim(term.Path, needTest{op: testMilli})
		return
	case typeinfo.NeedWithin, typeinfo.NeedSame, typeinfo.NeedFirst:
		f.known = f.known && !f.node.relation.set // a node has room for one relation
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

// clause adds a clause. A clause of one fact goes to must or never, which are checked all at once.
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

// fact returns the bit for the fact that a test finds out about the value at a path.
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

// bit returns the bit of the fact key, and whether the fact is known already. If the node has too
// many facts, nothing is proven of it.
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

// claim asks the value at a path for a fact about it.
func (f *needFrame) claim(path []typeinfo.Step, test needTest) {
	f.want.claims = append(f.want.claims, claim{path, test, f.depth})
}

// member compiles the member m of the struct t: the tests that claims demand of it, and the node of
// what is inside.
func (c *needCompiler) member(f *needFrame, t *typeinfo.Type, m *typeinfo.Field) {
	field := needField{name: m.Name, number: m.Number, kind: m.Type.Kind}
	var want demand
	// An inlined struct is a message of its own in protobuf: it gets the claims about those names
	// of t that it holds.
	if m.Inline {
		want = demand{slices.Clone(f.want.claims), slices.Clone(f.want.needs)}
		elsewhere := func(s []typeinfo.Step) bool { return len(s) == 0 || memberWith(t, s[0].Name) != m }
		want.claims = slices.DeleteFunc(want.claims, func(c claim) bool { return elsewhere(c.path) })
		want.needs = slices.DeleteFunc(want.needs, func(n typeinfo.Need) bool { return elsewhere(n.At) })
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

// entries compiles what is wanted of the entries of a map of strings. Their keys become the fields
// of a node.
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

// finish completes the node: it numbers the fields, finds shortcuts, and builds the lookup by name
// or number.
func (f *needFrame) finish(proto bool) {
	n := f.node
	n.lacking = !f.known || len(n.fields) > maxFacts
	n.zeroLacks = n.lacking || n.lacks(0)
	if n.lacking {
		return // such a node is never looked into
	}
	for i := range n.fields {
		field := &n.fields[i]
		field.seen = 1 << (i % maxFacts)
		field.simple = field.below == nil && !field.opaque &&
			len(field.tests) == 1 && field.tests[0].op == testFull && field.tests[0].up == 0
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

// wireOf returns the wire type of a number or string, and 8, which is no wire type, for all other
// kinds.
func wireOf(k typeinfo.Kind) uint64 {
	switch k {
	case typeinfo.String:
		return uint64(protowire.BytesType)
	case typeinfo.Bool, typeinfo.Int32, typeinfo.Int64:
		return uint64(protowire.VarintType)
	}
	return 8
}

// kindOf returns when a field is empty.
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

// intOrString is the descriptor of IntOrString.
var intOrString = typeinfo.For[meta.IntOrString]()

// nameTable finds fields by name, with a perfect hash: one probe and no collision.
type nameTable struct {
	// filter has a bit for the first character and the length of each name. A name whose bit is not
	// set is in no slot; most names of an object end here.
	filter uint64
	seed   uint64
	shift  uint8
	slots  []nameSlot // each name has a slot of its own; empty if there are no names
}

// nameSlot is one slot of a nameTable; field is nil if the slot is empty.
type nameSlot struct {
	hash  nameHash
	field *needField
}

// nameHash identifies a name by its length and up to 16 of its characters. Names of up to 16
// characters with the same nameHash are equal.
type nameHash struct {
	first, last uint64
	length      int
}

// hashName returns the nameHash of a name.
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

// makeNameTable tries table sizes and seeds until each field has a slot of its own. It reports
// false if there is none, as for two names that differ only in characters that hashName ignores; no
// API type has such names.
func makeNameTable(fields []needField) (t nameTable, ok bool) {
	if len(fields) == 0 {
		return t, true
	}
	for size := uint8(3); size <= 10; size++ {
		t = nameTable{shift: 64 - size, slots: make([]nameSlot, 1<<size)}
		for try := range uint64(256) {
			t.seed = 0x9E3779B97F4A7C15 + 2*try
			if t.assignSlots(fields) {
				return t, true
			}
		}
	}
	return nameTable{}, false
}

// assignSlots tries to give each field a slot with the current seed. It reports false if two fields
// collide.
func (t *nameTable) assignSlots(fields []needField) bool {
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

// slot returns the slot that a hash belongs to.
func (t *nameTable) slot(h nameHash) *nameSlot {
	mixed := (h.first ^ bits.RotateLeft64(h.last, 29) ^ uint64(h.length)<<56) * t.seed
	return &t.slots[mixed>>t.shift]
}

// find returns the field called name, nil if there is none.
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

// filterBit returns the bit of a name in nameTable.filter.
func filterBit(name string) uint64 {
	if name == "" {
		return 1
	}
	return 1 << ((uint(name[0])*7 + uint(len(name))) % 64)
}
