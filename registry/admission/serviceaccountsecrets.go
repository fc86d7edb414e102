package admission

import (
	"fmt"
	"strconv"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file has the rules of the plugin ServiceAccount about secrets. They apply if the account of
// a pod has the annotation kubernetes.io/enforce-mountable-secrets: then the pod may name only the
// secrets that the fields secrets and imagePullSecrets of the account list. The annotation is
// deprecated, because it does not cover all ways to a secret: projected volumes, for example, pass.

const enforceSecretsAnnotation = "kubernetes.io/enforce-mountable-secrets"

// enforcesSecrets reports whether an account restricts secrets. A value that is not a boolean does
// not.
func enforcesSecrets(account *corev1.ServiceAccount) bool {
	value, ok := account.Annotations[enforceSecretsAnnotation]
	if !ok {
		return false
	}
	enforce, err := strconv.ParseBool(value)
	return err == nil && enforce
}

// checkSecrets checks a new pod: volumes, containers, and secrets for pulling images.
func checkSecrets(a *Attributes, account *corev1.ServiceAccount, spec *corev1.PodSpec) error {
	if !enforcesSecrets(account) {
		return nil
	}
	if err := newSecretRules(account).pod(spec); err != nil {
		return a.Forbidden("%w", err)
	}
	return nil
}

// checkEphemeralSecrets checks the ephemeral containers of a pod, old ones too. kube-apiserver
// answers with the same message and the code 500, as if the server had failed.
func checkEphemeralSecrets(a *Attributes, account *corev1.ServiceAccount, spec *corev1.PodSpec) error {
	if !enforcesSecrets(account) {
		return nil
	}
	r := newSecretRules(account)
	for i := range spec.EphemeralContainers {
		c := &spec.EphemeralContainers[i].EphemeralContainerCommon
		if err := r.container("ephemeral container", c.Name, c.Env, c.EnvFrom); err != nil {
			refusal := a.Forbidden("%w", err)
			refusal.Status.Message = err.Error()
			return refusal
		}
	}
	return nil
}

// secretRules are the rules for the pods of an account that restricts secrets. Errors say what is
// not allowed.
type secretRules struct {
	account   *corev1.ServiceAccount
	mountable map[string]bool // the secrets of account, by name
}

func newSecretRules(account *corev1.ServiceAccount) *secretRules {
	mountable := make(map[string]bool, len(account.Secrets))
	for i := range account.Secrets {
		mountable[account.Secrets[i].Name] = true
	}
	return &secretRules{account, mountable}
}

// pod checks all but ephemeral containers, which a new pod does not have.
func (r *secretRules) pod(spec *corev1.PodSpec) error {
	for i := range spec.Volumes {
		if source := spec.Volumes[i].Secret; source != nil && !r.mountable[source.SecretName] {
			return fmt.Errorf("volume with secret.secretName=\"%s\" is not allowed because "+
				"service account %s does not reference that secret", source.SecretName, r.account.Name)
		}
	}
	for i := range spec.InitContainers {
		c := &spec.InitContainers[i]
		if err := r.container("init container", c.Name, c.Env, c.EnvFrom); err != nil {
			return err
		}
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		if err := r.container("container", c.Name, c.Env, c.EnvFrom); err != nil {
			return err
		}
	}
	return r.pullSecrets(spec.ImagePullSecrets)
}

// container checks where the environment variables of a container come from. what is the sort of
// the container, for the message.
func (r *secretRules) container(what, name string, env []corev1.EnvVar, from []corev1.EnvFromSource) error {
	const reason = "referencing secret.secretName=\"%s\" is not allowed because service account %s does not " +
		"reference that secret"
	for i := range env {
		source := env[i].ValueFrom
		if source == nil || source.SecretKeyRef == nil || r.mountable[source.SecretKeyRef.Name] {
			continue
		}
		return fmt.Errorf("%s %s with envVar %s "+reason,
			what, name, env[i].Name, source.SecretKeyRef.Name, r.account.Name)
	}
	for i := range from {
		if ref := from[i].SecretRef; ref != nil && !r.mountable[ref.Name] {
			return fmt.Errorf("%s %s with envFrom "+reason, what, name, ref.Name, r.account.Name)
		}
	}
	return nil
}

func (r *secretRules) pullSecrets(refs []corev1.LocalObjectReference) error {
	allowed := make(map[corev1.LocalObjectReference]bool, len(r.account.ImagePullSecrets))
	for _, ref := range r.account.ImagePullSecrets {
		allowed[ref] = true
	}
	for i, ref := range refs {
		if !allowed[ref] {
			return fmt.Errorf("imagePullSecrets[%d].name=\"%s\" is not allowed because service account %s does not "+
				"reference that imagePullSecret", i, ref.Name, r.account.Name)
		}
	}
	return nil
}
