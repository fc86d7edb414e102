package typeinfo

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// tags.go reads the struct tags of one field into a Field; compile.go calls it for each field. The
// package comment lists the tags. A mistake is recorded by compiler.fail, and reading goes on, so
// that Register reports all mistakes at once.

// readTags reads all tags of a field except json. Keys that tags name are looked up in the second
// pass (checkKeys), because the element type may be incomplete here.
func (c *compiler) readTags(f *Field, tag reflect.StructTag, at string) {
	c.readNumber(f, tag, at)
	if value, ok := tag.Lookup("default"); ok {
		f.Default, f.HasDefault = value, true
		if _, err := parseDefault(f, value); err != nil {
			c.fail(at, "default %q: %v", value, err)
		}
	}
	c.readEnums(f, tag, at)
	c.readChecks(f, tag.Get("check"), at)
	c.readShape(f, tag, at)
	c.readPatch(f, tag.Get("patch"), at)
	f.Rules = c.readRule(tag, at)
	switch value := tag.Get("union"); value {
	case "":
	case "discriminator":
		f.Discriminator = true
	case "member":
		f.Member = true
	default:
		c.fail(at, "union role %q is unknown", value)
	}
	if len(f.ListKeys) > 0 || f.PatchKey != "" {
		c.keyed = append(c.keyed, keyed{f, at})
	}
	if value := tag.Get("struct"); value != "" {
		f.Atomic = value == "atomic"
		if value != "atomic" && value != "granular" {
			c.fail(at, "struct type %q is unknown", value)
		}
		if f.Type.Kind != Struct {
			c.fail(at, "struct type on a %s", f.Type.Kind)
		}
	} else if f.Type.Kind == Struct {
		f.Atomic = declaredAtomic(f.Type.Go)
	}
}

// ruleReasons are the reasons that x-kubernetes-validations allows; "" is FieldValueInvalid.
var ruleReasons = []string{"", "FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"}

// readRule returns the rule in a tag, nil if there is none. It does not compile the expression:
// scheme/cel/rules does, and reports its errors.
func (c *compiler) readRule(tag reflect.StructTag, at string) []Rule {
	rule := Rule{
		Rule: tag.Get("rule"), Message: tag.Get("message"), MessageExpression: tag.Get("messageExpression"),
		Reason:    tag.Get("reason"),
		FieldPath: tag.Get("fieldPath"), OptionalOldSelf: tag.Get("optionalOldSelf") == "true",
	}
	switch {
	case rule == Rule{}:
		return nil
	case strings.TrimSpace(rule.Rule) == "":
		c.fail(at, "tags about a rule (message, reason, fieldPath and the like) need the tag rule")
	case !slices.Contains(ruleReasons, rule.Reason):
		c.fail(at, "reason %q is unknown", rule.Reason)
	}
	return []Rule{rule}
}

// declaredAtomic reads the tag on the blank field of a struct. It reads the Go type, because the
// descriptor may be incomplete.
func declaredAtomic(t reflect.Type) bool {
	for i := range t.NumField() {
		if sf := t.Field(i); sf.Name == "_" && sf.Tag.Get("struct") == "atomic" {
			return true
		}
	}
	return false
}

// readNumber reads the protobuf field number.
func (c *compiler) readNumber(f *Field, tag reflect.StructTag, at string) {
	value, ok := tag.Lookup("pb")
	if !ok {
		return
	}
	// The numbers from 19000 to 19999 belong to protobuf itself.
	n, err := strconv.ParseInt(value, 10, 32)
	if err != nil || n < 1 || n > 1<<29-1 || n >= 19000 && n <= 19999 {
		c.fail(at, "%q is not a protobuf field number", value)
		return
	}
	f.Number = int32(n)
}

// readEnums reads the allowed values of a string and of the elements of a list or map. A default
// has been read before, and must be one of them.
func (c *compiler) readEnums(f *Field, tag reflect.StructTag, at string) {
	if value, ok := tag.Lookup("enum"); ok {
		f.Enum = strings.Split(value, ",")
		if f.Type.Kind != String {
			c.fail(at, "enum on a %s", f.Type.Kind)
		}
		if f.Default != "" && f.Type.Kind == String && !slices.Contains(f.Enum, f.Default) {
			c.fail(at, "default %q is not in the enum", f.Default)
		}
	}
	if value, ok := tag.Lookup("itemEnum"); ok {
		f.ItemEnum = strings.Split(value, ",")
		if f.Type.Elem == nil || f.Type.Elem.Kind != String || f.Type.ElemPointer {
			c.fail(at, "itemEnum on something other than strings")
		}
	}
}

// argument says how the argument of a check is parsed and to which kinds the check applies; nil
// kinds means all.
type argument struct {
	parse func(string) error
	kinds []Kind
}

func noArgument(s string) error {
	if s != "" {
		return fmt.Errorf("takes no argument")
	}
	return nil
}

func number(s string) error {
	_, err := strconv.ParseFloat(s, 64)
	return err
}

func length(s string) error {
	_, err := strconv.ParseUint(s, 10, 31)
	return err
}

func pattern(s string) error {
	_, err := regexp.Compile(s)
	return err
}

func formatName(s string) error {
	if formats[s] == nil {
		return fmt.Errorf("unknown format")
	}
	return nil
}

// checkArguments are the names that a check tag may use.
var checkArguments = map[string]argument{
	"required":  {noArgument, nil},
	"optional":  {noArgument, nil},
	"listed":    {noArgument, nil},
	"immutable": {noArgument, nil},
	"enum":      {noArgument, []Kind{String, List, Map}},
	"min":       {number, []Kind{Int32, Int64, Float64}},
	"max":       {number, []Kind{Int32, Int64, Float64}},
	"minLength": {length, []Kind{String, Bytes}},
	"maxLength": {length, []Kind{String, Bytes}},
	"minItems":  {length, []Kind{List, Map}},
	"maxItems":  {length, []Kind{List, Map}},
	"format":    {formatName, []Kind{String}},
	"pattern":   {pattern, []Kind{String}},
}

// readChecks reads the check tag, such as "required,min=1,pattern=^[a-z]+$". It also sets Required,
// which is about OpenAPI.
func (c *compiler) readChecks(f *Field, tag, at string) {
	f.Required = !f.OmitEmpty
	for rest := tag; rest != ""; {
		var part string
		// A pattern may hold commas, so it is the last check.
		if strings.HasPrefix(rest, "pattern=") {
			part, rest = rest, ""
		} else {
			part, rest, _ = strings.Cut(rest, ",")
		}
		name, arg, _ := strings.Cut(part, "=")
		argument, ok := checkArguments[name]
		if !ok {
			c.fail(at, "check %q is unknown", name)
			continue
		}
		if err := argument.parse(arg); err != nil {
			c.fail(at, "check %q: %v", part, err)
			continue
		}
		if argument.kinds != nil && !slices.Contains(argument.kinds, f.Type.Kind) {
			c.fail(at, "check %q on a %s", part, f.Type.Kind)
			continue
		}
		if name == "enum" && f.Enum == nil && f.ItemEnum == nil {
			c.fail(at, "check enum without an enum or itemEnum tag")
			continue
		}
		switch name {
		case "required", "listed":
			f.Required = true
		case "optional":
			f.Required = false
		}
		f.Checks = append(f.Checks, Check{Name: name, Arg: arg})
	}
}

// readShape reads the list and map types of server-side apply.
func (c *compiler) readShape(f *Field, tag reflect.StructTag, at string) {
	if value := tag.Get("list"); value != "" {
		parts := strings.Split(value, ",")
		f.ListType = parts[0]
		for _, part := range parts[1:] {
			key, ok := strings.CutPrefix(part, "key=")
			if !ok || key == "" {
				c.fail(at, "list option %q is unknown", part)
				continue
			}
			f.ListKeys = append(f.ListKeys, key)
		}
		switch {
		case f.Type.Kind == Bytes && value == "atomic": // bytes always are atomic; a few Kubernetes types say so
		case f.Type.Kind != List:
			c.fail(at, "list type on a %s", f.Type.Kind)
		case f.ListType == "map" && len(f.ListKeys) == 0:
			c.fail(at, "a list of type map needs keys")
		case f.ListType != "map" && len(f.ListKeys) > 0:
			c.fail(at, "only a list of type map has keys")
		case f.ListType != "map" && f.ListType != "set" && f.ListType != "atomic":
			c.fail(at, "list type %q is unknown", f.ListType)
		case f.ListType == "set" && !f.Type.plainElements():
			c.fail(at, "the elements of a set are strings, numbers or booleans")
		}
		f.Unique = f.ListType != "atomic" && !kubernetesOwn(f.Owner)
	}
	if value := tag.Get("map"); value != "" {
		f.MapType = value
		if f.Type.Kind != Map {
			c.fail(at, "map type on a %s", f.Type.Kind)
		}
		if value != "atomic" && value != "granular" {
			c.fail(at, "map type %q is unknown", value)
		}
	}
}

// readPatch reads the directives of strategic merge patch, and refuses combinations that
// contradict each other.
func (c *compiler) readPatch(f *Field, tag, at string) {
	if tag == "" {
		return
	}
	for part := range strings.SplitSeq(tag, ",") {
		switch key, isKey := strings.CutPrefix(part, "key="); {
		case isKey && key != "":
			f.PatchKey = key
		case part == "merge":
			f.PatchMerge = true
		case part == "replace":
			f.PatchReplace = true
		case part == "retainKeys":
			f.PatchRetainKeys = true
		default:
			c.fail(at, "patch strategy %q is unknown", part)
		}
	}
	switch {
	case f.PatchMerge && f.PatchReplace:
		c.fail(at, "patch strategies merge and replace exclude each other")
	case f.PatchKey != "" && !f.PatchMerge:
		c.fail(at, "a patch key needs the strategy merge")
	case f.PatchMerge && f.Type.Kind == List && f.PatchKey == "" && f.Type.Elem != nil && f.Type.Elem.Kind == Struct:
		c.fail(at, "merging a list of structs needs a patch key")
	}
}

// checkKeys looks up the keys that list and patch tags name, once all types are complete.
func (c *compiler) checkKeys() {
	for _, k := range c.keyed {
		elem := k.field.Type.Elem
		if elem == nil || elem.Kind != Struct {
			c.fail(k.at, "keys on something other than a list of structs")
			continue
		}
		check := func(what, name string) {
			switch key := elem.Field(name); {
			case key == nil:
				c.fail(k.at, "%s key %q is not a field of %s", what, name, elem.Go)
			case !key.Type.scalar():
				c.fail(k.at, "%s key %q is not a scalar", what, name)
			}
		}
		for _, name := range k.field.ListKeys {
			check("list", name)
		}
		if name := k.field.PatchKey; name != "" {
			check("patch", name)
		}
	}
}

// plainElements reports whether the elements of a list are scalars that are equal if their JSON is.
// A set must have such elements. Custom types are left out: 1 and 1000m are equal quantities.
func (t *Type) plainElements() bool {
	return t.Elem != nil && t.Elem.Kind != Custom && t.Elem.scalar() && !t.ElemPointer
}

// scalar reports whether values of t are strings, numbers or booleans in JSON. A Custom type counts
// as a scalar unless it is a struct without a protobuf message of its own.
func (t *Type) scalar() bool {
	switch t.Kind {
	case String, Bool, Int32, Int64, Float64:
		return true
	case Custom:
		return t.Go.Kind() != reflect.Struct || t.Proto != nil
	}
	return false
}

// parseDefault returns the value in a default tag, of type f.Type also if the field is a pointer.
// Strings, numbers and booleans are written without quotes; anything else is JSON.
func parseDefault(f *Field, text string) (reflect.Value, error) {
	v := reflect.New(f.Type.Go).Elem()
	switch f.Type.Kind {
	case String:
		v.SetString(text)
		return v, nil
	case Bool:
		b, err := strconv.ParseBool(text)
		v.SetBool(b)
		return v, err
	case Int32, Int64:
		n, err := strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
		return v, err
	case Float64:
		n, err := strconv.ParseFloat(text, 64)
		v.SetFloat(n)
		return v, err
	}
	err := json.Unmarshal([]byte(text), v.Addr().Interface())
	if err != nil && f.Type.Kind == Custom {
		// A quantity or duration may be written without the quotes of JSON.
		err = json.Unmarshal(strconv.AppendQuote(nil, text), v.Addr().Interface())
	}
	return v, err
}

var kindNames = [...]string{Struct: "struct", List: "list", Map: "map", String: "string", Bool: "bool", Int32: "int32",
	Int64: "int64", Float64: "float64", Bytes: "bytes", Any: "any value", Custom: "custom type"}

// String returns the kind in lower case, for messages.
func (k Kind) String() string {
	if int(k) < len(kindNames) && kindNames[k] != "" {
		return kindNames[k]
	}
	return "unknown kind"
}
