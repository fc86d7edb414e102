package codec

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The decoder of JSON: what it keeps while it decodes, how it words errors, and one method for each
// kind of JSON value. Entry points are decodeQuickly and fill in object.go and decodeInto in
// tree.go. Lists and maps are in collection.go.
//
// Each document is decoded at most twice. The quick decoder runs first and gives up at the first
// thing that is out of order. Then jsontext.SyntaxError looks for a syntax error and words it. If
// there is none, the careful decoder decodes the document again and words all other errors.
// TestDecodeAsEncodingJSON and FuzzDecode hold both decoders to what encoding/json does.

// Bounds of strict decoding. maxStrict is the number of unknown and repeated fields that are
// reported, as in kube-apiserver. maxStrictText bounds the bytes of all messages that are made: a
// field that repeats a million times is one message in the list, but its text is made each time to
// find that out. Each path in a message consists of keys that the client chose, so it is cut, too.
const (
	maxStrict     = 100
	maxStrictText = 4 << 20
)

// maxMemory bounds the memory, in bytes, that the elements of all lists and maps of one object
// take, including what growing lists leave to the collector. It is needed because an element as
// short as {} can stand for a struct of hundreds of bytes. Lists of valid elements in a body of the
// largest allowed size stay below it.
const maxMemory = 128 << 20

// errMemory refuses an object whose lists and maps take more than maxMemory.
var errMemory = errors.New("the lists of the object are too long")

// budget counts the memory, in bytes, that the elements of lists and maps take.
type budget struct{ spent uintptr }

// spend takes bytes from the budget. Its error is errMemory once the budget exceeds maxMemory.
func (b *budget) spend(bytes uintptr) error {
	if b.spent += bytes; b.spent > maxMemory {
		return errMemory
	}
	return nil
}

// errAgain ends the quick decoder when it meets anything unusual. It says nothing about the cause:
// the careful decoder runs next, finds the cause and words the error. errAgain never reaches a
// caller outside of this package.
var errAgain = errors.New("codec: decode carefully")

// decoder decodes JSON straight into Go values. With careful unset it is the quick decoder: it
// stops at the first thing out of order, with errAgain or another error without details. With
// careful set it decodes JSON that is known to be well-formed: it tracks the path of the value at
// hand, continues after a type error (the first one is returned at the end), and collects the
// unknown and repeated fields that strict decoding reports.
type decoder struct {
	jsontext.Scanner
	budget
	strict  bool
	careful bool

	path  []pathStep
	saved error // the first type error
	found []string
	// The messages in found, so that none is listed twice.
	unique map[string]bool
	// Bytes of all messages that were made, including repeated ones; see maxStrictText.
	reported int
}

// newDecoder returns a quick decoder. shared lets decoded strings refer to data. m, which may be
// nil, counts the bytes.
func newDecoder(data []byte, shared, strict bool, m *meter.Meter) decoder {
	d := decoder{Scanner: jsontext.NewScanner(data, shared, m), strict: strict}
	d.Unique = strict
	return d
}

// newCarefulDecoder returns a careful decoder, which also observes the keys and indices inside of
// untyped trees.
func newCarefulDecoder(data []byte, shared, strict bool, m *meter.Meter) *decoder {
	d := newDecoder(data, shared, strict, m)
	d.careful, d.Observer = true, &d
	return &d
}

// pathStep is one step of the path to the value at hand: a field of a struct, a key of a map or an
// index of a list.
type pathStep struct {
	in    *plan      // the struct that declares field; nil if the step is no field
	field *fieldPlan // nil if the step is no field
	key   string     // the key of a map; set if isKey is
	index int        // the index of a list element, if field is nil and isKey is false
	isKey bool
}

// push adds a step to the path. The quick decoder keeps no path.
func (d *decoder) push(p pathStep) {
	if d.careful {
		d.path = append(d.path, p)
	}
}

// pop removes the last step. After an error nobody pops: the path then tells where it happened.
func (d *decoder) pop() {
	if d.careful {
		d.path = d.path[:len(d.path)-1]
	}
}

// addContext completes a type error with the innermost struct and the dotted path of the field, as
// encoding/json does.
func (d *decoder) addContext(err error) error {
	te, ok := err.(*typeError)
	// An UnmarshalJSON method returns the type error of encoding/json.
	if foreign, isForeign := err.(*json.UnmarshalTypeError); isForeign {
		te, ok = &typeError{value: foreign.Value, want: foreign.Type, field: foreign.Field}, true
	}
	if !ok {
		return err
	}
	var names []string
	var last *plan
	for _, p := range d.path {
		if p.field != nil {
			names = append(names, p.field.errName)
			last = p.in
		}
	}
	if last == nil {
		return err
	}
	if te.field != "" {
		names = append(names, te.field)
	}
	te.in, te.field = last.goType.Name(), strings.Join(names, ".")
	return te
}

// save records an error after which decoding continues, and returns nil. It keeps only the first
// such error. In the quick decoder it returns errAgain instead, which ends the decoding.
func (d *decoder) save(err error) error {
	if !d.careful {
		return errAgain
	}
	if d.saved == nil {
		d.saved = d.addContext(err)
	}
	return nil
}

// mistyped skips a value of the wrong type and records the type error. what names the kind of the
// JSON value, such as "number".
func (d *decoder) mistyped(what string, want reflect.Type) error {
	if err := d.save(&typeError{value: what, want: want}); err != nil {
		return err
	}
	return d.Skip()
}

// report records an unknown or repeated field of the value at hand. what is "unknown" or
// "duplicate". The message has the form of kube-apiserver: unknown field
// "spec.containers[0].imagee".
func (d *decoder) report(what, name string) error {
	if !d.careful {
		return errAgain
	}
	if len(d.found) >= maxStrict || d.reported >= maxStrictText {
		return nil
	}
	var path strings.Builder
	for _, p := range d.path {
		if path.Len() > field.MaxText {
			break
		}
		switch {
		case p.field != nil || p.isKey:
			if path.Len() > 0 {
				path.WriteByte('.')
			}
			if p.field != nil {
				path.WriteString(p.field.name)
			} else {
				path.WriteString(field.Cut(p.key, field.MaxText))
			}
		default:
			path.WriteString("[" + strconv.Itoa(p.index) + "]")
		}
	}
	if path.Len() > 0 {
		path.WriteByte('.')
	}
	path.WriteString(field.Cut(name, field.MaxText))
	msg := what + " field " + strconv.Quote(field.Cut(path.String(), field.MaxText))
	d.reported += len(msg)
	if !d.unique[msg] {
		if d.unique == nil {
			d.unique = map[string]bool{}
		}
		d.unique[msg] = true
		d.found = append(d.found, msg)
	}
	return nil
}

// document decodes the whole input into the value that at points to. It returns the first type
// error, or the error that ended decoding.
func (d *decoder) document(p *plan, at typeinfo.Pointer) error {
	if err := d.value(p, at); err != nil {
		return d.addContext(err)
	}
	if err := d.End(); err != nil {
		return err
	}
	return d.saved
}

// field decodes a value that may be behind a pointer: null sets the pointer to nil, and any other
// value is decoded into what the pointer points to, which is allocated if need be.
func (d *decoder) field(p *plan, pointer bool, at typeinfo.Pointer) error {
	if !pointer {
		return d.value(p, at)
	}
	slot := at.Slot()
	if d.Next() == 'n' {
		*slot = typeinfo.Pointer{}
		return d.Word("null")
	}
	if slot.IsNil() {
		*slot = p.typ.New()
	}
	return d.value(p, *slot)
}

// value decodes a value into at, by the plan of its type. null changes nothing but lists, maps,
// bytes and untyped values, which it sets to nil, as encoding/json does.
func (d *decoder) value(p *plan, at typeinfo.Pointer) error {
	c := d.Next()
	if p.kind == typeinfo.Custom {
		return d.custom(p, at)
	}
	switch c {
	case '"':
		return d.stringValue(p, at)
	case '{':
		return d.objectValue(p, at)
	case '[':
		return d.arrayValue(p, at)
	case 'n':
		if err := d.Word("null"); err != nil {
			return err
		}
		switch p.kind {
		case typeinfo.Any:
			*typeinfo.As[any](at) = nil
		case typeinfo.List, typeinfo.Map, typeinfo.Bytes:
			at.Value(p.goType).SetZero()
		}
		return nil
	case 't', 'f':
		return d.boolValue(p, at, c == 't')
	case 0:
		return errAgain
	default:
		return d.numberValue(p, at)
	}
}

// custom decodes a value of a type that decodes itself: by its UnmarshalJSON, or by choosing one of
// its parts (see choice).
func (d *decoder) custom(p *plan, at typeinfo.Pointer) error {
	if p.choice != nil {
		return d.choice(typeinfo.InterfaceAt(p.choice, at))
	}
	start := d.Pos
	if err := d.Skip(); err != nil {
		return err
	}
	if p.unmarshal == nil {
		return d.save(&typeError{value: "value", want: p.goType})
	}
	err := typeinfo.InterfaceAt(p.unmarshal, at).UnmarshalJSON(d.Data[start:d.Pos:d.Pos])
	if err != nil && !d.careful {
		return errAgain
	}
	return err
}

// choice decodes into the part of a value that the value chooses for this JSON, such as the number
// or the string of an IntOrString. Kubernetes gives such types an UnmarshalJSON of their own, which
// has two effects that are kept here: unknown and repeated fields inside are not reported, and a
// type error inside ends decoding and is returned even if another type error was saved before it.
func (d *decoder) choice(c typeinfo.Choice) error {
	part, err := c.Choose(d.Next())
	switch {
	case err != nil && !d.careful:
		return errAgain
	case err != nil:
		return err
	case part == nil:
		return d.Skip()
	}
	path, saved, strict, unique := d.path, d.saved, d.strict, d.Unique
	d.path, d.saved, d.strict, d.Unique = nil, nil, false, false
	v := reflect.ValueOf(part)
	if err = d.value(planOf(typeinfo.Of(v.Type())), typeinfo.PointerIn(v)); err == nil {
		err = d.saved
	} else {
		err = d.addContext(err)
	}
	d.path, d.saved, d.strict, d.Unique = path, saved, strict, unique
	return err
}

// boolValue decodes true or false.
func (d *decoder) boolValue(p *plan, at typeinfo.Pointer, v bool) error {
	switch p.kind {
	case typeinfo.Bool:
		*typeinfo.As[bool](at) = v
	case typeinfo.Any:
		*typeinfo.As[any](at) = v
	default:
		return d.mistyped("bool", p.goType)
	}
	if v {
		return d.Word("true")
	}
	return d.Word("false")
}

// stringValue decodes a JSON string.
func (d *decoder) stringValue(p *plan, at typeinfo.Pointer) error {
	switch p.kind {
	case typeinfo.String:
		s, err := d.Str()
		*typeinfo.As[string](at) = s
		return err
	case typeinfo.Bytes:
		b, err := d.base64()
		if err != nil {
			return err
		}
		if b != nil {
			*typeinfo.As[[]byte](at) = b
		}
		return nil
	case typeinfo.Any:
		s, err := d.Str()
		*typeinfo.As[any](at) = s
		return err
	}
	return d.mistyped("string", p.goType)
}

// base64 consumes a string and decodes it. After an error that is saved it returns nil.
func (d *decoder) base64() ([]byte, error) {
	start, end, plain, err := d.Quoted()
	if err != nil {
		return nil, err
	}
	text := d.Data[start:end]
	if !plain {
		text = jsontext.Unquote(text)
	}
	out := make([]byte, base64.StdEncoding.DecodedLen(len(text)))
	n, err := base64.StdEncoding.Decode(out, text)
	if err != nil {
		return nil, d.save(err)
	}
	return out[:n], nil
}

// numberValue decodes a number. An integer field takes only integers in its range: 1.0 and 1e3 are
// type errors, as in encoding/json.
func (d *decoder) numberValue(p *plan, at typeinfo.Pointer) error {
	start, integer, err := d.Number()
	if err != nil {
		return err
	}
	text := d.Data[start:d.Pos]
	ok := false
	switch p.kind {
	case typeinfo.Int32:
		if integer {
			*typeinfo.As[int32](at), ok = jsontext.Atoi32(text)
		}
	case typeinfo.Int64:
		if integer {
			*typeinfo.As[int64](at), ok = jsontext.Atoi(text)
		}
	case typeinfo.Float64:
		var err error
		*typeinfo.As[float64](at), err = strconv.ParseFloat(string(text), 64)
		ok = err == nil
	case typeinfo.Any:
		v, err := d.Convert(text, integer)
		*typeinfo.As[any](at) = v
		return err
	default:
		return d.save(&typeError{value: "number", want: p.goType})
	}
	if !ok {
		return d.save(&typeError{value: "number " + string(text), want: p.goType})
	}
	return nil
}

// arrayValue decodes a JSON array.
func (d *decoder) arrayValue(p *plan, at typeinfo.Pointer) error {
	switch p.kind {
	case typeinfo.List:
		if p.strings {
			return d.stringList(p, typeinfo.As[[]string](at))
		}
		return d.list(p, at)
	case typeinfo.Any:
		v, err := d.Array()
		*typeinfo.As[any](at) = v
		return err
	case typeinfo.Bytes:
		return d.byteList(p, typeinfo.As[[]byte](at))
	}
	return d.mistyped("array", p.goType)
}

// objectValue decodes a JSON object.
func (d *decoder) objectValue(p *plan, at typeinfo.Pointer) error {
	switch p.kind {
	case typeinfo.Struct:
		return d.structValue(p, at)
	case typeinfo.Map:
		switch {
		case p.strings:
			return plainMap(d, p, typeinfo.As[map[string]string](at))
		case p.byteValues:
			return plainMap(d, p, typeinfo.As[map[string][]byte](at))
		}
		return d.mapValue(p, at)
	case typeinfo.Any:
		v, err := d.Object()
		*typeinfo.As[any](at) = v
		return err
	}
	return d.mistyped("object", p.goType)
}

// lookahead is the number of fields that find compares, from the expected field on, before it looks
// in the map: most input has its fields in the order of their declaration, but not all of them.
const lookahead = 5

// structValue decodes a JSON object into the struct that at points to; p is the plan of the struct.
// A repeated field is decoded into the value that its first occurrence left, as in encoding/json.
func (d *decoder) structValue(p *plan, at typeinfo.Pointer) error {
	if err := d.Open(); err != nil {
		return err
	}
	var seen fieldSet
	expect := 0
	for first := true; ; first = false {
		more, err := d.More('}', first)
		if err != nil || !more {
			return err
		}
		if d.Next() != '"' {
			return errAgain
		}
		start, end, plain, err := d.Quoted()
		if err != nil {
			return err
		}
		key := d.Data[start:end]
		if !plain {
			key = jsontext.Unquote(key)
		}
		if err := d.Colon(); err != nil {
			return err
		}
		i := p.find(key, expect)
		if i < 0 {
			if err := d.unknown(p, key); err != nil {
				return err
			}
			continue
		}
		expect = i + 1
		f := &p.fields[i]
		if d.strict && seen.add(i) {
			if err := d.report("duplicate", f.name); err != nil {
				return err
			}
		}
		d.push(pathStep{in: p, field: f})
		if err := d.field(f.plan, f.pointer, at.Add(f.offset)); err != nil {
			return err
		}
		d.pop()
	}
}

// find returns the index of the field with the JSON name key, -1 if there is none. expect is the
// index after the last field found.
func (p *plan) find(key []byte, expect int) int {
	for i := expect; i < len(p.fields) && i < expect+lookahead; i++ {
		if name := p.fields[i].name; len(name) == len(key) && name == string(key) {
			return i
		}
	}
	if i, ok := p.byName[string(key)]; ok {
		return i
	}
	return -1
}

// unknown skips the value of an unknown field. A top-level name that is kind or apiVersion in other
// letter case makes the quick decoder give up, because kube-apiserver reads the kind of a document
// case-insensitively (see interpret). When the careful decoder runs, interpret has found the kind
// already.
func (d *decoder) unknown(p *plan, key []byte) error {
	if !d.careful && d.Depth == 1 &&
		(strings.EqualFold(string(key), "kind") || strings.EqualFold(string(key), "apiVersion")) {
		return errAgain
	}
	if d.strict {
		if err := d.report("unknown", string(key)); err != nil {
			return err
		}
	}
	return d.Skip()
}

// fieldSet is a set of field indices. It never holds an index of 256 or more, so repeated fields
// beyond that are not found; no API struct has so many fields.
type fieldSet [4]uint64

// add adds i and reports whether i was in the set before.
func (s *fieldSet) add(i int) bool {
	if i >= 64*len(s) {
		return false
	}
	word, bit := &s[i/64], uint64(1)<<(i%64)
	was := *word&bit != 0
	*word |= bit
	return was
}
