package core

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/registry/podspec"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares nodes: preparation, checks of the whole object, and the table. nodecheck.go
// checks pod ranges, declared features and the removed kubelet configuration. Resources calls
// nodes.

// nodes declares nodes. A kubelet may send the status of its node with the create (OnCreate).
func nodes() registry.Resource {
	return registry.Typed(registry.ResourceOf[*corev1.Node]{
		GroupResource: meta.GroupResource{Resource: "nodes"},
		Kind:          "Node", ShortNames: []string{"no"},
		Strategy: registry.StrategyOf[*corev1.Node]{
			Metadata:                 registry.MetaWhole,
			Prepare:                  prepareNode,
			Validate:                 checkNode,
			Warnings:                 nodeWarnings,
			AllowUnconditionalUpdate: true,
		},
		Status: &registry.StatusOf[*corev1.Node]{OnCreate: true, Prepare: prepareNode, Validate: checkNodeUpdate},
		Fields: []registry.FieldValue{{Label: "spec.unschedulable", Path: "spec.unschedulable", Default: "false"}},
		Table: &registry.TableOf[*corev1.Node]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Status", "Whether the node is ready, and takes new pods.", 0),
				registry.Column("Roles", "Roles that the node's labels name.", 0),
				registry.AgeColumn,
				registry.Column("Version", "Version of the kubelet.", 0),
				registry.Column("Internal-IP", "First internal address of the node.", 1),
				registry.Column("External-IP", "First external address of the node.", 1),
				registry.Column("OS-Image", "Operating system image of the node.", 1),
				registry.Column("Kernel-Version", "Kernel version and architecture of the node.", 1),
				registry.Column("Container-Runtime", "Container runtime and its version.", 1),
			},
			Cells: nodeCells,
		},
	})
}

// prepareNode drops the fields of dynamic kubelet configuration (KEP-281), which was removed,
// unless the old node has them.
func prepareNode(_ *registry.Request, n, old *corev1.Node) {
	if old == nil || old.Spec.ConfigSource == nil {
		n.Spec.ConfigSource = nil
	}
	if old == nil || old.Status.Config == nil {
		n.Status.Config = nil
	}
}

// checkNode checks a node, and its change if old is not nil. The paths metadata.taints and
// metadata.nodeSwapStatus are Kubernetes' own, although the fields are in spec and status. An
// update repeats some checks, as in kube-apiserver.
func checkNode(n, old *corev1.Node) field.ErrorList {
	errs := checkTaints(field.NewPath("metadata", "taints"), n.Spec.Taints)
	errs = append(errs, checkNodeResources(n)...)
	if swap := n.Status.NodeInfo.Swap; swap != nil && swap.Capacity != nil {
		errs = append(errs, check.Positive(field.NewPath("metadata", "nodeSwapStatus", "capacity"), *swap.Capacity)...)
	}
	errs = append(errs, checkDeclaredFeatures(field.NewPath("status", "declaredFeatures"),
		n.Status.DeclaredFeatures)...)
	errs = append(errs, checkPodCIDRs(field.NewPath("spec", "podCIDRs"), n.Spec.PodCIDRs)...)
	if old != nil {
		errs = append(errs, checkNodeUpdate(n, old)...)
	}
	return errs
}

func checkNodeResources(n *corev1.Node) field.ErrorList {
	var errs field.ErrorList
	amounts := func(p *field.Path, list corev1.ResourceList) {
		for name, amount := range field.Entries(&errs, list) {
			errs = append(errs, podspec.ResourceAmount(p.Child(string(name)), name, amount)...)
		}
	}
	amounts(field.NewPath("status", "capacity"), n.Status.Capacity)
	amounts(field.NewPath("status", "allocatable"), n.Status.Allocatable)
	return errs
}

// checkTaints checks taints, which are unique by key and effect.
func checkTaints(p *field.Path, taints []corev1.Taint) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, t := range field.Each(&errs, taints) {
		p := p.Index(i)
		errs = append(errs, check.QualifiedName(p.Child("key"), t.Key)...)
		if msgs := names.IsValidLabelValue(t.Value); len(msgs) > 0 {
			errs = append(errs, field.Invalid(p.Child("value"), t.Value, strings.Join(msgs, ";")))
		}
		errs = append(errs, check.OneOf(p.Child("effect"), t.Effect, podspec.TaintEffects...)...)
		if !seen.Add(string(t.Effect) + "/" + t.Key) {
			err := field.Duplicate(p, govalue.JSON(t))
			err.Detail = "taints must be unique by key and effect pair"
			errs = append(errs, err)
		}
	}
	return errs
}

// checkNodeUpdate checks a change of a node or of its status. podCIDRs and providerID can be set
// once and then never change, because networks and cloud resources are set up for these values.
func checkNodeUpdate(n, old *corev1.Node) field.ErrorList {
	errs := checkNodeResources(n)
	errs = append(errs, checkDeclaredFeatures(field.NewPath("status", "declaredFeatures"),
		n.Status.DeclaredFeatures)...)
	seen := make(map[corev1.NodeAddress]bool)
	for i, address := range field.Each(&errs, n.Status.Addresses) {
		if seen[*address] {
			errs = append(errs, field.Duplicate(field.NewPath("status", "addresses").Index(i), govalue.JSON(address)))
		}
		seen[*address] = true
	}
	spec := field.NewPath("spec")
	if len(old.Spec.PodCIDRs) > 0 && !slices.Equal(n.Spec.PodCIDRs, old.Spec.PodCIDRs) {
		errs = append(errs, field.Forbidden(spec.Child("podCIDRs"),
			"node updates may not change podCIDR except from \"\" to valid"))
	}
	if was := old.Spec.ProviderID; was != "" && n.Spec.ProviderID != was {
		errs = append(errs, field.Forbidden(spec.Child("providerID"),
			"node updates may not change providerID except from \"\" to valid"))
	}
	errs = append(errs, checkNodeConfig(n)...)
	errs = append(errs, checkTaints(field.NewPath("metadata", "taints"), n.Spec.Taints)...)
	if n.Spec.DoNotUseExternalID != old.Spec.DoNotUseExternalID {
		errs = append(errs, field.Forbidden(spec.Child("externalID"), "may not be updated"))
	}
	return errs
}

// nodeWarnings tells of removed and deprecated fields, and of pod ranges that are not canonical.
func nodeWarnings(n, _ *corev1.Node) []string {
	var warnings []string
	if n.Spec.ConfigSource != nil {
		warnings = append(warnings, "spec.configSource: the feature is removed")
	}
	if n.Spec.DoNotUseExternalID != "" {
		warnings = append(warnings, "spec.externalID: this field is deprecated, and is unused by Kubernetes")
	}
	return append(warnings, check.AddressWarnings(field.NewPath("spec", "podCIDRs"), n.Spec.PodCIDRs,
		check.CIDRWarnings)...)
}

func nodeCells(n *corev1.Node, now time.Time) []any {
	info := &n.Status.NodeInfo
	kernel := cmp.Or(info.KernelVersion, registry.Unknown)
	if info.Architecture != "" {
		kernel += " (" + info.Architecture + ")"
	}
	return []any{
		n.Name, nodeStatus(n), cmp.Or(strings.Join(nodeRoles(n), ","), registry.None),
		registry.Age(&n.ObjectMeta, now), info.KubeletVersion,
		nodeAddress(n, corev1.NodeInternalIP), nodeAddress(n, corev1.NodeExternalIP),
		cmp.Or(info.OSImage, registry.Unknown), kernel, cmp.Or(info.ContainerRuntimeVersion, registry.Unknown),
	}
}

// nodeStatus returns a word such as "Ready,SchedulingDisabled". Without the condition Ready it is
// "Unknown".
func nodeStatus(n *corev1.Node) string {
	status := "Unknown"
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			status = "NotReady"
			if c.Status == corev1.ConditionTrue {
				status = "Ready"
			}
		}
	}
	if n.Spec.Unschedulable {
		status += ",SchedulingDisabled"
	}
	return status
}

// nodeRoles returns the roles that the labels node-role.kubernetes.io/<role> and
// kubernetes.io/role=<role> name, sorted, each once.
func nodeRoles(n *corev1.Node) []string {
	var roles []string
	for key, value := range n.Labels {
		role, ok := strings.CutPrefix(key, "node-role.kubernetes.io/")
		if key == "kubernetes.io/role" {
			role, ok = value, true
		}
		if ok && role != "" {
			roles = append(roles, role)
		}
	}
	slices.Sort(roles)
	return slices.Compact(roles)
}

// nodeAddress returns the first address of a type, or "<none>".
func nodeAddress(n *corev1.Node, t corev1.NodeAddressType) string {
	for _, a := range n.Status.Addresses {
		if a.Type == t {
			return a.Address
		}
	}
	return registry.None
}
