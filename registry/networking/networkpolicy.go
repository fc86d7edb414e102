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

// networkPolicies makes the resource networkpolicies.
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
				registry.Column("Pod-Selector", "Labels of the pods that the policy is for.", 0),
				registry.AgeColumn,
			},
			Cells: func(np *networkingv1.NetworkPolicy, now time.Time) []any {
				return []any{np.Name, registry.Selector(&np.Spec.PodSelector), registry.Age(&np.ObjectMeta, now)}
			},
		},
	})
}

// peers yields the peers of all rules and where they are.
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

// policyCheck is the check of one policy: known are the ranges of the old one, which may stay,
// however they are written.
type policyCheck struct{ known map[string]bool }

func checkNetworkPolicy(np, old *networkingv1.NetworkPolicy) field.ErrorList {
	c := &policyCheck{known: make(map[string]bool)}
	if old != nil {
		for _, peer := range peers(&old.Spec) {
			if block := peer.IPBlock; block != nil {
				c.known[block.CIDR] = true
				for _, text := range block.Except {
					c.known[text] = true
				}
			}
		}
	}
	return c.spec(field.NewPath("spec"), &np.Spec)
}

// spec returns what is wrong with a spec at p.
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

func checkPolicyPorts(p *field.Path, ports []networkingv1.NetworkPolicyPort) field.ErrorList {
	var errs field.ErrorList
	for i, port := range field.Each(&errs, ports) {
		errs = append(errs, checkPolicyPort(p.Index(i), port)...)
	}
	return errs
}

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

func (c *policyCheck) peers(p *field.Path, peers []networkingv1.NetworkPolicyPeer) field.ErrorList {
	var errs field.ErrorList
	for i, peer := range field.Each(&errs, peers) {
		errs = append(errs, c.peer(p.Index(i), peer)...)
	}
	return errs
}

// peer returns what is wrong with a peer at p, which is pods or a block of addresses.
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

// block returns what is wrong with a block of addresses at p. Each exception is a part of it.
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

// cidr returns what is wrong with a range at p, unless the old policy has it.
func (c *policyCheck) cidr(p *field.Path, text string) field.ErrorList {
	if c.known[text] {
		return nil
	}
	return check.Invalid(p, text, names.IsValidLegacyCIDR(text, true))
}
