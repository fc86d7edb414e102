package admission

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
)

// This file has the plugin PodTolerationRestriction and its configuration. The chain calls Mutate
// and Validate, which act on creates and updates of pods. tolerations.go merges and compares
// tolerations.

// PodTolerationRestriction is the plugin of that name. It adds the default tolerations of the
// namespace to new pods, and a toleration for memory pressure to pods that are not BestEffort. Then
// it refuses a pod that tolerates more than the whitelist of the namespace. Both lists are
// annotations of the namespace; a namespace without an annotation has the list of the
// configuration.
type PodTolerationRestriction struct {
	annotations NamespaceAnnotations
	config      tolerationRules
}

// The annotations of a namespace, each a list of tolerations as JSON.
const (
	defaultTolerationsAnnotation = "scheduler.alpha.kubernetes.io/defaultTolerations"
	whitelistAnnotation          = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
)

// maxTolerations is the largest number of tolerations of a pod and its namespace together. The time
// to merge them grows with its square. kube-apiserver has no such bound.
const maxTolerations = 4096

// tolerationRules is the configuration of PodTolerationRestriction.
type tolerationRules struct {
	meta.TypeMeta `json:",inline"`
	Default       []corev1.Toleration `json:"default,omitempty"`
	Whitelist     []corev1.Toleration `json:"whitelist,omitempty"`
}

var tolerationRulesKind = meta.GroupVersionKind{
	Group: "podtolerationrestriction.admission.k8s.io", Version: "v1alpha1", Kind: "Configuration",
}

// CheckTolerations returns the mistakes in tolerations at p. podspec.Tolerations is such a
// function.
type CheckTolerations func(p *field.Path, list []corev1.Toleration) field.ErrorList

// NewPodTolerationRestriction returns the plugin. configuration, as YAML or JSON, may be nil.
func NewPodTolerationRestriction(
	configuration []byte, annotations NamespaceAnnotations, check CheckTolerations,
) (*PodTolerationRestriction, error) {
	p := &PodTolerationRestriction{annotations: annotations}
	if configuration == nil {
		return p, nil
	}
	if err := DecodeLenient(configuration, &p.config, tolerationRulesKind); err != nil {
		return nil, err
	}
	at := field.NewPath("podtolerationrestriction")
	errs := slices.Concat(
		check(at.Child("default"), p.config.Default), check(at.Child("whitelist"), p.config.Whitelist))
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("invalid config: %w", err)
	}
	return p, nil
}

// Name is the plugin's name.
func (*PodTolerationRestriction) Name() string { return "PodTolerationRestriction" }

// Handles is true for creates and updates.
func (*PodTolerationRestriction) Handles(op Operation) bool { return op == Create || op == Update }

// Mutate adds tolerations, and checks the result.
func (p *PodTolerationRestriction) Mutate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	var more []corev1.Toleration
	if a.Operation == Create {
		list, has, err := p.listOf(ctx, a.Namespace, defaultTolerationsAnnotation)
		if err != nil {
			return err
		}
		if !has {
			list = p.config.Default
		}
		more = slices.Clone(list)
	}
	if !pod.IsBestEffort() {
		more = append(more, corev1.Toleration{
			Key: "node.kubernetes.io/memory-pressure", Operator: corev1.TolerationOpExists,
			Effect: corev1.TaintEffectNoSchedule,
		})
	}
	if len(pod.Spec.Tolerations)+len(more) > maxTolerations {
		return a.Forbidden("the pod and its namespace have more than %d tolerations", maxTolerations)
	}
	if len(more) > 0 {
		pod.Spec.Tolerations = mergeTolerations(pod.Spec.Tolerations, more)
	}
	return p.Validate(ctx, a)
}

// Validate refuses a pod with a toleration that no entry of the whitelist covers. An empty
// whitelist allows everything.
func (p *PodTolerationRestriction) Validate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil || len(pod.Spec.Tolerations) == 0 {
		return nil
	}
	list, has, err := p.listOf(ctx, a.Namespace, whitelistAnnotation)
	if err != nil {
		return err
	}
	scope := "namespace"
	if !has {
		list, scope = p.config.Whitelist, "cluster"
	}
	if len(list) == 0 {
		return nil
	}
	for i := range pod.Spec.Tolerations {
		if !coveredBy(&pod.Spec.Tolerations[i], list) {
			return meta.NewUnexplained("pod tolerations (possibly merged with namespace default tolerations) " +
				"conflict with its " + scope + " whitelist") // without a reason, as in kube-apiserver
		}
	}
	return nil
}

// listOf returns the tolerations in an annotation of a namespace. has is false if the namespace
// does not have the annotation.
func (p *PodTolerationRestriction) listOf(
	ctx context.Context, namespace, annotation string,
) (list []corev1.Toleration, has bool, err error) {
	annotations, err := p.annotations(ctx, namespace)
	if err != nil {
		if !meta.IsNotFound(err) {
			err = meta.NewInternalError(err)
		}
		return nil, false, err
	}
	text, has := annotations[annotation]
	if text == "" {
		return nil, has, nil
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		// The error names Go types. Kubernetes' error has v1 as the name of their package.
		return nil, false, meta.NewUnexplained(strings.ReplaceAll(err.Error(), "corev1.", "v1."))
	}
	return list, true, nil
}
