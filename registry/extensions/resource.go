package extensions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/cel/rules"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// The declaration of the resource that a definition defines, and the strategy of its instances.
// server/definitions calls DeclareWithSchemas when a definition changes; the store that is made
// from the declaration calls the methods of strategy and version for each write.

// Declare declares the resource that def defines, under its accepted names. def must have its
// schemas. hook converts the instances if the definition asks for conversion by webhook; if hook is
// nil, such a conversion fails.
func Declare(def *v1.CustomResourceDefinition, hook *Webhook) (registry.Resource, error) {
	texts, err := textsOf(def)
	if err != nil {
		return registry.Resource{}, err
	}
	return DeclareWithSchemas(def, texts, hook, nil)
}

// DeclareWithSchemas declares the resource that def defines, under its accepted names, with schemas
// that texts returns. def need not have them. texts is called at the first use of a version, not
// before DeclareWithSchemas returns. hook converts the instances if the definition asks for
// conversion by webhook; if hook is nil, such a conversion fails. timing is told how long the rules
// of the schemas take; it may be nil.
func DeclareWithSchemas(def *v1.CustomResourceDefinition, texts SchemaTexts, hook *Webhook, timing *rules.Timing) (
	registry.Resource, error) {
	k, err := kindOf(def, texts, hook)
	if err != nil {
		return registry.Resource{}, err
	}
	granted := namesOf(def)
	s := &strategy{versions: map[string]*version{}}
	res := registry.ResourceOf[*scheme.Unstructured]{
		GroupResource: meta.GroupResource{Group: def.Spec.Group, Resource: granted.Plural},
		Kind:          granted.Kind,
		ListKind:      granted.ListKind,
		Singular:      granted.Singular,
		ShortNames:    granted.ShortNames,
		Categories:    granted.Categories,
		Namespaced:    def.Spec.Scope == v1.NamespaceScoped,
		Type:          k,
		Strategy: registry.StrategyOf[*scheme.Unstructured]{
			Metadata:        registry.MetaCompare,
			Prepare:         s.prepare,
			ValidateRequest: s.validate,
			Warnings:        finalizerWarnings,
		},
		Served:        []string{},
		ResetFieldsIn: map[string][]string{},
		Fields:        fields(def),
		Tables:        map[string]*registry.TreeTable{},
		Deprecated:    deprecations(def),
		Custom:        true,
	}
	for i := range def.Spec.Versions {
		dv := &def.Spec.Versions[i]
		v := &version{kind: kind.In(k, dv.Name), rules: ruleBook{timing: timing}}
		s.versions[dv.Name] = v
		if dv.Storage {
			res.StorageVersion = dv.Name
		}
		if dv.Served {
			res.Served = append(res.Served, dv.Name)
		}
		res.Tables[dv.Name] = tableOf(dv.AdditionalPrinterColumns)
		if dv.Subresources == nil {
			continue
		}
		if dv.Subresources.Status != nil {
			v.status = true
			res.ResetFieldsIn[dv.Name] = []string{statusField}
			res.Subresources = append(res.Subresources, v.statusDoor(dv.Name))
		}
		if dv.Subresources.Scale != nil {
			v.scale = scalePathsOf(dv.Subresources.Scale)
		}
	}
	res.Subresources = append(res.Subresources, s.scaleDoors()...)
	return registry.Typed(res), nil
}

// statusField is the name of the field status, and of the subresource.
const statusField = "status"

// strategy holds the rules for the instances, by the name of the version that a client writes in.
type strategy struct{ versions map[string]*version }

// version holds the rules for the instances in one version.
type version struct {
	kind   *kind.Version
	status bool        // the version has the subresource status
	scale  *scalePaths // nil: the version has no subresource scale

	rules ruleBook
}

// rulesOf returns the rules for the version that u is in.
func (s *strategy) rulesOf(u *scheme.Unstructured) *version {
	return s.versions[u.GroupVersionKind().Version]
}

// prepare prepares a write of the whole object. If the version has the subresource status, a new
// object has no status, and an update keeps the old one. The generation counts the updates that
// change anything but metadata; the whole content counts, because no schema says which field is the
// spec.
func (s *strategy) prepare(_ *registry.Request, u, old *scheme.Unstructured) {
	if old == nil {
		if s.rulesOf(u).status {
			delete(u.Content, statusField)
		}
		u.Generation = 1
		return
	}
	if s.rulesOf(u).status {
		keepField(u, old, statusField)
	}
	if !typeinfo.EqualJSON(u.Content, old.Content) {
		u.Generation = old.Generation + 1
	}
}

// keepField sets the field called name of u to its value in from, or removes it if from does not
// have it. Both objects then share the value.
func keepField(u, from *scheme.Unstructured, name string) {
	if value, ok := from.Content[name]; ok {
		u.Content[name] = value
	} else {
		delete(u.Content, name)
	}
}

// validate validates u, which replaces old, nil if u is new. The order of the errors is
// kube-apiserver's: schema, scale, embedded resources, lists, rules. found are the errors of the
// metadata.
func (s *strategy) validate(r *registry.Request, found field.ErrorList, u, old *scheme.Unstructured) field.ErrorList {
	v := s.rulesOf(u)
	schema := v.kind.Schema()
	tree, before := treeWithHead(u), any(nil)
	if old != nil {
		before = treeWithHead(old)
	}
	m := meter.New(r.Context)
	errs := schema.Validate(m, nil, tree, before)
	if v.scale != nil {
		errs = append(errs, v.scale.validateSpec(u)...)
		errs = append(errs, v.scale.validateStatus(u)...)
	}
	errs = slices.Concat(errs, schema.ValidateResources(m, nil, tree), schema.ValidateLists(m, nil, tree, before))
	return append(errs, v.rules.validate(r, v.kind, slices.Concat(found, errs), u, old)...)
}

// treeWithHead returns the tree of an object with as much of its metadata as a schema may describe:
// apiVersion, kind and names. It shares the content of u, so nobody may change it. The UID makes
// the trees of two objects different even if all other fields are equal: schemas do not describe
// it, but validation against the old object compares whole trees.
func treeWithHead(u *scheme.Unstructured) map[string]any {
	tree := make(map[string]any, len(u.Content)+3)
	maps.Copy(tree, u.Content)
	tree["apiVersion"], tree["kind"] = u.APIVersion, u.Kind
	metadata := map[string]any{"name": u.Name, "uid": string(u.UID)}
	if u.GenerateName != "" {
		metadata["generateName"] = u.GenerateName
	}
	tree["metadata"] = metadata
	return tree
}

// statusDoor declares the subresource status of the version called name.
func (v *version) statusDoor(name string) registry.SubresourceOf[*scheme.Unstructured] {
	return registry.SubresourceOf[*scheme.Unstructured]{
		Name: statusField, Versions: []string{name},
		Prepare:         prepareStatus,
		ValidateRequest: v.validateStatus,
		Metadata:        registry.MetaCompare,
		ResetFields:     []string{"metadata", "spec"},
	}
}

// prepareStatus prepares a write to the subresource status. Everything but the status and
// managedFields is reset to old.
func prepareStatus(_ *registry.Request, u, old *scheme.Unstructured) {
	owners := u.ManagedFields
	u.ObjectMeta = old.DeepCopy().ObjectMeta
	u.ManagedFields = owners
	content := maps.Clone(old.Content)
	if content == nil {
		content = map[string]any{}
	}
	kept := &scheme.Unstructured{Content: content}
	keepField(kept, u, statusField)
	u.Content = kept.Content
}

// validateStatus validates a write to the subresource status. The schema is applied to the status
// alone, since nothing else can change. As in kube-apiserver, lists and rules are validated in the
// whole object, and embedded resources are not validated.
func (v *version) validateStatus(r *registry.Request, found field.ErrorList,
	u, old *scheme.Unstructured) field.ErrorList {
	var errs field.ErrorList
	schema, m := v.kind.Schema(), meter.New(r.Context)
	status, ok := u.Content[statusField]
	before := old.Content[statusField]
	// A status of null that was null or missing before is no change, so it is not validated.
	if s := schema.Target().Properties[statusField]; s != nil && ok && (status != nil || before != nil) {
		errs = s.Validate(m, field.NewPath(statusField), status, before)
	}
	if v.scale != nil {
		errs = append(errs, v.scale.validateStatus(u)...)
	}
	errs = append(errs, schema.ValidateLists(m, nil, u.Content, old.Content)...)
	return append(errs, v.rules.validate(r, v.kind, slices.Concat(found, errs), u, old)...)
}

// finalizerWarnings returns a warning for each finalizer of u that old, which may be nil, does not
// have and whose name is not a qualified name or has no path.
func finalizerWarnings(u, old *scheme.Unstructured) []string {
	if len(u.Finalizers) == 0 {
		return nil
	}
	var before, out []string
	if old != nil {
		before = old.Finalizers
	}
	path := field.NewPath("metadata", "finalizers").String()
	added := slices.Compact(slices.Sorted(slices.Values(u.Finalizers)))
	for _, f := range added {
		if slices.Contains(before, f) {
			continue
		}
		warn := func(text string) { out = append(out, path+": "+strconv.Quote(f)+": "+text) }
		for _, msg := range names.IsQualifiedName(f) {
			warn(msg)
		}
		switch {
		case strings.Contains(f, "/") || slices.Contains(plainFinalizers, f):
		case strings.Contains(f, "."):
			warn("prefer a domain-qualified finalizer name including a path (/) to avoid accidental conflicts with other finalizer writers")
		default:
			warn("prefer a domain-qualified finalizer name to avoid accidental conflicts with other finalizer writers")
		}
	}
	return out
}

// plainFinalizers are the finalizers of Kubernetes that have no domain.
var plainFinalizers = []string{"orphan", "foregroundDeletion", "kubernetes"}
