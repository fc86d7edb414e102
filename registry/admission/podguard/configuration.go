package podguard

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podsecurity"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file reads the configuration of the plugin. New calls it.

// configuration is the kind PodSecurityConfiguration. Its three versions have the same fields.
type configuration struct {
	meta.TypeMeta `json:",inline"`
	Defaults      defaults   `json:"defaults"`
	Exemptions    exemptions `json:"exemptions"`

	policy podsecurity.Policy // Defaults, parsed
}

var kinds = []meta.GroupVersionKind{
	{Group: "pod-security.admission.config.k8s.io", Version: "v1", Kind: "PodSecurityConfiguration"},
	{Group: "pod-security.admission.config.k8s.io", Version: "v1beta1", Kind: "PodSecurityConfiguration"},
	{Group: "pod-security.admission.config.k8s.io", Version: "v1alpha1", Kind: "PodSecurityConfiguration"},
}

// defaults are the levels and versions that count if a namespace has no label for them. An empty
// level means privileged, and an empty version means latest.
type defaults struct {
	Enforce        string `json:"enforce,omitempty"`
	EnforceVersion string `json:"enforce-version,omitempty"`
	Audit          string `json:"audit,omitempty"`
	AuditVersion   string `json:"audit-version,omitempty"`
	Warn           string `json:"warn,omitempty"`
	WarnVersion    string `json:"warn-version,omitempty"`
}

// exemptions say which requests the plugin ignores.
type exemptions struct {
	Usernames      []string `json:"usernames,omitempty"`
	Namespaces     []string `json:"namespaces,omitempty"`
	RuntimeClasses []string `json:"runtimeClasses,omitempty"`
}

// namespace reports whether a namespace is exempt.
func (e *exemptions) namespace(name string) bool {
	return name != "" && slices.Contains(e.Namespaces, name)
}

// runtimeClass reports whether pods of a runtime class are exempt. class may be nil.
func (e *exemptions) runtimeClass(class *string) bool {
	return class != nil && *class != "" && slices.Contains(e.RuntimeClasses, *class)
}

// readConfiguration decodes and checks a configuration. Without data, all levels are privileged.
func readConfiguration(data []byte) (*configuration, error) {
	c := &configuration{}
	if len(data) > 0 {
		if err := admission.DecodeStrict(data, c, kinds...); err != nil {
			return nil, err
		}
	}
	return c, c.complete().ToAggregate()
}

// complete sets c.policy. It returns all mistakes in the configuration.
func (c *configuration) complete() (errs field.ErrorList) {
	d, p := &c.Defaults, &c.policy
	path := field.NewPath("defaults")
	errs = append(errs, level(path.Child("enforce"), d.Enforce, &p.Enforce.Level)...)
	errs = append(errs, version(path.Child("enforce-version"), d.EnforceVersion, &p.Enforce.Version)...)
	errs = append(errs, level(path.Child("warn"), d.Warn, &p.Warn.Level)...)
	errs = append(errs, version(path.Child("warn-version"), d.WarnVersion, &p.Warn.Version)...)
	errs = append(errs, level(path.Child("audit"), d.Audit, &p.Audit.Level)...)
	errs = append(errs, version(path.Child("audit-version"), d.AuditVersion, &p.Audit.Version)...)

	path = field.NewPath("exemptions")
	errs = append(errs, unique(path.Child("namespaces"), c.Exemptions.Namespaces,
		func(name string) []string { return names.DNSLabelName(name, false) })...)
	errs = append(errs, unique(path.Child("runtimeClasses"), c.Exemptions.RuntimeClasses,
		func(name string) []string { return names.DNSSubdomainName(name, false) })...)
	errs = append(errs, unique(path.Child("usernames"), c.Exemptions.Usernames, func(name string) []string {
		if name == "" {
			return []string{"username must not be empty"}
		}
		return nil
	})...)
	return errs
}

func level(p *field.Path, text string, to *podsecurity.Level) (errs field.ErrorList) {
	if *to = podsecurity.Privileged; text == "" {
		return nil
	}
	var err error
	if *to, err = podsecurity.ParseLevel(text); err != nil {
		errs = append(errs, field.Invalid(p, text, err.Error()))
	}
	return errs
}

func version(p *field.Path, text string, to *podsecurity.Version) (errs field.ErrorList) {
	if *to = podsecurity.Latest; text == "" {
		return nil
	}
	var err error
	if *to, err = podsecurity.ParseVersion(text); err != nil {
		errs = append(errs, field.Invalid(p, text, err.Error()))
	}
	return errs
}

// unique checks each element of a list by a rule, and that none is repeated.
func unique(p *field.Path, list []string, rule func(string) []string) (errs field.ErrorList) {
	seen := map[string]bool{}
	for i, text := range field.Each(&errs, list) {
		if msgs := rule(*text); len(msgs) > 0 {
			errs = append(errs, field.Invalid(p.Index(i), *text, strings.Join(msgs, ", ")))
			continue
		}
		if seen[*text] {
			errs = append(errs, field.Duplicate(p.Index(i), *text))
		}
		seen[*text] = true
	}
	return errs
}
