package admissionpolicy

import (
	"context"
	"errors"
	"fmt"

	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file finds the params of a policy. The texts of the errors are Kubernetes'.

// noParamsFound says in the story of a write why a binding does nothing.
const noParamsFound = "no params were found"

// noParams are the params of a policy or binding that asks for none: expressions see null.
var noParams = []meta.Typed{nil}

// source returns what reads the params of a rule, nil if it has none. The error says that no
// resource has their kind.
func (r *rule[R]) source(w *World) (*Params, error) {
	if r.params == nil {
		return nil, nil
	}
	if from := w.Params(r.kind); from != nil {
		return from, nil
	}
	return nil, fmt.Errorf("failed to find resource referenced by paramKind: '%v'", r.kind)
}

// find returns the params of a binding from a source, which is nil if the policy has none. The
// policy is evaluated once for each. namespace is that of the request.
func (b *binding) find(ctx context.Context, from *Params, namespace string) ([]meta.Typed, error) {
	if from == nil || b.params == nil {
		return noParams, nil
	}
	at, err := b.place(from, namespace)
	if err != nil {
		return nil, err
	}
	found, err := b.read(ctx, from, at)
	if err != nil {
		return nil, err
	}
	if action := b.params.ParameterNotFoundAction; len(found) == 0 && action != nil && *action == v1.DenyAction {
		return nil, errors.New("no params found for policy binding with `Deny` parameterNotFoundAction")
	}
	return found, nil
}

// place returns the namespace of the params.
func (b *binding) place(from *Params, namespace string) (string, error) {
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

// read reads the params by name or by selector.
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
