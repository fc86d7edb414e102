package podspec

import (
	"fmt"
	"iter"
	"math"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks a whole spec (specCheck.check, which Rules.Pod and Rules.Template call) and
// those of its fields that are no lists of containers or volumes. The order of the calls in check
// is the order of kube-apiserver's ValidatePodSpec, which clients see in the messages.

// specCheck is the check of one spec. It holds what the rules for single parts need to know about
// the whole. checkVolumes fills volumes and checkResourceClaims fills claims; both run before the
// containers, which refer to them by name.
type specCheck struct {
	Rules
	spec    *corev1.PodSpec
	pod     bool                            // false for a template, which may leave out more
	podName string                          // "" in a template: each pod gets its own name
	static  bool                            // the mirror of a static pod, which a kubelet runs from a file
	volumes map[string]*corev1.VolumeSource // the valid volumes, by name
	claims  claimNames
}

// check returns what is wrong with the spec, whose path is p.
func (c *specCheck) check(p *field.Path) field.ErrorList {
	spec := c.spec
	errs := c.checkVolumes(p.Child("volumes"))
	errs = append(errs, c.checkResourceClaims(p.Child("resourceClaims"))...)
	errs = append(errs, c.checkContainers(p.Child("containers"))...)
	errs = append(errs, c.checkInitContainers(p.Child("initContainers"))...)
	errs = append(errs, c.checkEphemeralContainers(p.Child("ephemeralContainers"))...)
	errs = append(errs, c.podResources(p.Child("resources"))...)
	errs = append(errs, c.checkHostNetwork(p)...)
	errs = append(errs, check.OneOf(p.Child("restartPolicy"), spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)...)
	errs = append(errs, check.OneOf(p.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirstWithHostNet, corev1.DNSClusterFirst, corev1.DNSDefault, corev1.DNSNone)...)
	errs = append(errs, meta.ValidateLabels(spec.NodeSelector, p.Child("nodeSelector"))...)
	errs = append(errs, c.checkPodSecurity(p)...)
	errs = append(errs, c.checkAffinity(p.Child("affinity"), spec.Affinity)...)
	errs = append(errs, checkDNSConfig(p.Child("dnsConfig"), spec.DNSConfig, spec.DNSPolicy)...)
	errs = append(errs, checkReadinessGates(p.Child("readinessGates"), spec.ReadinessGates)...)
	errs = append(errs, checkSchedulingGates(p.Child("schedulingGates"), spec.SchedulingGates)...)
	errs = append(errs, c.checkSpread(p.Child("topologySpreadConstraints"), spec.TopologySpreadConstraints)...)
	errs = append(errs, c.checkHostProcess(p)...)
	errs = append(errs, c.checkHostUsers(p)...)
	errs = append(errs, checkHostnameOverride(p, spec)...)
	errs = append(errs, c.checkNames(p)...)
	if spec.Overhead != nil {
		errs = append(errs, c.Overhead(p.Child("overhead"), spec.Overhead)...)
	}
	if spec.OS != nil {
		errs = append(errs, c.checkOS(p)...)
	}
	return append(errs, checkEnvFiles(p, spec)...)
}

// checkNames checks the fields that stand on their own: names, the deadline (seconds, 1 to
// MaxInt32), tolerations, hostAliases and preemptionPolicy.
func (c *specCheck) checkNames(p *field.Path) field.ErrorList {
	spec := c.spec
	var errs field.ErrorList
	plain := func(name, value string, rule func(*field.Path, string) field.ErrorList) {
		errs = append(errs, check.Optional(p.Child(name), value, rule)...)
	}
	plain("serviceAccountName", spec.ServiceAccountName, check.DNSSubdomain)
	plain("nodeName", spec.NodeName, check.DNSSubdomain)
	if spec.ActiveDeadlineSeconds != nil {
		errs = append(errs, check.InRange(p.Child("activeDeadlineSeconds"), *spec.ActiveDeadlineSeconds, 1,
			math.MaxInt32)...)
	}
	plain("hostname", spec.Hostname, check.DNSLabel)
	plain("subdomain", spec.Subdomain, check.DNSLabel)
	errs = append(errs, c.Tolerations(p.Child("tolerations"), spec.Tolerations)...)
	errs = append(errs, checkHostAliases(p.Child("hostAliases"), spec.HostAliases)...)
	plain("priorityClassName", spec.PriorityClassName, check.DNSSubdomain)
	if spec.RuntimeClassName != nil {
		errs = append(errs, check.DNSSubdomain(p.Child("runtimeClassName"), *spec.RuntimeClassName)...)
	}
	if spec.PreemptionPolicy != nil {
		errs = append(errs, check.OneOf(p.Child("preemptionPolicy"), *spec.PreemptionPolicy,
			corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	return errs
}

// checkHostAliases checks the lines that the kubelet adds to a pod's /etc/hosts. An address need
// not be in canonical form, because the field is older than that rule (KEP-4858).
func checkHostAliases(p *field.Path, aliases []corev1.HostAlias) field.ErrorList {
	var errs field.ErrorList
	for i, alias := range field.Each(&errs, aliases) {
		p := p.Index(i)
		errs = append(errs, check.Invalid(p.Child("ip"), alias.IP, names.IsValidLegacyIP(alias.IP, true))...)
		for j, name := range field.Each(&errs, alias.Hostnames) {
			errs = append(errs, check.DNSSubdomain(p.Child("hostnames").Index(j), *name)...)
		}
	}
	return errs
}

// maxHostname is the longest host name that Linux takes, in bytes (HOST_NAME_MAX).
const maxHostname = 64

// checkHostnameOverride checks hostnameOverride, which is the complete host name (KEP-4762). It
// cannot be combined with a field that chooses another host name: setHostnameAsFQDN, or
// hostNetwork, with which the pod has the node's name.
func checkHostnameOverride(p *field.Path, spec *corev1.PodSpec) field.ErrorList {
	if spec.HostnameOverride == nil {
		return nil
	}
	name, at := *spec.HostnameOverride, p.Child("hostnameOverride")
	var errs field.ErrorList
	if scheme.OrZero(spec.SetHostnameAsFQDN) {
		errs = append(errs, field.Forbidden(at, "may not be specified when setHostnameAsFQDN is true"))
	}
	if spec.HostNetwork {
		errs = append(errs, field.Forbidden(at, "may not be specified when hostNetwork is true"))
	}
	if len(name) > maxHostname {
		errs = append(errs, field.TooLong(at, name, maxHostname))
	}
	return append(errs, check.DNSSubdomain(at, name)...)
}

// checkHostNetwork requires each host port of a pod on the node's network to equal its container
// port, because there both are the same port. A template may leave hostPort 0: a default fills it
// in the pod.
func (c *specCheck) checkHostNetwork(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	if !c.spec.HostNetwork {
		return nil
	}
	for i, ctr := range field.Each(&errs, c.spec.Containers) {
		for j, port := range field.Each(&errs, ctr.Ports) {
			if (c.pod || port.HostPort != 0) && port.HostPort != port.ContainerPort {
				at := p.Child("containers").Index(i).Child("ports").Index(j).Child("hostPort")
				errs = append(errs, field.Invalid(at, port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

// checkResourceClaims checks the ResourceClaims that the pod uses (dynamic resource allocation,
// KEP-4381). Each names either an existing claim or the template of a claim to create. Static pods
// can have none, since the kubelet starts them without the API.
func (c *specCheck) checkResourceClaims(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	c.claims = newClaimNames(c.spec.ResourceClaims)
	for i, claim := range field.Each(&errs, c.spec.ResourceClaims) {
		if c.static {
			errs = append(errs, field.Forbidden(field.NewPath(""), "static pods do not support resource claims"))
			continue
		}
		p := p.Index(i)
		errs = append(errs, check.Required(p.Child("name"), claim.Name)...)
		if claim.Name != "" {
			if !seen.Add(claim.Name) {
				errs = append(errs, field.Duplicate(p.Child("name"), claim.Name))
			} else {
				errs = append(errs, check.DNSLabel(p.Child("name"), claim.Name)...)
			}
		}
		name, template := claim.ResourceClaimName, claim.ResourceClaimTemplateName
		switch {
		case name != nil && template != nil:
			errs = append(errs, field.Invalid(p, govalue.JSON(claim),
				"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		case name == nil && template == nil:
			errs = append(errs, field.Invalid(p, govalue.JSON(claim),
				"must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if name != nil {
			errs = append(errs, check.DNSSubdomain(p.Child("resourceClaimName"), *name)...)
		}
		if template != nil {
			errs = append(errs, check.DNSSubdomain(p.Child("resourceClaimTemplateName"), *template)...)
		}
	}
	return errs
}

// Limits of dnsConfig: nameservers, search domains, and characters of all search domains with a
// space between each two. glibc's resolver reads at most 3 nameservers; the limits of search
// domains are Kubernetes' own (KEP-2595).
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
)

// checkDNSConfig checks dnsConfig, which may be nil unless dnsPolicy is None: then nothing else
// names a server. A search domain may end in a dot, may be the single dot, and may contain
// underscores (KEP-4427).
func checkDNSConfig(p *field.Path, config *corev1.PodDNSConfig, policy corev1.DNSPolicy) field.ErrorList {
	if policy == corev1.DNSNone {
		if config == nil {
			return field.ErrorList{field.Required(p, "must provide `dnsConfig` when `dnsPolicy` is None")}
		}
		if len(config.Nameservers) == 0 {
			return field.ErrorList{field.Required(p.Child("nameservers"),
				"must provide at least one DNS nameserver when `dnsPolicy` is None")}
		}
	}
	if config == nil {
		return nil
	}
	var errs field.ErrorList
	servers, searches := p.Child("nameservers"), p.Child("searches")
	if len(config.Nameservers) > maxNameservers {
		errs = append(errs, field.Invalid(servers, config.Nameservers,
			fmt.Sprintf("must not have more than %d nameservers", maxNameservers)))
	}
	for i, ip := range field.Each(&errs, config.Nameservers) {
		errs = append(errs, check.Invalid(servers.Index(i), *ip, names.IsValidLegacyIP(*ip, true))...)
	}
	if len(config.Searches) > maxSearches {
		errs = append(errs, field.Invalid(searches, config.Searches,
			fmt.Sprintf("must not have more than %d search paths", maxSearches)))
	}
	if len(strings.Join(config.Searches, " ")) > maxSearchChars {
		errs = append(errs, field.Invalid(searches, config.Searches, fmt.Sprintf(
			"must not have more than %d characters (including spaces) in the search list", maxSearchChars)))
	}
	for i, name := range field.Each(&errs, config.Searches) {
		if *name == "." {
			continue
		}
		search := strings.TrimSuffix(*name, ".")
		errs = append(errs, check.Invalid(searches.Index(i), search, names.IsDNS1123SubdomainWithUnderscore(search))...)
	}
	for i, option := range field.Each(&errs, config.Options) {
		if option.Name == "" {
			errs = append(errs, field.Required(p.Child("options").Index(i), "must not be empty"))
		}
	}
	return errs
}

// checkReadinessGates checks the types of the conditions that must be true before a pod is ready.
func checkReadinessGates(p *field.Path, gates []corev1.PodReadinessGate) field.ErrorList {
	var errs field.ErrorList
	for i, gate := range field.Each(&errs, gates) {
		errs = append(errs, check.QualifiedName(p.Index(i).Child("conditionType"), string(gate.ConditionType))...)
	}
	return errs
}

// checkSchedulingGates checks the names of the gates that keep a pod from being scheduled. They are
// unique, because a client removes a gate by its name.
func checkSchedulingGates(p *field.Path, gates []corev1.PodSchedulingGate) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, gate := range field.Each(&errs, gates) {
		errs = append(errs, check.QualifiedName(p.Index(i), gate.Name)...)
		if !seen.Add(gate.Name) {
			errs = append(errs, field.Duplicate(p.Index(i), gate.Name))
		}
	}
	return errs
}

// checkOS checks the operating system of a pod, and that the pod sets no field that only the other
// system has. A pod without spec.os may mix both, since nobody knows yet where it will run.
func (c *specCheck) checkOS(p *field.Path) field.ErrorList {
	switch c.spec.OS.Name {
	case corev1.Linux:
		return c.forbiddenByOS(p, "windows options cannot be set for a linux pod", linuxForbids)
	case corev1.Windows:
		return c.forbiddenByOS(p, "cannot be set for a windows pod", windowsForbids)
	case "":
		return field.ErrorList{field.Required(p.Child("os", "name"), "")}
	}
	return check.Supported(p.Child("os"), c.spec.OS.Name, corev1.Linux, corev1.Windows)
}

// forbiddenByOS reports the fields that list finds set: once for the pod (list gets a nil
// SecurityContext), then for the security context of each container (list gets a nil PodSpec).
func (c *specCheck) forbiddenByOS(p *field.Path, msg string,
	list func(*corev1.PodSpec, *corev1.SecurityContext) []check.Setting) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, check.Forbidden(p, msg, list(c.spec, nil))...)
	for p, ctr := range Containers(p, c.spec) {
		if errs.Full() {
			break
		}
		if ctr.SecurityContext != nil {
			errs = append(errs, check.Forbidden(p.Child("securityContext"), msg, list(nil, ctr.SecurityContext))...)
		}
	}
	return errs
}

// Containers yields all containers of a spec and their paths, in the order init, regular,
// ephemeral. p is the path of the spec. The containers are those of the spec itself, so a caller
// may change them. An ephemeral container is yielded as a Container: EphemeralContainerCommon has
// the same fields.
func Containers(p *field.Path, spec *corev1.PodSpec) iter.Seq2[*field.Path, *corev1.Container] {
	return func(yield func(*field.Path, *corev1.Container) bool) {
		for i := range spec.InitContainers {
			if !yield(p.Child("initContainers").Index(i), &spec.InitContainers[i]) {
				return
			}
		}
		for i := range spec.Containers {
			if !yield(p.Child("containers").Index(i), &spec.Containers[i]) {
				return
			}
		}
		for i := range spec.EphemeralContainers {
			common := (*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon)
			if !yield(p.Child("ephemeralContainers").Index(i), common) {
				return
			}
		}
	}
}

// linuxForbids lists the Windows options of a pod or of a container's security context.
func linuxForbids(spec *corev1.PodSpec, sc *corev1.SecurityContext) []check.Setting {
	if sc != nil {
		return []check.Setting{{"windowsOptions", sc.WindowsOptions != nil}}
	}
	return []check.Setting{{"securityContext.windowsOptions",
		spec.SecurityContext != nil && spec.SecurityContext.WindowsOptions != nil}}
}

// windowsForbids lists the fields of a pod or of a container's security context that Windows does
// not have. Its order is kube-apiserver's.
func windowsForbids(spec *corev1.PodSpec, sc *corev1.SecurityContext) []check.Setting {
	if sc != nil {
		return []check.Setting{
			{"appArmorProfile", sc.AppArmorProfile != nil},
			{"seLinuxOptions", sc.SELinuxOptions != nil},
			{"seccompProfile", sc.SeccompProfile != nil},
			{"capabilities", sc.Capabilities != nil},
			{"readOnlyRootFilesystem", sc.ReadOnlyRootFilesystem != nil},
			{"privileged", sc.Privileged != nil},
			{"allowPrivilegeEscalation", sc.AllowPrivilegeEscalation != nil},
			{"procMount", sc.ProcMount != nil},
			{"runAsUser", sc.RunAsUser != nil},
			{"runAsGroup", sc.RunAsGroup != nil},
		}
	}
	ctx := spec.SecurityContext
	if ctx == nil {
		ctx = &corev1.PodSecurityContext{}
	}
	return []check.Setting{
		{"securityContext.appArmorProfile", ctx.AppArmorProfile != nil},
		{"securityContext.seLinuxOptions", ctx.SELinuxOptions != nil},
		{"hostUsers", spec.HostUsers != nil},
		{"hostPID", spec.HostPID},
		{"hostIPC", spec.HostIPC},
		{"securityContext.seccompProfile", ctx.SeccompProfile != nil},
		{"securityContext.fsGroup", ctx.FSGroup != nil},
		{"securityContext.fsGroupChangePolicy", ctx.FSGroupChangePolicy != nil},
		{"securityContext.sysctls", len(ctx.Sysctls) > 0},
		{"shareProcessNamespace", spec.ShareProcessNamespace != nil},
		{"securityContext.runAsUser", ctx.RunAsUser != nil},
		{"securityContext.runAsGroup", ctx.RunAsGroup != nil},
		{"securityContext.supplementalGroups", ctx.SupplementalGroups != nil},
		{"securityContext.supplementalGroupsPolicy", ctx.SupplementalGroupsPolicy != nil},
		{"securityContext.seLinuxChangePolicy", ctx.SELinuxChangePolicy != nil},
	}
}
