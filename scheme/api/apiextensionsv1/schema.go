package apiextensionsv1

// JSONSchemaProps is a schema: what a JSON value looks like, by draft 4 of JSON Schema as far as
// OpenAPI v3 has it, with extensions.
type JSONSchemaProps struct {
	// Identity of the schema. It must be empty.
	ID string `json:"id,omitempty" pb:"1"`
	// Specification that the schema follows.
	Schema JSONSchemaURL `json:"$schema,omitempty" pb:"2"`
	// Another schema to use instead. It must be empty.
	Ref *string `json:"$ref,omitempty" pb:"3"`
	// What the value is, for people.
	Description string `json:"description,omitempty" pb:"4"`
	// Type of the value: object, array, string, integer, number or boolean.
	Type string `json:"type,omitempty" pb:"5"`
	// Form of a string or number. These are checked, others are not: bsonobjectid, uri, email,
	// hostname, ipv4, ipv6, cidr, mac, uuid, uuid3, uuid4, uuid5, isbn, isbn10, isbn13, creditcard,
	// ssn, hexcolor, rgbcolor, byte (base64), password (any string), date (2006-01-02), duration
	// (22ns), datetime (2006-01-02T15:04:05Z), int32, int64, float, double.
	Format string `json:"format,omitempty" pb:"6"`
	// Name of the value, for people.
	Title string `json:"title,omitempty" pb:"7"`
	// Value that is filled in where there is none.
	Default *JSON `json:"default,omitempty" pb:"8"`
	// The greatest number.
	Maximum *float64 `json:"maximum,omitempty" pb:"9"`
	// Whether the number must be less than the maximum.
	ExclusiveMaximum bool `json:"exclusiveMaximum,omitempty" pb:"10"`
	// The least number.
	Minimum *float64 `json:"minimum,omitempty" pb:"11"`
	// Whether the number must be greater than the minimum.
	ExclusiveMinimum bool `json:"exclusiveMinimum,omitempty" pb:"12"`
	// How many characters a string may have.
	MaxLength *int64 `json:"maxLength,omitempty" pb:"13"`
	// How many characters a string must have.
	MinLength *int64 `json:"minLength,omitempty" pb:"14"`
	// Regular expression that a string must match somewhere.
	Pattern string `json:"pattern,omitempty" pb:"15"`
	// How many items an array may have.
	MaxItems *int64 `json:"maxItems,omitempty" pb:"16"`
	// How many items an array must have.
	MinItems *int64 `json:"minItems,omitempty" pb:"17"`
	// Whether the items of an array must differ. It must be false: x-kubernetes-list-type says so.
	UniqueItems bool `json:"uniqueItems,omitempty" pb:"18"`
	// Number of which the value is a multiple.
	MultipleOf *float64 `json:"multipleOf,omitempty" pb:"19"`
	// All values that are allowed.
	Enum []JSON `json:"enum,omitempty" pb:"20" list:"atomic"`
	// How many properties an object may have.
	MaxProperties *int64 `json:"maxProperties,omitempty" pb:"21"`
	// How many properties an object must have.
	MinProperties *int64 `json:"minProperties,omitempty" pb:"22"`
	// Properties that an object must have.
	Required []string `json:"required,omitempty" pb:"23" list:"atomic"`
	// Schema of all items of an array.
	Items *JSONSchemaPropsOrArray `json:"items,omitempty" pb:"24"`
	// Schemas that the value must fit, all of them.
	AllOf []JSONSchemaProps `json:"allOf,omitempty" pb:"25" list:"atomic"`
	// Schemas of which the value must fit exactly one.
	OneOf []JSONSchemaProps `json:"oneOf,omitempty" pb:"26" list:"atomic"`
	// Schemas of which the value must fit at least one.
	AnyOf []JSONSchemaProps `json:"anyOf,omitempty" pb:"27" list:"atomic"`
	// Schema that the value must not fit.
	Not *JSONSchemaProps `json:"not,omitempty" pb:"28"`
	// Schemas of the properties of an object, by name.
	Properties map[string]JSONSchemaProps `json:"properties,omitempty" pb:"29"`
	// Schema of all properties of an object, which is a map then; or whether there may be any.
	AdditionalProperties *JSONSchemaPropsOrBool `json:"additionalProperties,omitempty" pb:"30"`
	// Schemas of the properties whose names match an expression. It must be empty.
	PatternProperties map[string]JSONSchemaProps `json:"patternProperties,omitempty" pb:"31"`
	// What an object with a property must look like. It must be empty.
	Dependencies JSONSchemaDependencies `json:"dependencies,omitempty" pb:"32"`
	// Schema of the items behind those that items describes. It must be empty.
	AdditionalItems *JSONSchemaPropsOrBool `json:"additionalItems,omitempty" pb:"33"`
	// Schemas to refer to. It must be empty.
	Definitions JSONSchemaDefinitions `json:"definitions,omitempty" pb:"34"`
	// Where more is said about the value.
	ExternalDocs *ExternalDocumentation `json:"externalDocs,omitempty" pb:"35"`
	// A value that fits.
	Example *JSON `json:"example,omitempty" pb:"36"`
	// Whether the value may be null.
	Nullable bool `json:"nullable,omitempty" pb:"37"`
	// Keep properties that the schema does not name, instead of dropping them. It holds for all
	// that is below, but not in what is described by properties or additionalProperties there. True
	// or not set.
	XPreserveUnknownFields *bool `json:"x-kubernetes-preserve-unknown-fields,omitempty" pb:"38"`
	// The value is an object of Kubernetes, with apiVersion, kind and metadata, which are checked.
	// The type must be object.
	XEmbeddedResource bool `json:"x-kubernetes-embedded-resource,omitempty" pb:"39"`
	// The value is an integer or a string. The type must be empty, or stand in anyOf: integer and
	// string, in this order, here or as the first of allOf.
	XIntOrString bool `json:"x-kubernetes-int-or-string,omitempty" pb:"40"`
	// Properties that tell the items of a list of type map apart. They must be scalars, and
	// required or have a default.
	XListMapKeys []string `json:"x-kubernetes-list-map-keys,omitempty" pb:"41" list:"atomic"`
	// What an array means to those who change it: atomic, the default, is replaced as a whole; the
	// items of a set, which are scalars or atomic, do not repeat; the items of a map are objects
	// that keys tell apart.
	XListType *string `json:"x-kubernetes-list-type,omitempty" pb:"42"`
	// What an object means to those who change it: the properties of a granular one, the default,
	// can belong to different managers; an atomic one is replaced as a whole.
	XMapType *string `json:"x-kubernetes-map-type,omitempty" pb:"43"`
	// Rules in CEL that the value must keep.
	XValidations ValidationRules `json:"x-kubernetes-validations,omitempty" pb:"44" list:"map,key=rule" patch:"merge,key=rule"`
}

// JSONSchemaURL is the URL of a schema.
type JSONSchemaURL string

// JSONSchemaDependencies say what an object with a property must look like, by the name of the
// property.
type JSONSchemaDependencies map[string]JSONSchemaPropsOrStringArray

// JSONSchemaDefinitions are schemas by name.
type JSONSchemaDefinitions map[string]JSONSchemaProps

// ExternalDocumentation refers to documentation elsewhere.
type ExternalDocumentation struct {
	// What is said there.
	Description string `json:"description,omitempty" pb:"1"`
	// Where.
	URL string `json:"url,omitempty" pb:"2"`
}

// ValidationRules are rules that a value must keep.
type ValidationRules []ValidationRule

// ValidationRule is a rule that a value must keep, as an expression of CEL.
type ValidationRule struct {
	// The rule, true if the value keeps it. The value is self; properties are self.name, with
	// has(self.name) to ask for them, values of maps self["key"], items self[0]. Names are written
	// with __underscores__ for __, __dot__ for a dot, __dash__ for a dash, __slash__ for a slash,
	// and with __ before and behind if they are words of CEL, such as __namespace__. At the root
	// and in embedded resources apiVersion, kind, metadata.name and metadata.generateName can be
	// used, but no other metadata. What is kept without a schema cannot be used.
	//
	// The order of sets and maps does not matter when they are compared; added to another, they are
	// joined by item or key.
	//
	// A rule that uses oldSelf, the value before the change, holds for updates only, unless
	// optionalOldSelf is set.
	Rule string `json:"rule" pb:"1"`
	// What is said if the rule is broken, on one line. It must be set if the rule has several
	// lines.
	Message string `json:"message,omitempty" pb:"2"`
	// Expression whose value, a string, is said if the rule is broken. It can use what the rule
	// can, and comes before the message. If it fails, or its value is blank or has several lines,
	// the message is said.
	MessageExpression string `json:"messageExpression,omitempty" pb:"3"`
	// What kind of error it is to break the rule: FieldValueInvalid (the default),
	// FieldValueForbidden, FieldValueRequired or FieldValueDuplicate. The answer has the code of
	// the first rule that is broken.
	Reason *FieldValueErrorReason `json:"reason,omitempty" pb:"4" enum:"FieldValueDuplicate,FieldValueForbidden,FieldValueInvalid,FieldValueRequired"`
	// Path, from here, to the field that the error is about, such as .spec.replicas or
	// .spec['a.b']. It must be in the schema and cannot have indices.
	FieldPath string `json:"fieldPath,omitempty" pb:"5"`
	// Hold a rule with oldSelf for new values, too: oldSelf is an optional value then,
	// oldSelf.hasValue() tells whether there is one, and oldSelf.value() is it.
	OptionalOldSelf *bool `json:"optionalOldSelf,omitempty" pb:"6"`
}

// FieldValueErrorReason is a kind of error of a field.
type FieldValueErrorReason string

// The kinds of errors.
const (
	FieldValueRequired  FieldValueErrorReason = "FieldValueRequired"
	FieldValueDuplicate FieldValueErrorReason = "FieldValueDuplicate"
	FieldValueInvalid   FieldValueErrorReason = "FieldValueInvalid"
	FieldValueForbidden FieldValueErrorReason = "FieldValueForbidden"
)
