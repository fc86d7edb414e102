package extensions

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/names"
	"github.com/coracle-project/coracle/scheme/typeinfo"
)

// Declare makes the resource of the objects of a definition, under the names that it was granted.
// hook is its webhook if it wants one to convert between versions; nil: such conversions fail.
func Declare(def *v1.CustomResourceDefinition, hook *Webhook) (registry.Resource, error) {
	texts, err := textsOf(def)
	if err != nil {
		return registry.Resource{}, err
	}
	return DeclareBy(def, texts, hook)
}

// DeclareBy is Declare of a definition whose schemas are elsewhere. None is asked for before
// somebody uses the resource.
func DeclareBy(def *v1.CustomResourceDefinition, texts Texts, hook *Webhook) (registry.Resource, error) {
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
			Metadata: registry.MetaCompare,
			Prepare:  s.prepare,
			Judge:    s.judge,
			Warnings: finalizerWarnings,
		},
		Served:     []string{},
		ResetIn:    map[string][]string{},
		Fields:     fields(def),
		Tables:     map[string]*registry.TreeTable{},
		Deprecated: deprecations(def),
		Custom:     true,
	}
	for i := range def.Spec.Versions {
		dv := &def.Spec.Versions[i]
		v := &version{kind: kind.In(k, dv.Name)}
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
			res.ResetIn[dv.Name] = []string{statusField}
			res.Subresources = append(res.Subresources, v.statusDoor(dv.Name))
		}
		if dv.Subresources.Scale != nil {
			v.scale = scalePathsOf(dv.Subresources.Scale)
		}
	}
	res.Subresources = append(res.Subresources, s.scaleDoors()...)
	return registry.Typed(res), nil
}

// statusField is what the status is called, and the door to it.
const statusField = "status"

// strategy are the rules of the objects of a definition, each in its version.
type strategy struct{ versions map[string]*version }

// version is what a definition says of its objects in one version.
type version struct {
	kind   *kind.Version
	status bool // it has the door
	scale  *scalePaths

	rules ruleBook
}

// of returns what holds for an object.
func (s *strategy) of(u *scheme.Unstructured) *version {
	return s.versions[u.GroupVersionKind().Version]
}

// prepare keeps the status to its door, if there is one, and counts every change of what is not
// metadata.
func (s *strategy) prepare(_ *registry.Request, u, old *scheme.Unstructured) {
	if old == nil {
		if s.of(u).status {
			delete(u.Content, statusField)
		}
		u.Generation = 1
		return
	}
	if s.of(u).status {
		keepField(u, old, statusField)
	}
	if !typeinfo.EqualJSON(u.Content, old.Content) {
		u.Generation = old.Generation + 1
	}
}

// keepField makes a field what it is in another object, with which it shares the value.
func keepField(u, from *scheme.Unstructured, name string) {
	if value, ok := from.Content[name]; ok {
		u.Content[name] = value
	} else {
		delete(u.Content, name)
	}
}

func (s *strategy) judge(r *registry.Request, found field.ErrorList, u, old *scheme.Unstructured) field.ErrorList {
	v := s.of(u)
	schema := v.kind.Schema()
	tree, before := headed(u), any(nil)
	if old != nil {
		before = headed(old)
	}
	m := meter.New(r.Context)
	errs := schema.Validate(m, nil, tree, before)
	if v.scale != nil {
		errs = append(errs, v.scale.validateSpec(u)...)
		errs = append(errs, v.scale.validateStatus(u)...)
	}
	errs = slices.Concat(errs, schema.ValidateResources(m, nil, tree), schema.ValidateLists(m, nil, tree, before))
	return append(errs, v.rules.judge(r, v.kind, slices.Concat(found, errs), u, old)...)
}

// headed is the tree of an object, which shares its content, with as much of its head as a schema
// can say something about: apiVersion, kind and names. The UID, which no schema describes, keeps
// the metadata, and so the object, from being the same as any other by that description.
func headed(u *scheme.Unstructured) map[string]any {
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

// statusDoor makes the door to the status in a version.
func (v *version) statusDoor(name string) registry.SubresourceOf[*scheme.Unstructured] {
	return registry.SubresourceOf[*scheme.Unstructured]{
		Name: statusField, Versions: []string{name},
		Prepare:  prepareStatus,
		Judge:    v.judgeStatus,
		Metadata: registry.MetaCompare,
		Reset:    []string{"metadata", "spec"},
	}
}

// prepareStatus takes back all but the status, and who owns what.
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

// judgeStatus judges the values of the status alone: the rest is as it was. As in kube-apiserver,
// lists and rules are judged in all of the object, and embedded resources nowhere.
func (v *version) judgeStatus(r *registry.Request, found field.ErrorList, u, old *scheme.Unstructured) field.ErrorList {
	var errs field.ErrorList
	schema, m := v.kind.Schema(), meter.New(r.Context)
	status, ok := u.Content[statusField]
	before := old.Content[statusField]
	// Null where there was none, or null, is no change, and not held against an update.
	if s := schema.Target().Properties[statusField]; s != nil && ok && (status != nil || before != nil) {
		errs = s.Validate(m, field.NewPath(statusField), status, before)
	}
	if v.scale != nil {
		errs = append(errs, v.scale.validateStatus(u)...)
	}
	errs = append(errs, schema.ValidateLists(m, nil, u.Content, old.Content)...)
	return append(errs, v.rules.judge(r, v.kind, slices.Concat(found, errs), u, old)...)
}

// finalizerWarnings says of new finalizers what is unusual about their names.
func finalizerWarnings(u, old *scheme.Unstructured) []string {
	if len(u.Finalizers) == 0 {
		return nil
	}
	var known, out []string
	if old != nil {
		known = old.Finalizers
	}
	path := field.NewPath("metadata", "finalizers").String()
	added := slices.Compact(slices.Sorted(slices.Values(u.Finalizers)))
	for _, f := range added {
		if slices.Contains(known, f) {
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

// plainFinalizers are those of Kubernetes itself.
var plainFinalizers = []string{"orphan", "foregroundDeletion", "kubernetes"}
