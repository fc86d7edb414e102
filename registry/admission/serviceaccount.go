package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file has the plugin ServiceAccount: Mutate gives a new pod its account and the token volume,
// Validate checks a pod against its account, and find looks the account up. The rules about the
// secrets that a pod may name are in serviceaccountsecrets.go.

// ServiceAccount is the plugin of that name. It gives a new pod the service account "default", if
// the pod names none, a volume with a token of the account, and the account's secrets for pulling
// images. It refuses pods whose account does not exist. An account may restrict the secrets that
// its pods name.
//
// A mirror pod shows a static pod of a kubelet, which uses no account. It is not changed, and must
// name neither an account nor a secret.
type ServiceAccount struct {
	accounts     ServiceAccounts
	generateName func(base string) string
}

// ServiceAccounts returns a service account, which is shared and must not be changed. The error is
// a *meta.StatusError.
type ServiceAccounts func(
	ctx context.Context, namespace, name string, fresh request.Freshness,
) (*corev1.ServiceAccount, error)

// NewServiceAccount returns the plugin. generateName makes the names of token volumes: it appends
// random characters to base.
func NewServiceAccount(accounts ServiceAccounts, generateName func(base string) string) *ServiceAccount {
	return &ServiceAccount{accounts, generateName}
}

// Name is the plugin's name.
func (*ServiceAccount) Name() string { return "ServiceAccount" }

// Handles is true for creates and updates.
func (*ServiceAccount) Handles(op Operation) bool { return op == Create || op == Update }

const (
	defaultAccount = "default"
	// tokenVolume begins the names of token volumes.
	tokenVolume = "kube-api-access-"
	// tokenPath is where containers find the files of the token volume.
	tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"
)

// TokenSeconds is the lifetime in seconds that token volumes ask for. No other client asks for this
// lifetime, so it marks the tokens that this plugin has added to pods.
const TokenSeconds = 60*60 + 7

// Mutate gives a new pod its account and what comes with it.
func (s *ServiceAccount) Mutate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil || a.Operation != Create {
		return nil
	}
	if isMirror(pod) {
		return checkMirror(a, pod)
	}
	spec := &pod.Spec
	if spec.ServiceAccountName == "" {
		spec.ServiceAccountName = defaultAccount
		spec.DeprecatedServiceAccount = defaultAccount
	}
	account, err := s.find(ctx, a, spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if mountsToken(account, spec) {
		s.mountToken(spec)
	}
	if len(spec.ImagePullSecrets) == 0 {
		spec.ImagePullSecrets = append(spec.ImagePullSecrets, account.ImagePullSecrets...)
	}
	return checkSecrets(a, account, spec)
}

// Validate checks a new pod as the mutators have left it, and the ephemeral containers that an
// update adds.
func (s *ServiceAccount) Validate(ctx context.Context, a *Attributes) error {
	ephemeral := a.Operation == Update && a.Subresource == "ephemeralcontainers"
	pod, ok := a.Object.(*corev1.Pod)
	if !ok || a.Resource.GroupResource() != (meta.GroupResource{Resource: "pods"}) ||
		!ephemeral && (a.Operation != Create || a.Subresource != "") {
		return nil
	}
	if !ephemeral && isMirror(pod) {
		return checkMirror(a, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		return a.Forbidden("no service account specified for pod %s/%s", a.Namespace, pod.Name)
	}
	account, err := s.find(ctx, a, pod.Spec.ServiceAccountName)
	if err != nil {
		return err
	}
	if ephemeral {
		return checkEphemeralSecrets(a, account, &pod.Spec)
	}
	return checkSecrets(a, account, &pod.Spec)
}

func isMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotation]
	return mirror
}

// checkMirror refuses a mirror pod that names an account or a secret: the kubelet of a static pod
// cannot get either.
func checkMirror(a *Attributes, pod *corev1.Pod) error {
	if pod.Spec.ServiceAccountName != "" {
		return a.Forbidden("a mirror pod may not reference service accounts")
	}
	if secrets, _ := DataOf(&pod.Spec); secrets {
		return a.Forbidden("a mirror pod may not reference secrets")
	}
	for i := range pod.Spec.Volumes {
		if projected := pod.Spec.Volumes[i].Projected; projected != nil {
			for j := range projected.Sources {
				if projected.Sources[j].ServiceAccountToken != nil {
					return a.Forbidden("a mirror pod may not use ServiceAccountToken volume projections")
				}
			}
		}
	}
	return nil
}

// patience is the number of times that the plugin looks for the default account. A controller
// creates that account soon after the namespace.
const patience = 10

// find returns the account of a pod, or the 403 for the client. It reads from the cache first:
// NamespaceLifecycle has just read the pod's namespace consistently, so the cache is at most as old
// as that read. It then asks the store, for the default account up to patience times with pauses
// between 100 and 200 ms.
func (s *ServiceAccount) find(ctx context.Context, a *Attributes, name string) (*corev1.ServiceAccount, error) {
	account, err := s.accounts(ctx, a.Namespace, name, request.Cached)
	if err == nil {
		return account, nil
	}
	tries, pause := 1, time.Duration(0)
	if name == defaultAccount {
		tries, pause = patience, 100*time.Millisecond+rand.N(100*time.Millisecond)
	}
	for try := 0; meta.IsNotFound(err) && try < tries; try++ {
		if try > 0 && !sleep(ctx, pause) {
			break
		}
		account, err = s.accounts(ctx, a.Namespace, name, request.Consistent)
	}
	if err == nil {
		return account, nil
	}
	switch bad := names.IsPathSegmentName(name); {
	case len(bad) > 0:
		err = fmt.Errorf("invalid resource name %q: %v", name, bad)
	case meta.IsNotFound(err):
		err = meta.NewNotFound(meta.GroupResource{Resource: "serviceaccount"}, name)
	}
	return nil, a.Forbidden("error looking up service account %s/%s: %w", a.Namespace, name, err)
}

// sleep waits for d. It returns false if ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// mountsToken reports whether the containers of a pod get a token. The pod decides before its
// account.
func mountsToken(account *corev1.ServiceAccount, spec *corev1.PodSpec) bool {
	switch {
	case spec.AutomountServiceAccountToken != nil:
		return *spec.AutomountServiceAccountToken
	case account.AutomountServiceAccountToken != nil:
		return *account.AutomountServiceAccountToken
	}
	return true
}

// mountToken mounts the token volume in all containers that have nothing at tokenPath, and adds the
// volume if a container needs it. Any volume whose name begins with tokenVolume counts as the token
// volume, so a second call changes nothing.
func (s *ServiceAccount) mountToken(spec *corev1.PodSpec) {
	mount := corev1.VolumeMount{ReadOnly: true, MountPath: tokenPath}
	for i := range spec.Volumes {
		if strings.HasPrefix(spec.Volumes[i].Name, tokenVolume) {
			mount.Name = spec.Volumes[i].Name
			break
		}
	}
	missing := mount.Name == ""
	if missing {
		mount.Name = s.generateName(tokenVolume)
	}
	inits, others := addMount(spec.InitContainers, mount), addMount(spec.Containers, mount)
	if missing && (inits || others) {
		spec.Volumes = append(spec.Volumes, corev1.Volume{
			Name: mount.Name, VolumeSource: corev1.VolumeSource{Projected: tokenProjection()},
		})
	}
}

// addMount adds a mount to the containers that have none at its path. It reports whether it added
// any.
func addMount(containers []corev1.Container, mount corev1.VolumeMount) (added bool) {
	for i := range containers {
		c := &containers[i]
		if !hasMount(c, mount.MountPath) {
			c.VolumeMounts = append(c.VolumeMounts, mount)
			added = true
		}
	}
	return added
}

func hasMount(c *corev1.Container, path string) bool {
	for i := range c.VolumeMounts {
		if c.VolumeMounts[i].MountPath == path {
			return true
		}
	}
	return false
}

// tokenProjection returns the source of a token volume: a token, the certificate of the API server,
// which the loop RootCA (server/loops/accounts) publishes, and the name of the pod's namespace.
// Defaults are set already, because objects are defaulted before admission.
func tokenProjection() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(int32(0o644)),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Path: "token", ExpirationSeconds: new(int64(TokenSeconds)),
			}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{{
				Path:     "namespace",
				FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"},
			}}}},
		},
	}
}
