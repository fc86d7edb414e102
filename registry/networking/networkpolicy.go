package networking

import (
	"iter"
	"time"

	"github.com/coracle-project/coracle/registry"
	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/networkingv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file declares network policies and checks them. A policy selects pods and lists the peers
// with which they may exchange packets, for incoming (ingress) and outgoing (egress) connections.

// networkPolicies declares the resource networkpolicies. It has no status.
func networkPolicies() registry.Resource {
	return registry.Typed(registry.ResourceOf[*networkingv1.NetworkPolicy]{
		GroupResource: resource("networkpolicies"),
		Kind:          "NetworkPolicy", ShortNames: []string{"netpol"},
		Namespaced: true,
		Strategy: registry.StrategyOf[*networkingv1.NetworkPolicy]{
			Metadata:                 registry.MetaChange,
			Validate:                 checkNetworkPolicy,
			Warnings:                 networkPolicyWarnings,
			AllowUnconditionalUpdate: true,
		},
		Generation: []string{"spec"},
		Table: &registry.TableOf[*networkingv1.NetworkPolicy]{
			Columns: []meta.TableColumnDefinition{
				registry.NameColumn,
				registry.Column("Pod-Selector", "Labels of the pods to which the policy applies.", 0),
				registry.AgeColumn,
			},
			Cells: func(np *networkingv1.NetworkPolicy, now time.Time) []any {
				return []any{np.Name, registry.Selector(&np.Spec.PodSelector), registry.Age(&np.ObjectMeta, now)}
			},
		},
	})
}

// peers yields all peers in the rules of a policy, with their paths: first ingress, then egress.
func peers(spec *networkingv1.NetworkPolicySpec) iter.Seq2[*field.Path, *networkingv1.NetworkPolicyPeer] {
	return func(yield func(*field.Path, *networkingv1.NetworkPolicyPeer) bool) {
		ingress, egress := field.NewPath("spec", "ingress"), field.NewPath("spec", "egress")
		for i, rule := range spec.Ingress {
			for j := range rule.From {
				if !yield(ingress.Index(i).Child("from").Index(j), &rule.From[j]) {
					return
				}
			}
		}
		for i, rule := range spec.Egress {
			for j := range rule.To {
				if !yield(egress.Index(i).Child("to").Index(j), &rule.To[j]) {
					return
				}
			}
		}
	}
}

// networkPolicyWarnings warns of CIDRs that are not in canonical form, up to
// check.MaxAddressWarnings.
func networkPolicyWarnings(np, _ *networkingv1.NetworkPolicy) []string {
	var warnings []string
	for p, peer := range peers(&np.Spec) {
		if len(warnings) >= check.MaxAddressWarnings {
			break
		}
		if block := peer.IPBlock; block != nil {
			p := p.Child("ipBlock")
			warnings = append(warnings, check.CIDRWarnings(p.Child("cidr"), block.CIDR)...)
			warnings = append(warnings, check.AddressWarnings(p.Child("except"), block.Except, check.CIDRWarnings)...)
		}
	}
	return warnings
}

// policyCheck is the check of one policy. oldCIDRs has the CIDRs of the old policy. They may stay,
// and may move within the policy, even if they are invalid by the rules for new ones (KEP-4858).
type policyCheck struct{ oldCIDRs map[string]bool }

// checkNetworkPolicy returns what is wrong with a new policy, or with an update of old.
func checkNetworkPolicy(np, old *networkingv1.NetworkPolicy) field.ErrorList {
	c := &policyCheck{oldCIDRs: make(map[string]bool)}
	if old != nil {
		for _, peer := range peers(&old.Spec) {
			if block := peer.IPBlock; block != nil {
				c.oldCIDRs[block.CIDR] = true
				for _, text := range block.Except {
					c.oldCIDRs[text] = true
				}
			}
		}
	}
	return c.spec(field.NewPath("spec"), &np.Spec)
}

// spec returns what is wrong with a spec at p. An empty podSelector is valid and selects all pods
// of the namespace. Repeated policyTypes are legal, as long as there are at most two.
func (c *policyCheck) spec(p *field.Path, spec *networkingv1.NetworkPolicySpec) field.ErrorList {
	errs := meta.ValidateLabelSelector(&spec.PodSelector, p.Child("podSelector"))
	for i, rule := range field.Each(&errs, spec.Ingress) {
		p := p.Child("ingress").Index(i)
		errs = append(errs, checkPolicyPorts(p.Child("ports"), rule.Ports)...)
		errs = append(errs, c.peers(p.Child("from"), rule.From)...)
	}
	for i, rule := range field.Each(&errs, spec.Egress) {
		p := p.Child("egress").Index(i)
		errs = append(errs, checkPolicyPorts(p.Child("ports"), rule.Ports)...)
		errs = append(errs, c.peers(p.Child("to"), rule.To)...)
	}
	types := p.Child("policyTypes")
	if len(spec.PolicyTypes) > 2 {
		return append(errs, field.Invalid(types, spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, t := range field.Each(&errs, spec.PolicyTypes) {
		errs = append(errs, check.Supported(types.Index(i), *t, networkingv1.PolicyTypeIngress,
			networkingv1.PolicyTypeEgress)...)
	}
	return errs
}

// checkPolicyPorts checks the ports of a rule.
func checkPolicyPorts(p *field.Path, ports []networkingv1.NetworkPolicyPort) field.ErrorList {
	var errs field.ErrorList
	for i, port := range field.Each(&errs, ports) {
		errs = append(errs, checkPolicyPort(p.Index(i), port)...)
	}
	return errs
}

// checkPolicyPort checks a port, which is a number, the name of a container's port, or missing for
// all ports. A number can begin a range that ends with endPort (KEP-2079). The error about an
// endPort that is too small shows the value of port, as in kube-apiserver.
func checkPolicyPort(p *field.Path, port *networkingv1.NetworkPolicyPort) field.ErrorList {
	errs := check.OptionalOneOf(p.Child("protocol"), port.Protocol, corev1.ProtocolTCP, corev1.ProtocolUDP,
		corev1.ProtocolSCTP)
	end := p.Child("endPort")
	switch {
	case port.Port == nil:
		if port.EndPort != nil {
			errs = append(errs, field.Invalid(end, *port.EndPort, "may not be specified when `port` is not specified"))
		}
		return errs
	case port.Port.Type == meta.StringType:
		if port.EndPort != nil {
			errs = append(errs, field.Invalid(end, *port.EndPort, "may not be specified when `port` is non-numeric"))
		}
		return append(errs, check.PortReference(p.Child("port"), *port.Port)...)
	}
	errs = append(errs, check.PortReference(p.Child("port"), *port.Port)...)
	if port.EndPort == nil {
		return errs
	}
	if first := port.Port.IntVal; *port.EndPort < first {
		errs = append(errs, field.Invalid(end, first, "must be greater than or equal to `port`"))
	}
	return append(errs, check.PortNumber(end, *port.EndPort)...)
}

// peers returns what is wrong with a list of peers at p.
func (c *policyCheck) peers(p *field.Path, peers []networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	for i, peer := range field.Each(&errs, peers) {
		errs = append(errs, c.peer(p.Index(i), peer)...)
	}
	return errs
}

// peer returns what is wrong with a peer at p: it is either a CIDR, or it selects pods by their
// labels, by the labels of their namespaces, or by both.
func (c *policyCheck) peer(p *field.Path, peer *networkingv1.NetworkPolicyPeer) field.ErrorList {
	errs := meta.ValidateLabelSelector(peer.PodSelector, p.Child("podSelector"))
	errs = append(errs, meta.ValidateLabelSelector(peer.NamespaceSelector, p.Child("namespaceSelector"))...)
	pods := peer.PodSelector != nil || peer.NamespaceSelector != nil
	if peer.IPBlock == nil {
		if !pods {
			errs = append(errs, field.Required(p, "must specify a peer"))
		}
		return errs
	}
	errs = append(errs, c.block(p.Child("ipBlock"), peer.IPBlock)...)
	if pods {
		errs = append(errs, field.Forbidden(p, "may not specify both ipBlock and another peer"))
	}
	return errs
}

// block returns what is wrong with a CIDR at p and the exceptions from it, which are smaller CIDRs
// inside it. Exceptions are not checked if the CIDR itself cannot be read.
func (c *policyCheck) block(p *field.Path, block *networkingv1.IPBlock) field.ErrorList {
	errs := check.Needed(p.Child("cidr"), block.CIDR, c.cidr)
	whole, msgs := names.ParseCIDR(block.CIDR, false)
	if len(msgs) > 0 {
		return errs
	}
	for i, text := range field.Each(&errs, block.Except) {
		p := p.Child("except").Index(i)
		errs = append(errs, c.cidr(p, *text)...)
		part, msgs := names.ParseCIDR(*text, false)
		if len(msgs) == 0 && (whole.Bits() >= part.Bits() || !whole.Contains(part.Masked().Addr())) {
			errs = append(errs, field.Invalid(p, *text, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}

// cidr returns what is wrong with a CIDR at p, nothing if the old policy has the same text.
func (c *policyCheck) cidr(p *field.Path, text string) field.ErrorList {
	if c.oldCIDRs[text] {
		return nil
	}
	return check.Invalid(p, text, names.IsValidLegacyCIDR(text, true))
}
