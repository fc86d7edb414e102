package authz

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// validateName checks the name of an authorizer and adds it to seen.
func validateName(at *field.Path, name string, seen map[string]bool) field.ErrorList {
	defer func() { seen[name] = true }()
	if name == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	if seen[name] {
		return field.ErrorList{field.Duplicate(at, name)}
	}
	if msgs := names.IsDNS1123Subdomain(name); len(msgs) > 0 {
		return field.ErrorList{field.Invalid(at, name, "authorizer name is invalid: "+strings.Join(msgs, ", "))}
	}
	return nil
}

// maxWebhookTimeout is the longest timeout of a webhook.
const maxWebhookTimeout = 30 * time.Second

// validate returns what is wrong with a webhook. at is the path of its authorizer and not of the
// field webhook, because kube-apiserver reports it so.
func (w *WebhookConfiguration) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if d := w.Timeout.Duration; d == 0 {
		errs = append(errs, field.Required(at.Child("timeout"), ""))
	} else if d < 0 || d > maxWebhookTimeout {
		errs = append(errs, field.Invalid(at.Child("timeout"), d.String(), "must be > 0s and <= 30s"))
	}
	for _, ttl := range []struct {
		name  string
		value time.Duration
	}{{"authorizedTTL", w.AuthorizedTTL.Duration}, {"unauthorizedTTL", w.UnauthorizedTTL.Duration}} {
		if ttl.value < 0 {
			errs = append(errs, field.Invalid(at.Child(ttl.name), ttl.value.String(), "must be > 0s"))
		}
	}
	errs = append(
		errs, oneOf(at.Child("subjectAccessReviewVersion"), w.SubjectAccessReview, ReviewV1, ReviewV1beta1)...,
	)
	version := at.Child("matchConditionSubjectAccessReviewVersion")
	if w.MatchConditionReview != "" {
		errs = append(errs, oneOf(version, w.MatchConditionReview, ReviewV1)...)
	} else if len(w.MatchConditions) > 0 {
		errs = append(errs, field.Required(version, "required if match conditions are specified"))
	}
	errs = append(errs, oneOf(at.Child("failurePolicy"), w.FailurePolicy, FailurePolicyNoOpinion, FailurePolicyDeny)...)
	errs = append(errs, w.ConnectionInfo.validate(at.Child("connectionInfo"))...)
	_, wrong := compileConditions(at, w.Conditions())
	return append(errs, wrong...)
}

// Conditions returns the expressions of the match conditions.
func (w *WebhookConfiguration) Conditions() []string {
	texts := make([]string, len(w.MatchConditions))
	for i := range texts {
		texts[i] = w.MatchConditions[i].Expression
	}
	return texts
}

// oneOf requires value to be one of known.
func oneOf(at *field.Path, value string, known ...string) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(at, "")}
	}
	for _, k := range known {
		if value == k {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(at, value, known)}
}

// validate returns what is wrong with a webhook's connection. A kubeconfig must exist when the
// configuration is loaded.
func (c *WebhookConnectionInfo) validate(at *field.Path) field.ErrorList {
	file := at.Child("kubeConfigFile")
	switch c.Type {
	case "":
		return field.ErrorList{field.Required(at.Child("type"), "")}
	case connectInCluster:
		if c.KubeConfigFile != nil {
			return field.ErrorList{field.Invalid(file, *c.KubeConfigFile, "can only be set when type=KubeConfigFile")}
		}
		return nil
	case ConnectByKubeConfig:
	default:
		return field.ErrorList{
			field.NotSupported(at.Child("type"), *c, []string{connectInCluster, ConnectByKubeConfig}),
		}
	}
	if c.KubeConfigFile == nil || *c.KubeConfigFile == "" {
		return field.ErrorList{field.Required(file, "")}
	}
	path := *c.KubeConfigFile
	if !filepath.IsAbs(path) {
		return field.ErrorList{field.Invalid(file, path, "must be an absolute path")}
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(file, path, fmt.Sprintf("error loading file: %v", err))}
	case !info.Mode().IsRegular():
		return field.ErrorList{field.Invalid(file, path, "must be a regular file")}
	}
	return nil
}
