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

// maxStrict bounds the unknown and repeated fields that are reported, as kube-apiserver does, and maxStrictText what their
// messages take to make, in bytes: a field that is reported already is spelt again for each time that it repeats. The path
// in a message is made of keys that the client chose, and cut.
const (
	maxStrict     = 100
	maxStrictText = 4 << 20
)

// maxMemory bounds the memory, in bytes, that the elements of lists and maps may take, with all that growing lists leave
// behind: an element as short as {} can stand for a struct of hundreds of bytes. Lists of valid elements that fit a body
// stay below it.
const maxMemory = 128 << 20

var errMemory = errors.New("the lists of the object are too long")

// budget counts the memory that elements take.
type budget struct{ spent uintptr }

func (b *budget) spend(bytes uintptr) error {
	if b.spent += bytes; b.spent > maxMemory {
		return errMemory
	}
	return nil
}

// errAgain ends a quick decoding that met anything unusual. It says nothing about what is wrong: the careful way, which
// decodes again, finds out and words the error.
var errAgain = errors.New("codec: decode carefully")

// decoder decodes JSON straight into Go values, in one of two ways. The quick way stops at the first thing
// out of order, with errAgain or an error that says as little. The careful way is taken then, on input known to be
// well-formed: it keeps track of where it is, goes on behind type errors, of which the first counts, and collects what
// strict decoding finds.
type decoder struct {
	jsontext.Scanner
	budget
	strict  bool
	careful bool

	where    []place
	saved    error // the first type error
	found    []string
	unique   map[string]bool // found, to report nothing twice
	reported int             // bytes of all messages made, also of those that were found before
}

func newDecoder(data []byte, shared, strict bool, m *meter.Meter) decoder {
	d := decoder{Scanner: jsontext.NewScanner(data, shared, m), strict: strict}
	d.Unique = strict
	return d
}

func newCarefulDecoder(data []byte, shared, strict bool, m *meter.Meter) *decoder {
	d := newDecoder(data, shared, strict, m)
	d.careful, d.Observer = true, &d
	return &d
}

// place is one step of the way to the value at hand.
type place struct {
	in    *plan      // the struct that holds field
	field *fieldPlan // or
	key   string     // a key of a map, or
	index int        // an element, if in and key are unset
	isKey bool
}

func (d *decoder) push(p place) {
	if d.careful {
		d.where = append(d.where, p)
	}
}

func (d *decoder) pop() {
	if d.careful {
		d.where = d.where[:len(d.where)-1]
	}
}

// addContext completes a type error by the struct and the fields it happened in, as encoding/json does.
func (d *decoder) addContext(err error) error {
	te, ok := err.(*typeError)
	if foreign, isForeign := err.(*json.UnmarshalTypeError); isForeign { // of an UnmarshalJSON
		te, ok = &typeError{value: foreign.Value, want: foreign.Type, field: foreign.Field}, true
	}
	if !ok {
		return err
	}
	var names []string
	var last *plan
	for _, p := range d.where {
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

// save records an error behind which decoding can go on.
func (d *decoder) save(err error) error {
	if !d.careful {
		return errAgain
	}
	if d.saved == nil {
		d.saved = d.addContext(err)
	}
	return nil
}

// mistyped skips a value that does not fit and records so. what is the kind of JSON value.
func (d *decoder) mistyped(what string, want reflect.Type) error {
	if err := d.save(&typeError{value: what, want: want}); err != nil {
		return err
	}
	return d.Skip()
}

// report records an unknown or repeated field called name in the value at hand.
func (d *decoder) report(what, name string) error {
	if !d.careful {
		return errAgain
	}
	if len(d.found) >= maxStrict || d.reported >= maxStrictText {
		return nil
	}
	var path strings.Builder
	for _, p := range d.where {
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

// document decodes the whole input into the value at at.
func (d *decoder) document(p *plan, at typeinfo.Pointer) error {
	if err := d.value(p, at); err != nil {
		return d.addContext(err)
	}
	if err := d.End(); err != nil {
		return err
	}
	return d.saved
}

// field decodes a value that may be behind a pointer, which null clears.
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

func (d *decoder) custom(p *plan, at typeinfo.Pointer) error {
	if p.choice != nil {
		return d.choice(typeinfo.Aim(p.choice, at))
	}
	start := d.Pos
	if err := d.Skip(); err != nil {
		return err
	}
	if p.unmarshal == nil {
		return d.save(&typeError{value: "value", want: p.goType})
	}
	err := typeinfo.Aim(p.unmarshal, at).UnmarshalJSON(d.Data[start:d.Pos:d.Pos])
	if err != nil && !d.careful {
		return errAgain
	}
	return err
}

// choice decodes the part of a value that it chooses. Kubernetes has such types decode themselves: what is unknown or repeated
// in them is not reported, and a type error in them comes before those that were saved.
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
	where, saved, strict, unique := d.where, d.saved, d.strict, d.Unique
	d.where, d.saved, d.strict, d.Unique = nil, nil, false, false
	v := reflect.ValueOf(part)
	if err = d.value(planOf(typeinfo.Of(v.Type())), typeinfo.PointerIn(v)); err == nil {
		err = d.saved
	} else {
		err = d.addContext(err)
	}
	d.where, d.saved, d.strict, d.Unique = where, saved, strict, unique
	return err
}

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

// base64 consumes a string and decodes it; it returns nil after saving an error.
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

// lookahead is how many fields after the last one are compared before the map is asked: most input has its fields in
// the order of declaration, with gaps.
const lookahead = 5

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
		d.push(place{in: p, field: f})
		if err := d.field(f.plan, f.pointer, at.Add(f.offset)); err != nil {
			return err
		}
		d.pop()
	}
}

// find returns the index of the field called key, -1 if there is none. expect is where it is likely.
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

// unknown skips the value of an unknown field. What looks like a kind in other letters decides about the type of the
// whole document, so it is left to the careful way, which has asked already.
func (d *decoder) unknown(p *plan, key []byte) error {
	if !d.careful && d.Depth == 1 && (strings.EqualFold(string(key), "kind") || strings.EqualFold(string(key), "apiVersion")) {
		return errAgain
	}
	if d.strict {
		if err := d.report("unknown", string(key)); err != nil {
			return err
		}
	}
	return d.Skip()
}

// fieldSet is a set of field indices. Indices beyond its size are never in it; no struct is so large.
type fieldSet [4]uint64

// add adds i and reports whether it was there.
func (s *fieldSet) add(i int) bool {
	if i >= 64*len(s) {
		return false
	}
	word, bit := &s[i/64], uint64(1)<<(i%64)
	was := *word&bit != 0
	*word |= bit
	return was
}
