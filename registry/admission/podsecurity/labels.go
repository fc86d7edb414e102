package podsecurity

import (
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file reads a policy from the labels of a namespace.

// Prefix begins the labels of namespaces and the audit annotations of Pod Security.
const Prefix = "pod-security.kubernetes.io/"

// The labels of a namespace that set its policy, a level and a version for each mode.
const (
	EnforceLabel        = Prefix + "enforce"
	EnforceVersionLabel = Prefix + "enforce-version"
	AuditLabel          = Prefix + "audit"
	AuditVersionLabel   = Prefix + "audit-version"
	WarnLabel           = Prefix + "warn"
	WarnVersionLabel    = Prefix + "warn-version"
)

// PolicyOf returns the policy that the labels of a namespace set. A level or version without a
// label comes from defaults. The policy can be used even if labels are wrong: a wrong level of
// enforce counts as Restricted, wrong levels of audit and warn count as Privileged, a wrong version
// counts as Latest.
//
// If the labels set no level of warn, and a level of enforce that is stricter than the default
// level of warn, then warn gets the level of enforce. So clients are warned about workloads whose
// pods will be refused.
func PolicyOf(labels meta.Lookup, defaults Policy) (Policy, field.ErrorList) {
	p, read := defaults, reader{labels: labels}
	_, enforceValid := read.level(EnforceLabel, &p.Enforce.Level, Restricted)
	read.version(EnforceVersionLabel, &p.Enforce.Version)
	read.level(AuditLabel, &p.Audit.Level, Privileged)
	read.version(AuditVersionLabel, &p.Audit.Version)
	warnSet, _ := read.level(WarnLabel, &p.Warn.Level, Privileged)
	warnVersionSet := read.version(WarnVersionLabel, &p.Warn.Version)

	if !warnSet && enforceValid && p.Enforce.Level.StricterThan(p.Warn.Level) {
		p.Warn.Level = p.Enforce.Level
		if !warnVersionSet {
			p.Warn.Version = p.Enforce.Version
		}
	}
	return p, read.errs
}

// reader reads labels and collects their errors.
type reader struct {
	labels meta.Lookup
	errs   field.ErrorList
}

// level reads a level into to. If the value of the label is not a level, to gets instead. set says
// that the label exists, valid that its value is a level.
func (r *reader) level(label string, to *Level, instead Level) (set, valid bool) {
	text, ok := r.labels.Get(label)
	if !ok {
		return false, false
	}
	level, err := ParseLevel(text)
	if err != nil {
		*to = instead
		r.wrong(label, text, err)
		return true, false
	}
	*to = level
	return true, true
}

// version reads a version into to. It reports whether the label is there.
func (r *reader) version(label string, to *Version) (set bool) {
	text, ok := r.labels.Get(label)
	if !ok {
		return false
	}
	var err error
	if *to, err = ParseVersion(text); err != nil {
		r.wrong(label, text, err)
	}
	return true
}

func (r *reader) wrong(label, value string, err error) {
	r.errs = append(r.errs, field.Invalid(field.NewPath("metadata", "labels").Key(label), value, err.Error()))
}
