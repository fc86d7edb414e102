package core

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/authenticationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file is the subresource token of service accounts (TokenRequest, KEP-1205): it completes a
// request, finds the object that the token is bound to, decides how long the token lasts, and has
// it signed. serviceAccounts declares the subresource; server/identity implements TokenConfig.Sign.

// TokenConfig says how tokens of service accounts are made.
type TokenConfig struct {
	// Sign makes the token that t describes. credential is the ID of the token, by which audit
	// records of later requests name the token. If Sign is nil, the server issues no tokens.
	Sign func(ctx context.Context, t *AccountToken) (token, credential string, err error)
	// Audiences are the names of the API server itself. A request that names no audience gets a
	// token for these.
	Audiences []string
	// Bounds returns how long tokens may last. longest bounds every requested duration; 0 does not
	// bound it. extended is the duration of tokens that kubelet requests for pods: they last longer
	// than requested, because older programs read their token file only once; 0 means no longer
	// than requested.
	Bounds func() (longest, extended time.Duration)
}

// AccountToken is the content of a token that Sign is to make.
type AccountToken struct {
	Namespace string
	Account   ObjectName
	// Pod, Secret or Node is the object that the token is bound to: when that object is deleted,
	// the token ends. At most one of them is set, except that a token bound to a Pod also names the
	// Node that the pod runs on. That Node has no UID if it does not exist.
	Pod, Secret, Node *ObjectName
	Audiences         []string
	// Issued is when the token begins to be valid.
	Issued time.Time
	// Lasts is how long the token is valid. WarnAfter is 0, or the shorter time after which a
	// client should have read a newer token; the audit record of a later request says so, so that
	// operators find such clients.
	Lasts, WarnAfter time.Duration
}

// ObjectName names one object; the field that holds the ObjectName says of which kind and
// namespace.
type ObjectName struct {
	Name string
	UID  meta.UID
}

var tokenRequestKind = authenticationv1.GroupVersion.WithKind("TokenRequest")

// Bounds on the requested duration of a token, in seconds. The upper bound only keeps durations
// within the range of time.Duration; the bound that an operator sets is in TokenConfig.Bounds.
const (
	minTokenSeconds = 10 * 60
	maxTokenSeconds = 1 << 32
)

// kubeletToken is the duration that the ServiceAccount admission plugin writes into the token
// volumes of pods (kube-api-access), and that kubelet therefore requests. The odd 7 seconds tell
// such a request from one that somebody wrote by hand.
const kubeletToken = admission.TokenSeconds * time.Second

// accountToken declares the subresource token, which answers a TokenRequest with the same object
// and a token in its status.
func accountToken(c TokenConfig, stores registry.Stores) registry.SubresourceOf[*corev1.ServiceAccount] {
	return registry.SubresourceOf[*corev1.ServiceAccount]{
		Name: "token", Kind: tokenRequestKind,
		Complete: func(ctx context.Context, a *registry.Action) error {
			return completeTokenRequest(ctx, c, stores, a)
		},
		Check:    checkTokenRequest,
		Returned: true,
		Create: func(ctx context.Context, a *registry.Action) (meta.Typed, error) {
			return makeToken(ctx, c, stores, a)
		},
	}
}

// completeTokenRequest fills in name, namespace and UID of the account, the default audiences and
// the time of issue. It refuses a request for an account of another name or UID. Whatever status
// the client sent is dropped.
func completeTokenRequest(ctx context.Context, c TokenConfig, stores registry.Stores, a *registry.Action) error {
	r := a.Object.(*authenticationv1.TokenRequest)
	if r.Name != "" && r.Name != a.Name {
		return meta.NewInvalid(tokenRequestKind.GroupKind(), a.Name, field.ErrorList{
			field.Invalid(field.NewPath("metadata", "name"), r.Name,
				"must match the service account name if specified")})
	}
	account, err := readObject[*corev1.ServiceAccount](ctx, stores, "serviceaccounts", a.Namespace, a.Name)
	if err != nil {
		return err
	}
	if r.UID != "" && r.UID != account.UID {
		return meta.NewConflict(meta.GroupResource{Group: tokenRequestKind.Group, Resource: tokenRequestKind.Kind},
			a.Name, fmt.Errorf("the UID in the token request (%s) does not match the UID of the service account (%s)",
				r.UID, account.UID))
	}
	if len(r.Spec.Audiences) == 0 {
		r.Spec.Audiences = c.Audiences
	}
	r.Name, r.Namespace, r.UID = account.Name, account.Namespace, account.UID
	now := meta.NewTime(time.Now())
	r.CreationTimestamp = &now
	r.Status = authenticationv1.TokenRequestStatus{}
	return nil
}

// checkTokenRequest checks the requested duration; defaulting has set one.
func checkTokenRequest(a *registry.Action) error {
	p, seconds := field.NewPath("spec", "expirationSeconds"),
		*a.Object.(*authenticationv1.TokenRequest).Spec.ExpirationSeconds
	var errs field.ErrorList
	if seconds < minTokenSeconds {
		errs = append(errs, field.Invalid(p, seconds, "may not specify a duration less than 10 minutes"))
	}
	if seconds > maxTokenSeconds {
		errs = append(errs, field.Invalid(p, seconds, "may not specify a duration larger than 2^32 seconds"))
	}
	if len(errs) > 0 {
		return meta.NewInvalid(tokenRequestKind.GroupKind(), "", errs)
	}
	return nil
}

// makeToken makes the token of a completed request. status.expirationTimestamp is the requested end
// even if the token lasts longer (Bounds): kubelet requests the next token before that time.
func makeToken(ctx context.Context, c TokenConfig, stores registry.Stores, a *registry.Action) (meta.Typed, error) {
	r := a.Object.(*authenticationv1.TokenRequest)
	t := &AccountToken{
		Namespace: r.Namespace, Account: ObjectName{r.Name, r.UID}, Audiences: r.Spec.Audiences,
		Issued: r.CreationTimestamp.Time,
	}
	if err := bindToken(ctx, stores, r, t); err != nil {
		return nil, err
	}
	seconds := r.Spec.ExpirationSeconds
	bound, extended := c.Bounds()
	if longest := int64(bound / time.Second); longest > 0 && *seconds > longest {
		a.Warn(fmt.Sprintf("requested expiration of %d seconds shortened to %d seconds", *seconds, longest))
		*seconds = longest
	}
	t.Lasts = time.Duration(*seconds) * time.Second
	ours := func(audience string) bool { return slices.Contains(c.Audiences, audience) }
	r.Status.ExpirationTimestamp = meta.NewTime(t.Issued.Add(t.Lasts))
	if extended > 0 && t.Pod != nil && t.Lasts == kubeletToken &&
		!slices.ContainsFunc(t.Audiences, func(a string) bool { return !ours(a) }) {
		t.Lasts, t.WarnAfter = extended, t.Lasts
	}
	token, credential, err := c.Sign(ctx, t)
	if err != nil {
		return nil, meta.NewInternalError(fmt.Errorf("failed to generate token: %w", err))
	}
	r.Status.Token = token
	a.Annotate("authentication.kubernetes.io/issued-credential-id", credential)
	return r, nil
}

// bindToken finds the object that spec.boundObjectRef names and notes it in t. It refuses objects
// of other kinds, a pod of another account, and an object whose UID is not the requested one.
func bindToken(ctx context.Context, stores registry.Stores, r *authenticationv1.TokenRequest, t *AccountToken) error {
	ref := r.Spec.BoundObjectRef
	if ref == nil {
		return nil
	}
	gvk := meta.GroupVersionKind{Kind: ref.Kind}
	if gv, ok := meta.ParseGroupVersion(ref.APIVersion); ok {
		gvk = gv.WithKind(ref.Kind)
	}
	to := &ObjectName{Name: ref.Name}
	switch (meta.GroupKind{Group: gvk.Group, Kind: gvk.Kind}) {
	case meta.GroupKind{Kind: "Pod"}:
		pod, err := readObject[*corev1.Pod](ctx, stores, "pods", r.Namespace, ref.Name)
		if err != nil {
			return err
		}
		if pod.Spec.ServiceAccountName != r.Name {
			return meta.NewBadRequest(fmt.Sprintf(
				"cannot bind token for serviceaccount %q to pod running with different serviceaccount name.", r.Name))
		}
		to.UID, t.Pod = pod.UID, to
		if t.Node, err = nodeOf(ctx, stores, pod); err != nil {
			return err
		}
	case meta.GroupKind{Kind: "Node"}:
		node, err := readObject[*corev1.Node](ctx, stores, "nodes", "", ref.Name)
		if err != nil {
			return err
		}
		to.UID, t.Node = node.UID, to
	case meta.GroupKind{Kind: "Secret"}:
		secret, err := readObject[*corev1.Secret](ctx, stores, "secrets", r.Namespace, ref.Name)
		if err != nil {
			return err
		}
		to.UID, t.Secret = secret.UID, to
	default:
		return meta.NewBadRequest(fmt.Sprintf("cannot bind token to object of type %s", gvk))
	}
	if ref.UID != "" && to.UID != ref.UID {
		return meta.NewConflict(meta.GroupResource{Group: gvk.Group, Resource: gvk.Kind}, ref.Name,
			fmt.Errorf("the UID in the bound object "+
				"reference (%s) does not match the UID in record. The object might have been deleted and then recreated",
				ref.UID))
	}
	return nil
}

// nodeOf returns the node that a pod runs on, nil if the pod is not scheduled. If the Node object
// does not exist, the result has only the name.
func nodeOf(ctx context.Context, stores registry.Stores, pod *corev1.Pod) (*ObjectName, error) {
	name := pod.Spec.NodeName
	if name == "" {
		return nil, nil
	}
	node, err := readObject[*corev1.Node](ctx, stores, "nodes", "", name)
	switch {
	case meta.IsNotFound(err):
		return &ObjectName{Name: name}, nil
	case err != nil:
		return nil, meta.NewInternalError(err)
	}
	return &ObjectName{name, node.UID}, nil
}

// readObject reads an object of the core group at the newest revision. If the server does not have
// the resource, the error is NotFound.
func readObject[T meta.Object](
	ctx context.Context, stores registry.Stores, resource, namespace, name string,
) (T, error) {
	return registry.Read[T](ctx, stores, meta.GroupResource{Resource: resource}, namespace, name, request.Consistent)
}
