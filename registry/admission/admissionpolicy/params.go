package admissionpolicy

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file finds the params of a policy. Both plugins use it. The error texts are Kubernetes'.

// noParamsFound says in the story of a write why a binding does nothing.
const noParamsFound = "no params were found"

// noParams are the params of a policy without paramKind or a binding without paramRef: the policy
// is evaluated once, and the variable params is null.
var noParams = []meta.Typed{nil}

// source returns the Params for the paramKind of a rule, nil if the rule has none. It fails if no
// resource has that kind.
func (r *rule[R]) source(w *World) (*Params, error) {
	if r.params == nil {
		return nil, nil
	}
	if from := w.Params(r.kind); from != nil {
		return from, nil
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", r.kind)
}

// find returns the objects of params for a binding. The policy is evaluated once for each. from is
// nil if the policy has no paramKind. namespace is that of the request.
func (b *binding) find(ctx context.Context, from *Params, namespace string) ([]meta.Typed, error) {
	if from == nil || b.params == nil {
		return noParams, nil
	}
	namespace, err := b.paramsNamespace(from, namespace)
	if err != nil {
		return nil, err
	}
	found, err := b.read(ctx, from, namespace)
	if err != nil {
		return nil, err
	}
	if action := b.params.ParameterNotFoundAction; len(found) == 0 && action != nil && *action == v1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}

// paramsNamespace returns the namespace in which the objects of params are; "" if their kind is
// cluster-scoped.
func (b *binding) paramsNamespace(from *Params, namespace string) (string, error) {
	switch own := b.params.Namespace; {
	case from.Namespaced && own != "":
		return own, nil
	case from.Namespaced && namespace == "":
		return "", errors.New("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")
	case from.Namespaced:
		return namespace, nil
	case own != "":
		return "", errors.New("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")
	}
	return "", nil
}

// read reads the objects of params by name or by selector. It returns none if the named one does
// not exist.
func (b *binding) read(ctx context.Context, from *Params, namespace string) ([]meta.Typed, error) {
	switch {
	case b.params.Name != "" && b.params.Selector != nil:
		return nil, errors.New("paramRef.name and paramRef.selector are mutually exclusive")
	case b.params.Name != "":
		param, err := from.Get(ctx, namespace, b.params.Name)
		switch {
		case meta.IsNotFound(err):
			return nil, nil
		case err != nil:
			return nil, err
		}
		return []meta.Typed{param}, nil
	case b.params.Selector == nil:
		return nil, errors.New("one of name or selector must be provided")
	case b.selectErr != nil:
		return nil, b.selectErr
	}
	return from.List(ctx, namespace, b.selected)
}
