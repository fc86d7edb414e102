package admission

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file has the plugin PodNodeSelector and its configuration. The chain calls Mutate and
// Validate, which act on new pods.

// PodNodeSelector is the plugin of that name. An annotation of a namespace holds a node selector,
// which the plugin adds to new pods. It refuses a pod that selects other values of the same labels.
// If the configuration has a whitelist for the namespace, a pod may select only labels of the
// whitelist.
type PodNodeSelector struct {
	annotations NamespaceAnnotations
	byDefault   map[string]string            // the selector of namespaces without the annotation
	whitelists  map[string]map[string]string // by namespace
}

// NamespaceAnnotations returns the annotations of a namespace that begin with
// scheduler.alpha.kubernetes.io/, and maybe others. They must not be changed. A namespace that was
// just created is found. The error is a *meta.StatusError.
type NamespaceAnnotations func(ctx context.Context, namespace string) (map[string]string, error)

// nodeSelectorAnnotation is the annotation of a namespace that holds its node selector.
const nodeSelectorAnnotation = "scheduler.alpha.kubernetes.io/node-selector"

// defaultNodeSelector is the key in the configuration of the selector for namespaces without the
// annotation. All other keys are namespaces.
const defaultNodeSelector = "clusterDefaultNodeSelector"

// NewPodNodeSelector returns the plugin. configuration, as YAML or JSON, may be nil. Unknown fields
// are ignored, and names of fields may be in upper or lower case, as in kube-apiserver. A selector
// that cannot be parsed is an error here; kube-apiserver would refuse the pods instead.
func NewPodNodeSelector(configuration []byte, annotations NamespaceAnnotations) (*PodNodeSelector, error) {
	p := &PodNodeSelector{annotations: annotations, whitelists: map[string]map[string]string{}}
	if configuration == nil {
		return p, nil
	}
	text, _, err := codec.YAMLToJSON(configuration, false, nil)
	if err != nil {
		return nil, err
	}
	const at = "podNodeSelectorPluginConfig"
	var c struct {
		Selectors map[string]json.RawMessage `json:"podNodeSelectorPluginConfig"`
	}
	if err := json.Unmarshal(text, &c); err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	for key, raw := range c.Selectors {
		selector, err := scalarText(raw)
		var labels map[string]string
		if err == nil {
			labels, err = selectedLabels(selector)
		}
		if err != nil {
			return nil, fmt.Errorf("%s[%s]: %w", at, key, err)
		}
		if key == defaultNodeSelector {
			p.byDefault = labels
		}
		p.whitelists[key] = labels
	}
	return p, nil
}

// scalarText returns a string that YAML may also spell as a number or boolean. A null is "".
func scalarText(text json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return "", err
	}
	switch value := value.(type) {
	case nil:
		return "", nil
	case string:
		return value, nil
	case bool:
		return strconv.FormatBool(value), nil
	case float64:
		if bytes.ContainsAny(text, ".eE") { // sigs.k8s.io/yaml spells fractions with 32 bits
			return strconv.FormatFloat(value, 'g', -1, 32), nil
		}
		return string(text), nil
	}
	return "", errors.New("it is not a string")
}

// Name is the plugin's name.
func (*PodNodeSelector) Name() string { return "PodNodeSelector" }

// Handles is true for creates.
func (*PodNodeSelector) Handles(op Operation) bool { return op == Create }

// Mutate adds the selector of the namespace to the selector of the pod.
func (p *PodNodeSelector) Mutate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	wanted, err := p.agreed(ctx, a, pod)
	if err != nil {
		return err
	}
	if pod.Spec.NodeSelector == nil && len(wanted) > 0 {
		pod.Spec.NodeSelector = make(map[string]string, len(wanted))
	}
	maps.Copy(pod.Spec.NodeSelector, wanted)
	return p.checkWhitelist(a, pod)
}

// Validate refuses a pod that another mutator has changed so that it conflicts with its namespace.
func (p *PodNodeSelector) Validate(ctx context.Context, a *Attributes) error {
	pod := podOf(a)
	if pod == nil {
		return nil
	}
	if _, err := p.agreed(ctx, a, pod); err != nil {
		return err
	}
	return p.checkWhitelist(a, pod)
}

// wanted returns the node selector of a namespace.
func (p *PodNodeSelector) wanted(ctx context.Context, namespace string) (map[string]string, error) {
	annotations, err := p.annotations(ctx, namespace)
	if meta.IsNotFound(err) {
		return nil, meta.NewInternalError(fmt.Errorf("namespace %s does not exist", namespace))
	}
	if err != nil {
		return nil, meta.NewInternalError(err)
	}
	selector, ok := annotations[nodeSelectorAnnotation]
	if !ok {
		return p.byDefault, nil
	}
	labels, err := selectedLabels(selector)
	if err != nil {
		return nil, meta.NewUnexplained(err.Error()) // without a reason, as in kube-apiserver
	}
	return labels, nil
}

// agreed returns the node selector of the namespace of a pod. It refuses a pod that selects another
// value of a label than its namespace.
func (p *PodNodeSelector) agreed(ctx context.Context, a *Attributes, pod *corev1.Pod) (map[string]string, error) {
	wanted, err := p.wanted(ctx, a.Namespace)
	if err != nil {
		return nil, err
	}
	for key, value := range wanted {
		if have, ok := pod.Spec.NodeSelector[key]; ok && have != value {
			return nil, meta.NewForbidden(a.Resource.GroupResource(), pod.Name,
				errors.New("pod node label selector conflicts with its namespace node label selector"))
		}
	}
	return wanted, nil
}

// checkWhitelist refuses a pod that selects a label that its namespace's whitelist does not have.
// An empty whitelist allows everything.
func (p *PodNodeSelector) checkWhitelist(a *Attributes, pod *corev1.Pod) error {
	list := p.whitelists[a.Namespace]
	if len(list) == 0 {
		return nil
	}
	for key, value := range pod.Spec.NodeSelector {
		if allowed, ok := list[key]; !ok || allowed != value {
			return meta.NewForbidden(a.Resource.GroupResource(), pod.Name,
				errors.New("pod node label selector labels conflict with its namespace whitelist"))
		}
	}
	return nil
}

// selectedLabels parses a selector that consists of equalities: a=b,c=d.
func selectedLabels(selector string) (map[string]string, error) {
	if selector == "" {
		return nil, nil
	}
	labels := map[string]string{}
	for term := range strings.SplitSeq(selector, ",") {
		parts := strings.Split(term, "=")
		if len(parts) != 2 {
			return nil, fmt.Errorf("invalid selector: %s", parts)
		}
		key, value := strings.TrimSpace(parts[0]), strings.TrimSpace(parts[1])
		var root *field.Path
		if msgs := names.IsQualifiedName(key); len(msgs) > 0 {
			return nil, field.Invalid(root, key, strings.Join(msgs, "; "))
		}
		if msgs := names.IsValidLabelValue(value); len(msgs) > 0 {
			return nil, field.Invalid(root.Key(key), value, strings.Join(msgs, "; "))
		}
		labels[key] = value
	}
	return labels, nil
}
