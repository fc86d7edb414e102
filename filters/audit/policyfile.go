package audit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file reads and checks a policy in the form of audit.k8s.io/v1 Policy. policy.go has the form
// in which it is used.

// policyFile is a file with a policy.
type policyFile struct {
	meta.TypeMeta     `json:",inline"`
	meta.ObjectMeta   `json:"metadata,omitempty"` // is ignored
	Rules             []policyRule                `json:"rules"`
	OmitStages        []string                    `json:"omitStages,omitempty"` // of all rules
	OmitManagedFields bool                        `json:"omitManagedFields,omitempty"`
}

// levelName is the name of a level. Errors show it as JSON, and other names by Go's rules, as those
// of kube-apiserver do.
type levelName string

// policyRule is a rule. Type rule says what its lists match.
type policyRule struct {
	Level           levelName            `json:"level"`
	Users           []string             `json:"users,omitempty"`
	UserGroups      []string             `json:"userGroups,omitempty"`
	Verbs           []string             `json:"verbs,omitempty"`
	Resources       []policyRuleResource `json:"resources,omitempty"`
	Namespaces      []string             `json:"namespaces,omitempty"`
	NonResourceURLs []string             `json:"nonResourceURLs,omitempty"`
	OmitStages      []string             `json:"omitStages,omitempty"`
	// OmitManagedFields is that of the file if it is nil.
	OmitManagedFields *bool `json:"omitManagedFields,omitempty"`
}

// policyRuleResource is an entry of resources. Type groupResources says what it matches.
type policyRuleResource struct {
	Group         string   `json:"group,omitempty"`
	Resources     []string `json:"resources,omitempty"`
	ResourceNames []string `json:"resourceNames,omitempty"`
}

// LoadPolicy reads a policy in YAML or JSON. Its errors name the file and, if a rule is wrong, the
// rule and its field.
func LoadPolicy(path string) (*Policy, error) {
	data, err := configfile.Read(path)
	if err != nil {
		return nil, fmt.Errorf("failed to read file path %q: %w", path, err)
	}
	p, err := ParsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("%w: from file %s", err, path)
	}
	return p, nil
}

// ParsePolicy reads a policy in YAML or JSON. Unknown and repeated fields are errors.
func ParsePolicy(data []byte) (*Policy, error) {
	file, err := decodePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("failed decoding: %w", err)
	}
	if errs := file.validate(); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	if len(file.Rules) == 0 {
		return nil, errors.New("loaded illegal policy with 0 rules")
	}
	return file.policy(), nil
}

// decodePolicy decodes a file. A file that begins with a brace is JSON, even if it is YAML as well.
func decodePolicy(data []byte) (*policyFile, error) {
	var strict []string
	if !bytes.HasPrefix(bytes.TrimLeftFunc(data, unicode.IsSpace), []byte("{")) {
		text, repeated, err := codec.YAMLToJSON(data, true, nil)
		if err != nil {
			return nil, err
		}
		if repeated != "" {
			strict = append(strict, repeated)
		}
		data = text
	}
	if err := checkKind(data); err != nil {
		return nil, err
	}
	file := new(policyFile)
	wrong, err := codec.DecodeStrict(data, file)
	if err != nil {
		return nil, err
	}
	return file, codec.StrictError(append(strict, wrong...))
}

// checkKind checks apiVersion and kind, before strict decoding reports the fields of another kind
// as unknown. As for kube-apiserver, a file without a kind is a Policy.
func checkKind(data []byte) error {
	var head meta.TypeMeta
	if err := codec.DecodeJSON(data, &head); err != nil {
		return err
	}
	switch {
	case head.APIVersion == "":
		//lint:ignore ST1005 these are kube-apiserver's words
		return errors.New("Object 'apiVersion' is missing")
	case head.APIVersion != "audit.k8s.io/v1" || head.Kind != "" && head.Kind != "Policy":
		return fmt.Errorf("no kind %q is registered for version %q", head.Kind, head.APIVersion)
	}
	return nil
}

// validate returns what is wrong with the file.
func (f *policyFile) validate() field.ErrorList {
	errs := validateStages(f.OmitStages, field.NewPath("omitStages"))
	for i := range f.Rules {
		errs = append(errs, f.Rules[i].validate(field.NewPath("rules").Index(i))...)
	}
	return errs
}

// validate returns what is wrong with the rule.
func (r *policyRule) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case r.Level == "":
		errs = append(errs, field.Required(at.Child("level"), ""))
	case !slices.Contains(levelNames[:], string(r.Level)):
		errs = append(errs, field.NotSupported(at.Child("level"), r.Level, levelNames[:]))
	}
	urls := at.Child("nonResourceURLs")
	for i, url := range r.NonResourceURLs {
		errs = append(errs, validateURL(url, urls.Index(i))...)
	}
	for i := range r.Resources {
		// kube-apiserver's errors do not say which of the entries is wrong.
		errs = append(errs, r.Resources[i].validate(at.Child("resources"))...)
	}
	errs = append(errs, validateStages(r.OmitStages, at.Child("omitStages"))...)
	if len(r.NonResourceURLs) > 0 && len(r.Resources)+len(r.Namespaces) > 0 {
		errs = append(errs, field.Invalid(
			urls, r.NonResourceURLs, "rules cannot apply to both regular resources and non-resource URLs",
		))
	}
	return errs
}

// validateURL checks an entry of nonResourceURLs.
func validateURL(url string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if url == "*" {
		return nil
	}
	if !strings.HasPrefix(url, "/") {
		errs = append(errs, field.Invalid(at, url, "non-resource URL rules must begin with a '/' character"))
	}
	if star := strings.IndexByte(url, '*'); star >= 0 && star < len(url)-1 {
		errs = append(errs, field.Invalid(
			at, url, "non-resource URL wildcards '*' must be the final character of the rule",
		))
	}
	return errs
}

// validate returns what is wrong with an entry of resources. at is the path of all entries.
func (g *policyRuleResource) validate(at *field.Path) field.ErrorList {
	var errs field.ErrorList
	if g.Group != "" && g.Group != "*" {
		if wrong := names.IsDNS1123Subdomain(g.Group); len(wrong) > 0 {
			errs = append(errs, field.Invalid(at.Child("group"), g.Group, strings.Join(wrong, ",")))
		}
	}
	if len(g.ResourceNames) > 0 && len(g.Resources) == 0 {
		errs = append(errs, field.Invalid(
			at.Child("resourceNames"), g.ResourceNames, "using resourceNames requires at least one resource",
		))
	}
	return errs
}

// validateStages checks the names of stages.
func validateStages(stages []string, at *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, stage := range stages {
		if !slices.Contains(stageNames[:], stage) {
			errs = append(errs, field.Invalid(
				at.Index(i), stage, "allowed stages are "+strings.Join(stageNames[:], ","),
			))
		}
	}
	return errs
}

// policy returns the policy of a valid file.
func (f *policyFile) policy() *Policy {
	p := &Policy{unmatched: Decision{
		Level: None, OmitManagedFields: f.OmitManagedFields, omitted: stageSetOf(f.OmitStages),
	}}
	for i := range f.Rules {
		r := f.Rules[i].rule(p.unmatched)
		if len(r.paths) == 0 {
			p.resources = addRule(p.resources, r, r.askedResources())
		}
		if len(r.resources)+len(r.namespaces) == 0 {
			p.others = addRule(p.others, r, r.askedPaths())
		}
	}
	return p
}

// rule returns the rule in the form in which it is used. The rule's decision overrides that of the
// file, apart from the stages, of which those of both are omitted.
func (r *policyRule) rule(file Decision) rule {
	out := rule{
		verbs: r.Verbs, users: r.Users, groups: r.UserGroups, namespaces: r.Namespaces,
		decision: Decision{
			Level:             Level(slices.Index(levelNames[:], string(r.Level))),
			OmitManagedFields: file.OmitManagedFields,
			omitted:           file.omitted | stageSetOf(r.OmitStages),
		},
	}
	if r.OmitManagedFields != nil {
		out.decision.OmitManagedFields = *r.OmitManagedFields
	}
	for _, g := range r.Resources {
		out.resources = append(out.resources, groupResources{g.Group, g.Resources, g.ResourceNames})
	}
	for _, url := range r.NonResourceURLs {
		text, prefix := strings.CutSuffix(url, "*")
		out.paths = append(out.paths, path{text, prefix})
	}
	return out
}

// stageSetOf returns the set of the stages with the given names, which are valid.
func stageSetOf(stages []string) stageSet {
	var set stageSet
	for _, stage := range stages {
		set |= 1 << slices.Index(stageNames[:], stage)
	}
	return set
}
