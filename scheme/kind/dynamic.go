package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/schema"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Dynamic declares a kind that no Go type stands for. Its objects are *scheme.Unstructured.
type Dynamic struct {
	GroupKind meta.GroupKind
	// Versions are those that objects can be in, the preferred one first.
	Versions []DynamicVersion
	// Hub is the version that strategies see; "" means the preferred one.
	Hub string
	// Hubless shows strategies objects in the version that the client speaks, and leaves their checks to them: Kind.Check finds
	// nothing. So it is with custom resources, whose versions may each demand something else.
	Hubless bool
	// ClusterScoped objects have no namespace that a selector could name.
	ClusterScoped bool
	// Convert returns obj, which it may change, in another version, whose apiVersion the result carries. nil: versions
	// differ in nothing else.
	Convert func(ctx context.Context, obj *scheme.Unstructured, version string) (*scheme.Unstructured, error)
	// ConvertAll takes the place of Convert where another server converts, which is better asked once about many objects. They come
	// in any versions but the one they are to be in; the results are in their order.
	ConvertAll func(ctx context.Context, objs []*scheme.Unstructured, version string) ([]*scheme.Unstructured, error)
}

// DynamicVersion is one version of a Dynamic.
type DynamicVersion struct {
	Name string
	// Schema says what objects look like (schema.Parse makes one). It is not changed any more.
	Schema *schema.Schema
	// Load returns the schema in the place of Schema. It is called when somebody needs it: once for all objects, and perhaps more
	// often for those who ask Version.Schema before there are any.
	Load func() *schema.Schema
	// Evolves says that there may be objects of earlier schemas in the store, which are completed before anybody sees them.
	Evolves bool
	// Selectable are the fields that selectors may name beside metadata.name and metadata.namespace.
	Selectable []string
}

// New makes the Kind that d declares.
func (d Dynamic) New() (Kind, error) {
	if len(d.Versions) == 0 {
		return nil, fmt.Errorf("the kind %s has no versions", d.GroupKind)
	}
	k := &dynamic{gk: d.GroupKind, convert: d.Convert, convertAll: d.ConvertAll, hub: d.Hub, hubless: d.Hubless}
	if k.hub == "" {
		k.hub = d.Versions[0].Name
	}
	for i := range d.Versions {
		if In(k, d.Versions[i].Name) != nil {
			return nil, fmt.Errorf("the kind %s has the version %q twice", d.GroupKind, d.Versions[i].Name)
		}
		k.versions = append(k.versions, d.version(&d.Versions[i]))
	}
	if In(k, k.hub) == nil {
		return nil, fmt.Errorf("the kind %s has no version %q to be the hub", d.GroupKind, k.hub)
	}
	return k, nil
}

func (d *Dynamic) version(v *DynamicVersion) *Version {
	gvk := meta.GroupVersionKind{Group: d.GroupKind.Group, Version: v.Name, Kind: d.GroupKind.Kind}
	l := &lazy{load: v.Load}
	switch {
	case v.Schema != nil:
		l.kept.Store(v.Schema)
	case v.Load == nil:
		l.kept.Store(&schema.Schema{Type: schema.Object, PreserveUnknown: true, Resource: true})
	}
	known := append([]string{"metadata.name"}, v.Selectable...)
	if !d.ClusterScoped {
		known = append(known, "metadata.namespace")
	}
	made := &Version{
		GVK:        gvk,
		Schema:     l.show,
		rules:      l.use,
		Selectable: v.Selectable,
		FieldLabel: func(label, value string) (string, string, error) {
			if !slices.Contains(known, label) {
				return "", "", fmt.Errorf("field label not supported: %s", label)
			}
			return label, value, nil
		},
	}
	if v.Evolves {
		made.Settled = func(data []byte) bool {
			tree, err := jsontext.Decode(data, nil)
			return err == nil && l.use().Settled(tree)
		}
	}
	return made
}

// dynamic is a kind with a schema for each version.
type dynamic struct {
	gk       meta.GroupKind
	hub      string
	hubless  bool
	versions []*Version
	convert  func(ctx context.Context, obj *scheme.Unstructured, version string) (*scheme.Unstructured, error)
	// convertAll is set where another server converts.
	convertAll func(ctx context.Context, objs []*scheme.Unstructured, version string) ([]*scheme.Unstructured, error)
}

func (k *dynamic) GroupKind() meta.GroupKind { return k.gk }
func (k *dynamic) Versions() []*Version      { return k.versions }

func (k *dynamic) New() meta.Object {
	u := &scheme.Unstructured{}
	u.SetGroupVersionKind(In(k, k.hub).GVK)
	return u
}

// errNotObject is what is said of a body that is JSON, but no object.
var errNotObject = errors.New("the value is not an object")

func (k *dynamic) Decode(req codec.DecodeRequest) (codec.Decoded, error) {
	var out codec.Decoded
	data := req.Data
	switch req.Type {
	case codec.Protobuf:
		return out, errors.New("the kind has no protobuf form")
	case codec.YAML:
		var repeated string
		var err error
		if data, repeated, err = codec.YAMLToJSON(data, req.Strict, req.Meter); err != nil {
			return out, err
		}
		if repeated != "" {
			out.Strict = append(out.Strict, repeated)
		}
	}
	u := &scheme.Unstructured{}
	tree, repeated, err := decodeObject(data, &req, u)
	if err != nil && req.Meter.Err() != nil {
		return out, err
	}
	if err := req.Meter.Step(len(data)); err != nil { // for what follows
		return out, err
	}
	if req.As != (meta.GroupVersionKind{}) {
		out.GVK = req.As
	} else if gvk, wrong := k.kindOf(tree, data, req.Default); wrong != nil {
		return out, wrong
	} else {
		out.GVK = gvk
	}
	if err != nil {
		return out, err
	}
	version := In(k, out.GVK.Version)
	switch known := version != nil && out.GVK == version.GVK; {
	case known:
		unknown := version.rules().Prune(tree)
		if err := version.rules().Coerce(nil, tree); err != nil {
			return out, err
		}
		if req.Strict {
			out.Strict = slices.Concat(out.Strict, repeated, headFirst(unknown))
		}
	case k.hubless && req.Strict:
		out.Strict = slices.Concat(out.Strict, repeated)
	case !k.hubless: // else the object is told what it should be, in the words for its kind
		return out, k.unknown(out.GVK)
	}
	u.Content = tree
	if err := takeHead(u); err != nil {
		return out, err
	}
	u.SetGroupVersionKind(out.GVK)
	out.Object = u
	return out, nil
}

// decodeObject decodes an object into a tree, the metadata right into u if nothing about them is unusual. repeated are fields that are
// there twice.
func decodeObject(data []byte, req *codec.DecodeRequest, u *scheme.Unstructured) (tree map[string]any, repeated []string, err error) {
	if tree = codec.DecodeResource(data, req.Shared, req.Strict, req.Meter, &u.ObjectMeta); tree != nil {
		return tree, nil, nil
	}
	u.ObjectMeta = meta.ObjectMeta{}
	value, repeated, err := codec.DecodeTree(data, req.Strict, req.Meter)
	if err != nil {
		return nil, nil, err
	}
	tree, ok := value.(map[string]any)
	if !ok {
		err = errNotObject
	}
	return tree, repeated, err
}

// takeHead moves what every object has out of the content.
func takeHead(u *scheme.Unstructured) error {
	head := u.Content["metadata"]
	for _, name := range []string{"apiVersion", "kind", "metadata"} {
		delete(u.Content, name)
	}
	if head != nil {
		text, err := jsontext.AppendTree(nil, head, jsontext.Plain)
		if err != nil {
			return err
		}
		if err := codec.DecodeJSON(text, &u.ObjectMeta); err != nil {
			return err
		}
	}
	if len(u.ManagedFields) == 0 {
		u.ManagedFields = nil // an empty list says no more than none
	}
	return nil
}

// headFirst moves what is unknown in the object's own metadata to the front, in place.
func headFirst(unknown []string) []string {
	slices.SortStableFunc(unknown, func(a, b string) int { return order(a) - order(b) })
	return unknown
}

func order(unknown string) int {
	if strings.HasPrefix(unknown, `unknown field "metadata.`) {
		return 0
	}
	return 1
}

// kindOf reads what a tree, decoded from data, calls its kind. What says it in an unusual way, or not at all, is looked at again, so
// that errors come in the order in which kube-apiserver finds them: an object in versions that differ has to say it.
func (k *dynamic) kindOf(tree map[string]any, data []byte, def meta.GroupVersionKind) (meta.GroupVersionKind, error) {
	apiVersion, _ := tree["apiVersion"].(string)
	name, _ := tree["kind"].(string)
	if gv, ok := meta.ParseGroupVersion(apiVersion); ok && apiVersion != "" && name != "" {
		return gv.WithKind(name), nil
	}
	if k.hubless {
		def = meta.GroupVersionKind{}
	}
	return codec.Interpret(data, def)
}

func (k *dynamic) Default(obj meta.Typed) error {
	u := obj.(*scheme.Unstructured)
	version := In(k, u.GroupVersionKind().Version)
	if version == nil {
		return nil
	}
	if u.Content == nil {
		u.Content = map[string]any{}
	}
	if err := version.rules().SetDefaults(u.Content); err != nil {
		return meta.NewRequestEntityTooLarge(err.Error())
	}
	return nil
}

// unknown is the error for what the kind is not, or has no version of.
func (k *dynamic) unknown(gvk meta.GroupVersionKind) error {
	return &scheme.NotRegisteredError{Scheme: "coracle", GVK: gvk}
}

func (k *dynamic) Hub(version string) string {
	if k.hubless {
		return version
	}
	return scheme.InternalVersion
}

func (k *dynamic) Check(obj, old meta.Object) field.ErrorList {
	if k.hubless {
		return nil
	}
	var before any
	if old != nil {
		before = old.(*scheme.Unstructured).Content
	}
	s, tree := In(k, k.hub).rules(), obj.(*scheme.Unstructured).Content
	return slices.Concat(s.Validate(nil, tree, before), s.ValidateResources(nil, tree), s.ValidateLists(nil, tree, before))
}

func (k *dynamic) Append(dst []byte, obj meta.Typed, m codec.Media) ([]byte, error) {
	if m.Type == codec.Protobuf {
		return codec.AppendProto(dst, obj) // which says that there is none
	}
	var space [2 << 10]byte // most objects fit, and what is kept of them has their size
	data, err := appendObject(space[:0], obj.(*scheme.Unstructured))
	if err != nil {
		return dst, err
	}
	switch {
	case m.Type == codec.YAML:
		return codec.AppendYAML(dst, data)
	case m.Pretty:
		return codec.AppendIndent(dst, data), nil
	}
	return append(slices.Grow(dst, len(data)), data...), nil
}

// appendObject appends the JSON of an object, its fields in alphabetical order.
func appendObject(dst []byte, u *scheme.Unstructured) ([]byte, error) {
	var space [16]string
	names := append(space[:0], "apiVersion", "kind", "metadata")
	for name := range u.Content {
		if !slices.Contains(names[:3], name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	sep := byte('{')
	for _, name := range names {
		before := len(dst)
		dst = append(jsontext.AppendString(append(dst, sep), name, jsontext.Plain), ':')
		empty := false
		var err error
		switch name {
		case "apiVersion":
			dst, empty = jsontext.AppendString(dst, u.APIVersion, jsontext.Plain), u.APIVersion == ""
		case "kind":
			dst, empty = jsontext.AppendString(dst, u.Kind, jsontext.Plain), u.Kind == ""
		case "metadata":
			at := len(dst)
			dst, err = codec.AppendJSON(dst, &u.ObjectMeta)
			empty = string(dst[at:]) == "{}"
		default:
			dst, err = jsontext.AppendTree(dst, u.Content[name], jsontext.Plain)
		}
		if err != nil {
			return dst, err
		}
		if empty {
			dst = dst[:before]
			continue
		}
		sep = ','
	}
	if sep == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}'), nil
}

// Keeper cannot know all fields that objects have. It refuses paths on which there can be none.
func (k *dynamic) Keeper(paths []string, others bool) (func(obj, old meta.Object), error) {
	if err := k.checkPaths(paths); err != nil {
		return nil, err
	}
	return func(obj, old meta.Object) {
		u, before := obj.(*scheme.Unstructured), old.(*scheme.Unstructured)
		if !others {
			for _, path := range paths {
				keep(u, before, strings.Split(path, "."))
			}
			return
		}
		// What the paths name is the client's, all else is as it was.
		client := &scheme.Unstructured{Content: u.Content}
		u.Content, _ = typeinfo.CopyJSON(before.Content).(map[string]any)
		for _, path := range paths {
			keep(u, client, strings.Split(path, "."))
		}
	}, nil
}

func (k *dynamic) Differ(paths []string) (func(a, b meta.Object) bool, error) {
	if err := k.checkPaths(paths); err != nil {
		return nil, err
	}
	split := make([][]string, len(paths))
	for i, path := range paths {
		split[i] = strings.Split(path, ".")
	}
	return func(a, b meta.Object) bool {
		return slices.ContainsFunc(split, func(path []string) bool {
			x, inA := scheme.At[any](a.(*scheme.Unstructured), path...)
			y, inB := scheme.At[any](b.(*scheme.Unstructured), path...)
			return inA != inB || !typeinfo.EqualJSON(x, y)
		})
	}, nil
}

func (k *dynamic) checkPaths(paths []string) error {
	for _, path := range paths {
		if err := k.checkPath(path); err != nil {
			return fmt.Errorf("%s: %w", k.gk, err)
		}
	}
	return nil
}

// checkPath refuses what is not content, and what leads through a value that is no object: there, nothing would be kept.
func (k *dynamic) checkPath(path string) error {
	names := strings.Split(path, ".")
	switch names[0] {
	case "", "apiVersion", "kind", "metadata":
		return fmt.Errorf("the path %q does not lead into the content", path)
	}
	s := In(k, k.hub).Schema().Target()
	for i, name := range names {
		if s.Type != "" && s.Type != schema.Object {
			return fmt.Errorf("on the path %q, %s is no object but of type %s", path, strings.Join(names[:i], "."), s.Type)
		}
		if s = s.Child(name); s == nil {
			return nil
		}
		s = s.Target()
	}
	return nil
}

// keep makes the field of u at a path what it is in from.
func keep(u, from *scheme.Unstructured, path []string) {
	value, ok := scheme.At[any](from, path...)
	if !ok {
		u.Remove(path...)
		return
	}
	// Where something else stands in the way of the path, the object is not valid, and is found so.
	_ = u.Set(typeinfo.CopyJSON(value), path...)
}
