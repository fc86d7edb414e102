package typeinfo

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
)

// compile.go turns Go types into Types. Register compiles a type and all types that it reaches, or
// none of them; Of calls Register when a type is first used. Reading the tags of a field is in
// tags.go.

// compiled maps each reflect.Type to its finished *Type. refused maps each reflect.Type that cannot
// be described to the error. Both maps only grow, by at most one entry for each Go type of the
// program.
var (
	compiled  sync.Map
	refused   sync.Map
	compiling sync.Mutex // held while a type and all that it reaches is compiled
)

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	protoMessage  = reflect.TypeFor[ProtoMessage]()
)

// Of returns the descriptor of t, which may be a pointer type, compiling it on first use. It
// returns nil for a type that cannot be described or whose tags are wrong; Register says why. It is
// safe for concurrent use.
func Of(t reflect.Type) *Type {
	if t == nil {
		return nil
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if found, ok := compiled.Load(t); ok {
		return found.(*Type)
	}
	if Register(t) != nil {
		return nil
	}
	found, _ := compiled.Load(t)
	return found.(*Type)
}

// For returns the descriptor of T: Of(reflect.TypeFor[T]()).
func For[T any]() *Type { return Of(reflect.TypeFor[T]()) }

// Compiled returns the Type of a Go type if it has been compiled already, else nil. It compiles
// nothing, so it is cheap for a type that nobody uses.
func Compiled(t reflect.Type) *Type {
	found, _ := compiled.Load(t)
	known, _ := found.(*Type)
	return known
}

// Register compiles t, which may be a pointer type, and every type that it reaches. The error joins
// all mistakes of all these types; each mistake names its field, such as corev1.PodSpec.Containers.
// Registering a type again costs a map lookup and returns the same error.
func Register(t reflect.Type) error {
	if t == nil {
		return errors.New("typeinfo: no type given")
	}
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := compiled.Load(t); ok {
		return nil
	}
	if err, ok := refused.Load(t); ok {
		return err.(error)
	}
	compiling.Lock()
	defer compiling.Unlock()
	c := compiler{types: map[reflect.Type]*Type{}}
	c.compile(t, t.String())
	for _, typ := range c.order {
		c.flatten(typ)
	}
	c.checkKeys()
	if len(c.errs) > 0 {
		err := errors.Join(c.errs...)
		refused.Store(t, err)
		return err
	}
	// Types are published last, so that no goroutine sees a type whose parts are incomplete.
	for goType, typ := range c.types {
		compiled.Store(goType, typ)
	}
	return nil
}

// A compiler compiles the graph of types below one type, in two passes. The first pass makes a Type
// with its Members for each Go type; a recursive type finds itself in types. The second pass, over
// order, does what needs complete Members: it lifts inlined fields (flatten) and looks up the keys
// that tags name (checkKeys).
type compiler struct {
	types map[reflect.Type]*Type
	order []*Type // types, as they were met
	keyed []keyed
	errs  []error
}

// keyed is a field whose tags name fields of its element type: the keys of a list of type map, or
// a merge key. at is the field's name in errors.
type keyed struct {
	field *Field
	at    string
}

// fail records a mistake; at is the field, such as corev1.PodSpec.Containers.
func (c *compiler) fail(at, format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf("%s: "+format, append([]any{at}, args...)...))
}

// compile returns the Type of t: one that this compiler or an earlier call of Register has made, or
// a new one. It returns nil after recording why t cannot be described.
func (c *compiler) compile(t reflect.Type, at string) *Type {
	if known, ok := c.types[t]; ok {
		return known
	}
	if known, ok := compiled.Load(t); ok {
		return known.(*Type)
	}
	kind := kindOf(t)
	if kind == 0 {
		c.fail(at, "Go type %s is not supported in the API", t)
		return nil
	}
	typ := &Type{Go: t, Kind: kind}
	c.types[t] = typ // before its parts, so that recursion ends
	c.order = append(c.order, typ)
	if kind != Any && reflect.PointerTo(t).Implements(protoMessage) && !embedsTagged(t) {
		typ.Proto = reflect.New(t).Interface().(ProtoMessage)
	}
	switch kind {
	case Struct:
		typ.Name = ModelName(t)
		c.structType(typ)
	case Custom:
		typ.Name = ModelName(t)
		// A custom JSON form over a plain message, such as a union of a schema and a list of
		// schemas.
		if t.Kind() == reflect.Struct && typ.Proto == nil {
			c.structType(typ)
		}
	case List, Map:
		c.elements(typ, at)
	}
	return typ
}

// elements sets Key, Elem and ElemPointer of a List or Map.
func (c *compiler) elements(typ *Type, at string) {
	if typ.Kind == Map {
		if typ.Key = typ.Go.Key(); typ.Key.Kind() != reflect.String {
			c.fail(at, "the keys of %s are not strings", typ.Go)
		}
	}
	elem := typ.Go.Elem()
	if elem.Kind() == reflect.Pointer {
		elem, typ.ElemPointer = elem.Elem(), true
	}
	typ.Elem = c.compile(elem, at+"[]")
}

// kindOf returns the kind of a Go type. It is 0 for types that the API conventions do not allow:
// unsigned integers, int, float32, arrays, channels, functions and interfaces with methods.
func kindOf(t reflect.Type) Kind {
	if t.Kind() != reflect.Interface && t.Kind() != reflect.Pointer && !embedsTagged(t) &&
		(t.Implements(jsonMarshaler) || reflect.PointerTo(t).Implements(jsonMarshaler)) {
		return Custom
	}
	switch t.Kind() {
	case reflect.Struct:
		return Struct
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return Bytes
		}
		return List
	case reflect.Map:
		return Map
	case reflect.String:
		return String
	case reflect.Bool:
		return Bool
	case reflect.Int32:
		return Int32
	case reflect.Int64:
		return Int64
	case reflect.Float64:
		return Float64
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return Any
		}
	}
	return 0
}

// embedsTagged reports whether t is a struct that embeds a field with a json tag. Such a struct is
// a plain struct: if it has a MarshalJSON, it has inherited the method from the embedded type.
func embedsTagged(t reflect.Type) bool {
	if t.Kind() != reflect.Struct {
		return false
	}
	for i := range t.NumField() {
		if f := t.Field(i); f.Anonymous && f.Tag.Get("json") != "" {
			return true
		}
	}
	return false
}

// structType fills the Members of a struct in the order of its Go fields. Of a Custom type, only
// fields with a protobuf number are members. No two members may have the same number.
func (c *compiler) structType(typ *Type) {
	numbers := map[int32]string{}
	for i := range typ.Go.NumField() {
		sf := typ.Go.Field(i)
		at := typ.Go.String() + "." + sf.Name
		if sf.Name == "_" {
			c.blankField(typ, sf, at)
			continue
		}
		tag, tagged := sf.Tag.Lookup("json")
		switch {
		case !sf.IsExported():
			continue
		case typ.Kind == Custom:
			if sf.Tag.Get("pb") == "" {
				continue // its JSON form says nothing about its fields
			}
		case tag == "-":
			continue
		case !tagged:
			c.fail(at, "no json tag")
			continue
		}
		f := c.field(typ, sf, at)
		if f == nil {
			continue
		}
		if f.Number != 0 {
			if other, taken := numbers[f.Number]; taken {
				c.fail(at, "protobuf number %d is used by %s as well", f.Number, other)
			}
			numbers[f.Number] = sf.Name
		}
		typ.Members = append(typ.Members, f)
	}
	c.checkNumbers(typ, numbers)
}

// checkNumbers requires that all fields have a protobuf number, or none: a field without a number
// would be lost whenever the object is written as protobuf.
func (c *compiler) checkNumbers(typ *Type, numbers map[int32]string) {
	for _, f := range typ.Members {
		if f.Number == 0 && !f.Inline && len(numbers) > 0 {
			c.fail(typ.Go.String()+"."+f.GoName, "no protobuf number, but other fields have one")
		}
	}
}

// flatten fills Fields from Members. It replaces an inlined struct, which it flattens first, by
// copies of that struct's Fields, whose Index and Offset count from typ.
func (c *compiler) flatten(typ *Type) {
	if typ.Kind != Struct || typ.byName != nil {
		return
	}
	typ.byName = make(map[string]*Field, len(typ.Members))
	for _, m := range typ.Members {
		if !m.Inline {
			c.addField(typ, m)
			continue
		}
		c.flatten(m.Type)
		typ.Rules = append(typ.Rules, m.Type.Rules...)
		for _, f := range m.Type.Fields {
			lifted := *f
			lifted.Index = append(append([]int{}, m.Index...), f.Index...)
			lifted.Offset = m.Offset + f.Offset
			c.addField(typ, &lifted)
		}
	}
}

// addField adds a field under its JSON name, which must be new.
func (c *compiler) addField(typ *Type, f *Field) {
	if other := typ.byName[f.Name]; other != nil {
		c.fail(typ.Go.String(), "JSON name %q belongs to %s.%s and %s.%s",
			f.Name, other.Owner, other.GoName, f.Owner, f.GoName)
		return
	}
	typ.byName[f.Name] = f
	typ.Fields = append(typ.Fields, f)
}

// blankField reads the tags that a struct carries about itself, on a field called _.
func (c *compiler) blankField(typ *Type, sf reflect.StructField, at string) {
	switch value := sf.Tag.Get("struct"); value {
	case "", "granular":
	case "atomic":
		typ.Atomic = true
	default:
		c.fail(at, "struct type %q is unknown", value)
	}
	typ.Rules = append(typ.Rules, c.readRule(sf.Tag, at)...)
}

// field describes one Go field, or returns nil after recording why the field cannot be described.
func (c *compiler) field(owner *Type, sf reflect.StructField, at string) *Field {
	f := &Field{GoName: sf.Name, Index: sf.Index, Offset: sf.Offset, Owner: owner.Go}
	goType := sf.Type
	if goType.Kind() == reflect.Pointer {
		goType, f.Pointer = goType.Elem(), true
	}
	name, options, _ := strings.Cut(sf.Tag.Get("json"), ",")
	f.Name = name
	for option := range strings.SplitSeq(options, ",") {
		switch option {
		case "omitempty", "omitzero":
			f.OmitEmpty = true
		case "inline":
			f.Inline = true
		case "":
		default:
			c.fail(at, "json option %q is not supported", option)
		}
	}
	f.Inline = f.Inline || sf.Anonymous && name == ""
	if f.Inline {
		return c.inlineField(f, sf, at)
	}
	if f.Type = c.compile(goType, at); f.Type == nil {
		return nil
	}
	if f.Name == "" && owner.Kind != Custom {
		c.fail(at, "the json tag gives no name")
		return nil
	}
	if f.Pointer && (f.Type.Kind == List || f.Type.Kind == Map || f.Type.Kind == Bytes || f.Type.Kind == Any) {
		c.fail(at, "a pointer to %s is not supported: nil would have two forms", goType)
		return nil
	}
	c.readTags(f, sf.Tag, at)
	return f
}

// inlineField describes an embedded struct whose fields are lifted.
func (c *compiler) inlineField(f *Field, sf reflect.StructField, at string) *Field {
	switch {
	case !sf.Anonymous:
		c.fail(at, "inline on a field that is not embedded")
		return nil
	case f.Pointer || sf.Type.Kind() != reflect.Struct:
		c.fail(at, "only a struct can be inlined, not %s", sf.Type)
		return nil
	}
	f.Name, f.Inline = "", true
	if f.Type = c.compile(sf.Type, at); f.Type == nil {
		return nil
	}
	if f.Type.Kind != Struct {
		c.fail(at, "%s has a JSON form of its own and cannot be inlined", sf.Type)
		return nil
	}
	c.readNumber(f, sf.Tag, at)
	return f
}
