package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/addresses"
	"github.com/coracle-project/coracle/server/bootstrap"
	"github.com/coracle-project/coracle/server/generic"
	"github.com/coracle-project/coracle/server/plugins"
)

// Validator validates objects without a server: Check returns the warnings and the error that a
// server would answer to a create. A Validator has the resources of a server, and those that
// checked definitions add. It has no listener, and of the admission plugins only those for
// admission policies. It keeps, in memory, what Add adds and the namespaces that it checks. It
// is for one goroutine.
type Validator struct {
	*assembly
	added bool // there may be policies
	// namespaces are the namespaces that policies can read, by name.
	namespaces map[string]bool
}

// NewValidator makes a Validator for the resources that a server with api would serve. The caller
// must Close it.
func NewValidator(ctx context.Context, api APIConfig) (*Validator, error) {
	c, err := Config{API: api, Storage: StorageConfig{Engine: StorageMemory}}.complete()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	a, err := assemble(ctx, c, validatorParts())
	if err != nil {
		return nil, err
	}
	return &Validator{assembly: a, namespaces: map[string]bool{}}, nil
}

// heldParts are the parts of CheckStore: the declared parts, over a store that is open before they
// are made.
func heldParts() []part {
	return slices.Concat([]part{{"metrics", (*assembly).makeMetrics}, {"store", (*assembly).openStore}}, declaredParts)
}

// validatorParts are the parts of a Validator: those of CheckStore, with other plugins.
func validatorParts() []part {
	parts := heldParts()
	i := slices.IndexFunc(parts, func(p part) bool { return p.name == pluginsPart })
	parts[i] = part{"plugins for policies", (*assembly).makePolicies}
	return parts
}

// makePolicies makes the chain of a Validator.
func (a *assembly) makePolicies() error {
	stores := generic.StoresOf(a.table)
	a.resolve = addresses.NewResolver(stores, a.API.Aggregation.ByEndpoints)
	policies := plugins.NewPolicies(plugins.Needs{
		Stores: stores, Authorizer: nobody{}, ResourceOf: a.discovery.ResourceOf, Equivalents: stores.Equivalents,
	})
	a.plugins = append(admission.Chain{nobody{}}, policies...)
	return nil
}

// nobody is the client of a Validator: one without credentials, who has no rights. It is the first
// plugin of the chain, so that the policies see a user and a write that is no dry run. The registry
// sees neither: for its guards, the server itself writes.
type nobody struct{}

// Name implements admission.Plugin.
func (nobody) Name() string { return "nobody" }

// Handles implements admission.Plugin.
func (nobody) Handles(admission.Operation) bool { return true }

// Mutate implements admission.Mutator.
func (nobody) Mutate(_ context.Context, a *admission.Attributes) error {
	a.User = &request.User{Name: request.AnonymousUser, Groups: []string{request.GroupUnauthenticated}}
	a.DryRun = false
	return nil
}

// Authorize implements request.Authorizer. It allows nothing.
func (nobody) Authorize(context.Context, *request.Attributes) (request.Decision, string, error) {
	return request.NoOpinion, "", nil
}

// Close ends the Validator and closes its store.
func (v *Validator) Close() error {
	return v.ends.run()
}

// Check validates an object as a create with strict field validation would, so unknown fields are
// errors. It returns the warnings and the error that a server would answer. The policies that Add
// has added may change the object before its validation, and may refuse it. They see a client
// without credentials, who is authorized for nothing.
//
// After a valid CustomResourceDefinition, Check also takes objects of the resource that it defines.
// A valid Namespace is what policies see as the namespace of objects that are checked after it,
// unless Add has added one of that name.
func (v *Validator) Check(ctx context.Context, o *manifest.Object) (warnings []string, err error) {
	offer, w, err := v.write(o, &warnings)
	if err != nil {
		return nil, err
	}
	if v.added {
		if err := v.addNamespace(ctx, w.Namespace); err != nil {
			return nil, err
		}
	}
	kept := offer.Name == namespaces && !v.namespaces[o.Name]
	w.DryRun = !kept
	enc, err := offer.View.Create(ctx, w)
	if err != nil {
		return warnings, err
	}
	if kept {
		v.namespaces[o.Name] = true
	}
	if offer.Name == customResourceDefinitions {
		err = v.define(ctx, offer.View, enc)
	}
	return warnings, err
}

// Add validates an object like Check, but not by policies, and adds it to the objects that policies
// are made of and that they read: policies, bindings, params and namespaces. For a namespace that
// is not among them, policies see one without labels, except for the label with its name. An object
// that takes something beside it, as a Service takes addresses, is validated and not added.
func (v *Validator) Add(ctx context.Context, o *manifest.Object) (warnings []string, err error) {
	offer, w, err := v.write(o, &warnings)
	if err != nil {
		return nil, err
	}
	w.Admitted, w.DryRun = true, offer.Store.Resource().Reserve != nil
	if _, err := offer.View.Create(ctx, w); err != nil {
		return warnings, err
	}
	v.added = true
	if offer.Name == namespaces {
		v.namespaces[o.Name] = true
	}
	return warnings, nil
}

// write returns the resource of an object, and the write that creates the object. The write appends
// its warnings to those at warnings.
func (v *Validator) write(o *manifest.Object, warnings *[]string) (*generic.Offer, *request.Write, error) {
	offer := v.resources.Table().Now().Kinds[o.Kind.GroupKind()]
	if offer == nil || offer.Store == nil || !offer.Serves(o.Kind.GroupVersion(), "") {
		return nil, nil, fmt.Errorf("no matches for kind %q in version %q", o.Kind.Kind, o.Kind.GroupVersion())
	}
	obj, err := decodeStrictly(offer.View, o)
	if err != nil {
		return nil, nil, err
	}
	namespace := o.Namespace
	if offer.Store.Resource().Namespaced {
		setDefault(&namespace, bootstrap.DefaultNamespace)
	}
	return offer, &request.Write{
		Namespace: namespace, Version: o.Kind.Version, Options: &meta.CreateOptions{},
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj, nil },
		Warn:   func(text string) { *warnings = append(*warnings, text) },
	}, nil
}

// addNamespace adds the namespace of an object, if there is none of that name yet. A name that no
// namespace can have is left to the validation of the object.
func (v *Validator) addNamespace(ctx context.Context, name string) error {
	store := v.resources.Store(namespaces)
	if name == "" || v.namespaces[name] || store == nil {
		return nil
	}
	view, err := registry.ViewOf[*corev1.Namespace](store)
	if err != nil {
		return err
	}
	err = view.Create(ctx, &corev1.Namespace{ObjectMeta: meta.ObjectMeta{Name: name}})
	if err != nil && !meta.IsInvalid(err) {
		return err
	}
	v.namespaces[name] = true
	return nil
}

// decodeStrictly decodes an object. Unknown and duplicate fields are errors.
func decodeStrictly(store *registry.Store, o *manifest.Object) (meta.Typed, error) {
	decoded, err := store.Kind().Decode(codec.DecodeRequest{Data: o.JSON, Default: o.Kind, Strict: true})
	if err == nil {
		err = codec.StrictError(decoded.Strict)
	}
	if err != nil {
		return nil, codec.BodyError(err, o.Kind, o.Kind.Kind, o.JSON)
	}
	return decoded.Object, nil
}

// define adds the resource that a CustomResourceDefinition defines. It drops the definition's
// conversion, so a Validator calls no conversion webhook and validates each version by its own
// schema.
func (v *Validator) define(ctx context.Context, store *registry.Store, enc request.Encoded) error {
	obj, err := store.Decode(ctx, enc)
	if err != nil {
		return err
	}
	def := obj.(*apiextensionsv1.CustomResourceDefinition)
	def.Spec.Conversion = nil
	res, err := extensions.Declare(def, nil)
	if err != nil {
		return err
	}
	if v.resources.Store(res.GroupResource) != nil {
		return fmt.Errorf("there is another definition of %s", res.GroupResource)
	}
	return v.resources.Install(v.definitions.Server(), Group{
		Name:      res.GroupResource.Group,
		Resources: []registry.Resource{res},
	})
}
