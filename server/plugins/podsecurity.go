package plugins

import (
	"context"
	"errors"
	"iter"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podguard"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file makes the plugin PodSecurity, and has its metrics and its reader of pods.

// newPodSecurity is row.make of PodSecurity.
func newPodSecurity(n *needs) (admission.Plugin, error) {
	counts, err := newPodSecurityCounts(n.Metrics)
	if err != nil {
		return nil, err
	}
	return podguard.New(n.configuration, n.namespaces, reader{n.Stores}.pods, counts)
}

// pods implements podguard.Pods, with consistent reads.
func (s reader) pods(ctx context.Context, namespace string) (int, iter.Seq2[*corev1.Pod, error], error) {
	store := s.stores.Store(pods)
	if store == nil {
		return 0, func(func(*corev1.Pod, error) bool) {}, nil
	}
	view, err := registry.ViewOf[*corev1.Pod](store)
	if err != nil {
		return 0, nil, err
	}
	number, _, err := view.Names(ctx, namespace)
	return number, view.All(ctx, namespace), err
}

// podSecurityCounts implements podguard.Counts with Kubernetes' metrics.
type podSecurityCounts struct {
	evaluations, exemptions, errors *prometheus.CounterVec
	// common are the series of the evaluations that nearly all pods have. They exist from the
	// start, as in kube-apiserver.
	common map[podguard.Evaluation]prometheus.Counter
}

func newPodSecurityCounts(reg prometheus.Registerer) (*podSecurityCounts, error) {
	counter := func(of, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(
			prometheus.CounterOpts{Name: "pod_security_" + of + "_total", Help: help}, labels)
	}
	c := &podSecurityCounts{
		evaluations: counter("evaluations", "Number of pods and pod templates that were checked against a level of pod security, by decision, level, version and mode.",
			"decision", "policy_level", "policy_version", "mode", "request_operation", "resource", "subresource"),
		exemptions: counter("exemptions", "Number of requests that are exempt from pod security.",
			"request_operation", "resource", "subresource"),
		errors: counter("errors", "Number of errors that prevented a check of pod security (fatal), or made it use the latest restricted level.",
			"fatal", "request_operation", "resource", "subresource"),
		common: map[podguard.Evaluation]prometheus.Counter{},
	}
	for _, operation := range []string{"create", "update"} {
		of := podguard.Request{Operation: operation, Resource: "pod"}
		e := podguard.Evaluation{
			Request: of, Decision: "allow", Level: "privileged", Version: "latest", Mode: "enforce",
		}
		c.common[e] = c.evaluation(e)
		c.exemption(of)
		of.Resource = "controller"
		c.exemption(of)
	}
	return c, errors.Join(reg.Register(c.evaluations), reg.Register(c.exemptions), reg.Register(c.errors))
}

func (c *podSecurityCounts) evaluation(e podguard.Evaluation) prometheus.Counter {
	return c.evaluations.WithLabelValues(e.Decision, e.Level, e.Version, e.Mode, e.Operation, e.Resource, e.Subresource)
}

func (c *podSecurityCounts) exemption(r podguard.Request) prometheus.Counter {
	return c.exemptions.WithLabelValues(r.Operation, r.Resource, r.Subresource)
}

// Evaluated implements podguard.Counts.
func (c *podSecurityCounts) Evaluated(e podguard.Evaluation) {
	counter, ok := c.common[e]
	if !ok {
		counter = c.evaluation(e)
	}
	counter.Inc()
}

// Exempted implements podguard.Counts.
func (c *podSecurityCounts) Exempted(r podguard.Request) { c.exemption(r).Inc() }

// Failed implements podguard.Counts.
func (c *podSecurityCounts) Failed(fatal bool, r podguard.Request) {
	c.errors.WithLabelValues(strconv.FormatBool(fatal), r.Operation, r.Resource, r.Subresource).Inc()
}
