package admissionpolicy

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/apply"
	"github.com/coracle-project/coracle/scheme/cel/policies"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/jsontext"
	"github.com/coracle-project/coracle/scheme/kind"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/meter"
	"github.com/coracle-project/coracle/scheme/patch"
)

// This file compiles mutating policies, and changes an object as one of their expressions says.
// mutating.go calls mutate for each mutation of a policy. The error texts are Kubernetes'.

// mutations is a compiled mutating policy.
type mutations struct {
	conditions *policies.Conditions
	list       []mutation
	reinvoked  bool // its reinvocationPolicy is IfNeeded
}

// mutation is a compiled mutation: apply is set for an ApplyConfiguration, and patch for a
// JSONPatch.
type mutation struct{ apply, patch *policies.Mutation }

func compileMutations(spec *v1.MutatingAdmissionPolicySpec) *mutations {
	scope := policies.WithVariables(context.Background())
	uses := policies.Uses{Params: spec.ParamKind != nil, Authorizer: true}
	for _, each := range spec.Variables {
		scope.Variable(each.Name, each.Expression, uses)
	}
	m := &mutations{
		conditions: scope.Conditions(spec.MatchConditions, uses, ignores(spec.FailurePolicy)),
		reinvoked:  spec.ReinvocationPolicy == v1.IfNeededReinvocationPolicy,
	}
	for _, each := range spec.Mutations {
		switch {
		case each.PatchType == v1.PatchTypeApplyConfiguration && each.ApplyConfiguration != nil:
			m.list = append(m.list, mutation{apply: scope.ApplyConfiguration(each.ApplyConfiguration.Expression, uses)})
		case each.PatchType == v1.PatchTypeJSONPatch && each.JSONPatch != nil:
			m.list = append(m.list, mutation{patch: scope.JSONPatch(each.JSONPatch.Expression, uses)})
		}
	}
	return m
}

// mutate evaluates a mutation and replaces the object of v with the result. A *meta.StatusError
// refuses the request whatever the failure policy says.
func (m *mutating) mutate(ctx context.Context, each *mutation, v *view, in *policies.Inputs) error {
	version := kind.In(v.target.Type, v.target.Kind.Version)
	if m.a.Operation == admission.Connect || version == nil {
		return meta.NewServiceUnavailable(fmt.Sprintf("Resource kind %s not found. There can be a delay between "+
			"when CustomResourceDefinitions are created and when they are available.", v.target.Kind))
	}
	var made meta.Typed
	var err error
	if each.apply != nil {
		made, err = v.merge(ctx, each.apply, version, in)
	} else {
		made, err = v.patch(ctx, each.patch, in)
	}
	if err != nil {
		return err
	}
	if err := v.target.Type.Default(ctx, made); err != nil {
		return err
	}
	v.object, v.dirty = made, true
	return nil
}

// encode returns the object of v as JSON.
func (v *view) encode() ([]byte, error) { return v.target.Type.Append(nil, v.object, codec.Media{}) }

// merge merges the configuration that an expression returns into the object, as server-side apply
// does, but without owners.
func (v *view) merge(
	ctx context.Context, expression *policies.Mutation, version *kind.Version, in *policies.Inputs,
) (meta.Typed, error) {
	config, err := expression.Apply(ctx, in)
	if err != nil {
		return nil, err
	}
	config["apiVersion"], config["kind"] = v.target.Kind.GroupVersion().String(), v.target.Kind.Kind
	data, err := v.encode()
	if err != nil {
		return nil, err
	}
	merged, err := mergeTrees(meter.New(ctx), jsontext.RawOf(data), config, version)
	if err != nil {
		return nil, fmt.Errorf("error applying patch: %w", err)
	}
	if data, err = jsontext.AppendTree(nil, merged, jsontext.Plain); err != nil {
		return nil, err
	}
	decoded, err := v.target.Type.Decode(codec.DecodeRequest{
		Data: data, As: v.target.Kind, Unpruned: true, Shared: true, Meter: meter.ForSize(ctx, len(data)),
	})
	return decoded.Object, err
}

// mergeTrees merges config into live. A configuration that sets an atomic list, map or struct is
// refused, because it would remove the parts that it does not list. A live object of a Go type
// needs no check: it always fits its schema.
func mergeTrees(m *meter.Meter, live, config any, version *kind.Version) (any, error) {
	s := version.Schema()
	if err := apply.Check(m, config, s, false); err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	atomics, err := apply.Atomics(m, config, s)
	if err != nil {
		return nil, err
	}
	if len(atomics) > 0 {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %s",
			strings.Join(atomics, ", "))
	}
	if version.Type == nil {
		if err := apply.Check(m, live, s, true); err != nil {
			return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
		}
	}
	merged, err := apply.Merge(m, live, config, s)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	return merged, nil
}

// patch applies the JSON patch that an expression returns. If a test operation fails, the object
// stays as it is.
func (v *view) patch(ctx context.Context, expression *policies.Mutation, in *policies.Inputs) (meta.Typed, error) {
	operations, err := expression.Patch(ctx, in)
	if err != nil {
		return nil, err
	}
	data, err := v.encode()
	if err != nil {
		return nil, fmt.Errorf("failed to create JSON patch: %w", err)
	}
	patched, err := patch.JSON(data, operations, meter.WithBudget(ctx, patch.MaxWork))
	if e, ok := errors.AsType[*patch.Error](err); ok && e.Kind == patch.Untrue {
		return v.object, nil
	}
	if err != nil {
		return nil, fmt.Errorf("JSON Patch: %w", err)
	}
	decoded, err := v.target.Type.Decode(codec.DecodeRequest{
		Data: patched, Default: v.target.Kind, Unpruned: true, Strict: true, Shared: true,
		Meter: meter.ForSize(ctx, len(patched)),
	})
	if err == nil {
		err = codec.StrictError(decoded.Strict)
	}
	if err == nil && decoded.GVK != v.target.Kind {
		err = fmt.Errorf("the JSON patch has made the %s a %s", v.target.Kind, decoded.GVK)
	}
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	return decoded.Object, nil
}
