package identity

import (
	"context"
	"fmt"
	"strings"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Stores finds the store of a resource. Store returns nil if the server does not serve the
// resource.
type Stores interface {
	Store(meta.GroupResource) *registry.Store
}

var (
	serviceAccounts = meta.GroupResource{Resource: "serviceaccounts"}
	secrets         = meta.GroupResource{Resource: "secrets"}
	pods            = meta.GroupResource{Resource: "pods"}
	nodes           = meta.GroupResource{Resource: "nodes"}
)

// Objects implements authn.Objects. It finds the objects to which tokens are bound, in the caches
// of their resources.
type Objects struct {
	stores Stores
	log    *zap.Logger
}

// NewObjects returns Objects over stores. It logs to log when it cannot label a secret.
func NewObjects(stores Stores, log *zap.Logger) *Objects { return &Objects{stores, log} }

// Object implements authn.Objects: it returns an object whose state the authenticator reads again
// for each request. Tokens are bound to the resources below only, so any other resource means
// nodes.
func (o *Objects) Object(resource, namespace, name string) authn.Object {
	gr := meta.GroupResource{Resource: resource}
	switch gr {
	case serviceAccounts:
		return tokenObject(o.stores, gr, namespace, name, func(a *corev1.ServiceAccount) *authn.ObjectState {
			s := stateOf(&a.ObjectMeta)
			for _, ref := range a.Secrets {
				s.Secrets = append(s.Secrets, strings.Clone(ref.Name))
			}
			return s
		})
	case secrets:
		return tokenObject(o.stores, gr, namespace, name, func(secret *corev1.Secret) *authn.ObjectState {
			s := stateOf(&secret.ObjectMeta)
			s.Token = string(secret.Data[corev1.ServiceAccountTokenKey])
			s.InvalidSince = strings.Clone(secret.Labels[authn.InvalidSinceLabel])
			s.LastUsed = strings.Clone(secret.Labels[authn.LastUsedLabel])
			return s
		})
	case pods:
		return tokenObject(o.stores, gr, namespace, name, func(p *corev1.Pod) *authn.ObjectState {
			return stateOf(&p.ObjectMeta)
		})
	default:
		return tokenObject(o.stores, nodes, "", name, func(n *corev1.Node) *authn.ObjectState {
			return stateOf(&n.ObjectMeta)
		})
	}
}

// Used implements authn.Objects: it notes in a label of the secret the day on which its token was
// last used.
func (o *Objects) Used(ctx context.Context, namespace, secret, day string) {
	if err := o.label(ctx, namespace, secret, authn.LastUsedLabel, day); err != nil {
		o.log.Error("cannot label the secret of a token with the day of its last use", zap.String("namespace", namespace),
			zap.String("secret", secret), zap.Error(err))
	}
}

// label sets a label of a secret. It writes to the store past admission.
func (o *Objects) label(ctx context.Context, namespace, secret, label, value string) error {
	store := o.stores.Store(secrets)
	if store == nil {
		return fmt.Errorf("the server has no %s", secrets)
	}
	_, _, err := store.Update(ctx, &request.Write{
		Namespace: namespace,
		Name:      secret,
		Manager:   registry.ServerManager,
		Options:   &meta.UpdateOptions{},
		Admitted:  true,
		Change: func(_ context.Context, cur request.Current) (meta.Typed, error) {
			if cur.Encoded == nil { // the secret is gone, and the update would create it again
				return nil, meta.NewNotFound(secrets, secret)
			}
			obj, err := cur.Object()
			if err != nil {
				return nil, err
			}
			m := obj.GetObjectMeta()
			if m.Labels == nil {
				m.Labels = map[string]string{}
			}
			m.Labels[label] = value
			return obj, nil
		},
	})
	return err
}

// secret reads a secret from the store, not from the cache: a bootstrap token may have been created
// on another server a moment ago.
func (o *Objects) secret(ctx context.Context, namespace, name string) (*corev1.Secret, error) {
	view, err := registry.ViewOf[*corev1.Secret](o.stores.Store(secrets))
	if err != nil {
		return nil, err
	}
	return view.Read(ctx, namespace, name, request.Consistent)
}

// stateOf returns the UID and the deletion time of an object. It copies strings, so that the state
// does not keep the whole object alive.
func stateOf(m *meta.ObjectMeta) *authn.ObjectState {
	s := &authn.ObjectState{UID: meta.UID(strings.Clone(string(m.UID)))}
	if m.DeletionTimestamp != nil {
		s.Deleted = m.DeletionTimestamp.Time
	}
	return s
}

// tokenObject returns the state of one object, computed by of and remembered until the object
// changes. If there can be no object of that name its Get returns an error.
func tokenObject[T meta.Object](stores Stores, gr meta.GroupResource, namespace, name string,
	of func(T) *authn.ObjectState) authn.Object {
	store := stores.Store(gr)
	if store == nil {
		return noObject{meta.NewNotFound(gr, name)}
	}
	view, err := registry.ViewOf[T](store)
	if err != nil {
		return noObject{meta.NewInternalError(err)}
	}
	memo, err := registry.NewMemo(view, namespace, name, of)
	if err != nil {
		return noObject{err}
	}
	return memo
}

// noObject is an authn.Object that never exists: its resource is not served, or its name is
// invalid.
type noObject struct{ err error }

func (o noObject) Get(context.Context) (*authn.ObjectState, error) { return nil, o.err }
