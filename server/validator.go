package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/extensions"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/apiextensionsv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/manifest"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/bootstrap"
	"github.com/coracle-project/coracle/server/plugins"
)

// Validator validates objects without a server: Check returns the warnings and the error that a
// server would answer to a create. A Validator has the resources of a server, and those that
// checked definitions add. It stores no objects, has no listener and calls no admission plugins. It
// is for one goroutine.
type Validator struct {
	*assembly
}

// NewValidator makes a Validator for the resources that a server with api would serve. The caller
// must Close it.
func NewValidator(ctx context.Context, api APIConfig) (*Validator, error) {
	noPlugins := plugins.Config{Disable: plugins.Names()}
	c, err := Config{API: api, Storage: StorageConfig{Engine: StorageMemory}, Admission: noPlugins}.complete()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	a, err := assemble(ctx, c, heldParts())
	if err != nil {
		return nil, err
	}
	return &Validator{a}, nil
}

// heldParts are the parts of a Validator and of CheckStore: the declared parts, over a store that
// is open before they are made.
func heldParts() []part {
	return slices.Concat([]part{{"metrics", (*assembly).makeMetrics}, {"store", (*assembly).openStore}}, declaredParts)
}

// Close ends the Validator and closes its store.
func (v *Validator) Close() error {
	return v.ends.run()
}

// Check validates an object as a create with strict field validation would, so unknown fields are
// errors. It returns the warnings and the error that a server would answer. After a valid
// CustomResourceDefinition, Check also takes objects of the resource that it defines.
func (v *Validator) Check(ctx context.Context, o *manifest.Object) (warnings []string, err error) {
	offer := v.resources.Table().Now().Kinds[o.Kind.GroupKind()]
	if offer == nil || offer.Store == nil || !offer.Serves(o.Kind.GroupVersion(), "") {
		return nil, fmt.Errorf("no matches for kind %q in version %q", o.Kind.Kind, o.Kind.GroupVersion())
	}
	obj, err := decodeStrictly(offer.View, o)
	if err != nil {
		return nil, err
	}
	namespace := o.Namespace
	if offer.Store.Resource().Namespaced {
		setDefault(&namespace, bootstrap.DefaultNamespace)
	}
	enc, err := offer.View.Create(ctx, &request.Write{
		Namespace: namespace, Version: o.Kind.Version, DryRun: true, Admitted: true, Options: &meta.CreateOptions{},
		Change: func(context.Context, request.Current) (meta.Typed, error) { return obj, nil },
		Warn:   func(text string) { warnings = append(warnings, text) },
	})
	if err != nil || offer.Name != customResourceDefinitions {
		return warnings, err
	}
	return warnings, v.define(ctx, offer.View, enc)
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
