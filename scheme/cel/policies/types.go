package policies

import (
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"

	"github.com/coracle-project/coracle/scheme/cel"
)

// The types of the results of mutating policies: ObjectType is an object to apply
// (applyConfiguration), JSONPatchType one operation of a JSON patch.
var (
	ObjectType    = types.NewObjectType("Object")
	JSONPatchType = types.NewObjectType("JSONPatch")
)

// reviewed are the types of request and namespaceObject. Their fields are those of AdmissionReview
// and Namespace in Kubernetes; the metadata spells "UID" in upper case, as there.
var reviewed = func() cel.Structs {
	texts := func(names ...string) map[string]*types.Type {
		fields := map[string]*types.Type{}
		for _, name := range names {
			fields[name] = types.StringType
		}
		return fields
	}
	object := func(name string) *types.Type { return types.NewObjectType("kubernetes." + name) }
	list := types.NewListType(types.StringType)
	labels := types.NewMapType(types.StringType, types.StringType)

	user := texts("username", "uid")
	user["groups"], user["extra"] = list, types.NewMapType(types.StringType, list)
	request := texts("subResource", "requestSubResource", "name", "namespace", "operation")
	request["kind"], request["requestKind"] = object("GroupVersionKind"), object("GroupVersionKind")
	request["resource"], request["requestResource"] = object("GroupVersionResource"), object("GroupVersionResource")
	request["userInfo"], request["dryRun"], request["options"] = object("UserInfo"), types.BoolType, types.DynType

	metadata := texts("name", "generateName", "namespace", "UID", "resourceVersion")
	metadata["labels"], metadata["annotations"], metadata["finalizers"] = labels, labels, list
	metadata["creationTimestamp"], metadata["deletionTimestamp"] = types.TimestampType, types.TimestampType
	metadata["deletionGracePeriodSeconds"], metadata["generation"] = types.IntType, types.IntType
	condition := texts("status", "type", "message", "reason")
	condition["lastTransitionTime"] = types.TimestampType
	status := texts("phase")
	status["conditions"] = types.NewListType(object("NamespaceCondition"))

	return cel.Structs{
		"kubernetes.GroupVersionKind":     texts("group", "version", "kind"),
		"kubernetes.GroupVersionResource": texts("group", "version", "resource"),
		"kubernetes.UserInfo":             user,
		"kubernetes.AdmissionRequest":     request,
		"kubernetes.NamespaceMetadata":    metadata,
		"kubernetes.NamespaceSpec":        {"finalizers": list},
		"kubernetes.NamespaceCondition":   condition,
		"kubernetes.NamespaceStatus":      status,
		"kubernetes.Namespace": {
			"metadata": object("NamespaceMetadata"),
			"spec":     object("NamespaceSpec"),
			"status":   object("NamespaceStatus"),
		},
	}
}()

// patches provides the types of results of mutating policies. A type named Object or Object.<path>
// accepts every field name, because CEL does not know the kind of the object.
type patches struct{ types.Provider }

// FindStructType implements types.Provider.
func (p patches) FindStructType(name string) (*types.Type, bool) {
	if isObject(name) || name == JSONPatchType.TypeName() {
		return types.NewTypeTypeWithParam(types.NewObjectType(name)), true
	}
	return p.Provider.FindStructType(name)
}

// FindStructFieldNames implements types.Provider.
func (p patches) FindStructFieldNames(name string) ([]string, bool) {
	switch {
	case isObject(name):
		return nil, true
	case name == JSONPatchType.TypeName():
		return []string{"op", "path", "from", "value"}, true
	}
	return p.Provider.FindStructFieldNames(name)
}

// FindStructFieldType implements types.Provider.
func (p patches) FindStructFieldType(name, field string) (*types.FieldType, bool) {
	switch {
	case isObject(name):
		return &types.FieldType{
			Type:    types.DynType,
			IsSet:   func(target any) bool { return isSet(target, field) },
			GetFrom: func(target any) (any, error) { return fieldOf(target, field) },
		}, true
	case name != JSONPatchType.TypeName():
		return p.Provider.FindStructFieldType(name, field)
	}
	switch field {
	case "op", "path", "from":
		return &types.FieldType{Type: types.StringType}, true
	case "value":
		return &types.FieldType{Type: types.DynType}, true
	}
	return nil, false
}

// NewValue implements types.Provider.
func (p patches) NewValue(name string, fields map[string]ref.Val) ref.Val {
	switch {
	case isObject(name):
		return &made{types.NewObjectType(name), fields}
	case name == JSONPatchType.TypeName():
		return newOperation(fields)
	}
	return p.Provider.NewValue(name, fields)
}

// isObject reports whether a type name is Object or Object.<path>.
func isObject(name string) bool {
	return name == ObjectType.TypeName() || strings.HasPrefix(name, ObjectType.TypeName()+".")
}

// declared returns the type that a variable has in later expressions if its own expression has type
// t. Basic types, and lists and maps of them, stay as they are. Every other type becomes dynamic,
// and so does nil, which stands for an expression that does not compile.
func declared(t *types.Type) *types.Type {
	switch t {
	case nil:
		return celgo.DynType
	case celgo.AnyType, celgo.BoolType, celgo.BytesType, celgo.DoubleType, celgo.DurationType,
		celgo.IntType, celgo.NullType, celgo.StringType, celgo.TimestampType, celgo.UintType:
		return t
	}
	if t.HasTrait(traits.ContainerType) && t.HasTrait(traits.IndexerType) {
		switch of := t.Parameters(); len(of) {
		case 1:
			return celgo.ListType(declared(of[0]))
		case 2:
			return celgo.MapType(declared(of[0]), declared(of[1]))
		}
	}
	return celgo.DynType
}
