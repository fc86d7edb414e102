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

// Judge says what is wrong with objects, in the words of a server that is asked to create them: it
// has the resources of one, and what definitions add, but nothing is stored, nobody listens, and
// admission is not asked. It is for one goroutine.
type Judge struct {
	*assembly
}

// NewJudge makes a Judge of the resources that a server has. Close ends it.
func NewJudge(ctx context.Context, api APIConfig) (*Judge, error) {
	noPlugins := plugins.Config{Disable: plugins.Names()}
	c, err := Config{API: api, Storage: StorageConfig{Engine: StorageMemory}, Admission: noPlugins}.complete()
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	a, err := assemble(ctx, c, heldParts())
	if err != nil {
		return nil, err
	}
	return &Judge{a}, nil
}

// heldParts are the parts of a server that serves nobody: what is declared, over a store that is
// read as it is.
func heldParts() []part {
	return slices.Concat([]part{{"metrics", (*assembly).makeMetrics}, {"store", (*assembly).openStore}}, declaredParts)
}

// Close ends the Judge.
func (j *Judge) Close() error {
	return j.ends.run()
}

// Check judges an object: what a server would warn of, and the error with which it would refuse it,
// unknown fields included. Of a definition that is good, objects can be judged from then on.
func (j *Judge) Check(ctx context.Context, o *manifest.Object) (warnings []string, err error) {
	offer := j.resources.Table().Now().Kinds[o.Kind.GroupKind()]
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
	return warnings, j.define(ctx, offer.View, enc)
}

// decodeStrictly decodes an object, in which no field may be unknown.
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

// define adds what a definition defines. Each version is judged by itself: nothing is converted.
func (j *Judge) define(ctx context.Context, store *registry.Store, enc request.Encoded) error {
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
	if j.resources.Store(res.GroupResource) != nil {
		return fmt.Errorf("there is another definition of %s", res.GroupResource)
	}
	return j.resources.Install(j.definitions.Server(), Group{
		Name:      res.GroupResource.Group,
		Resources: []registry.Resource{res},
	})
}
