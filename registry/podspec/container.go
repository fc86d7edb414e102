package podspec

import (
	"fmt"
	"slices"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks containers: specCheck.check calls checkContainers, checkInitContainers and
// checkEphemeralContainers, which apply checkContainer and then the rules of their list.
// Environment variables are in env.go, mounts in mount.go, resources in resources.go, security
// contexts in security.go.

const onceMessage = "may not specify more than 1 handler type"

// checkContainer applies the rules that hold for containers of all three lists.
func (c *specCheck) checkContainer(p *field.Path, ctr *corev1.Container) field.ErrorList {
	errs := check.Needed(p.Child("name"), ctr.Name, check.DNSLabel)
	errs = append(errs, check.Required(p.Child("image"), ctr.Image)...)
	errs = append(errs, check.OneOf(p.Child("terminationMessagePolicy"), ctr.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, checkPorts(p.Child("ports"), ctr.Ports)...)
	errs = append(errs, checkEnv(p.Child("env"), ctr.Env)...)
	errs = append(errs, checkEnvFrom(p.Child("envFrom"), ctr.EnvFrom)...)
	errs = append(errs, c.checkMounts(p.Child("volumeMounts"), ctr)...)
	errs = append(errs, c.checkDevices(p.Child("volumeDevices"), ctr)...)
	errs = append(errs, check.OneOf(p.Child("imagePullPolicy"), ctr.ImagePullPolicy, pullPolicies...)...)
	rules := requirements{nameRule: ContainerResourceName, claims: c.claims, was: c.was}
	errs = append(errs, rules.check(p.Child("resources"), &ctr.Resources)...)
	errs = append(errs, checkResizePolicy(p.Child("resizePolicy"), ctr.ResizePolicy, c.spec.RestartPolicy)...)
	return append(errs, c.checkSecurity(p.Child("securityContext"), ctr.SecurityContext)...)
}

var pullPolicies = []corev1.PullPolicy{corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever}

// checkContainers checks the regular containers: there is at least one, and their names are unique.
// They run at the same time, so no two may claim the same port of the node.
func (c *specCheck) checkContainers(p *field.Path) field.ErrorList {
	if len(c.spec.Containers) == 0 {
		return field.ErrorList{field.Required(p, "")}
	}
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, ctr := range field.Each(&errs, c.spec.Containers) {
		p := p.Index(i)
		errs = append(errs, c.checkContainer(p, ctr)...)
		if !seen.Add(ctr.Name) {
			errs = append(errs, field.Duplicate(p.Child("name"), ctr.Name))
		}
		errs = append(errs, c.checkLifecycle(p, ctr)...)
		errs = append(errs, checkRestartRules(p, ctr)...)
	}
	return append(errs, hostPortConflicts(p, c.spec.Containers)...)
}

// checkLifecycle checks the lifecycle hooks and probes of a container that runs as long as the pod:
// a regular container or a sidecar.
func (c *specCheck) checkLifecycle(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	if l := ctr.Lifecycle; l != nil {
		if l.PostStart != nil {
			errs = append(errs, c.checkHandler(p.Child("lifecycle", "postStart"), lifecycleHandler(l.PostStart))...)
		}
		if l.PreStop != nil {
			errs = append(errs, c.checkHandler(p.Child("lifecycle", "preStop"), lifecycleHandler(l.PreStop))...)
		}
	}
	errs = append(errs, c.checkProbe(p.Child("livenessProbe"), ctr.LivenessProbe, true)...)
	errs = append(errs, c.checkProbe(p.Child("readinessProbe"), ctr.ReadinessProbe, false)...)
	if r := ctr.ReadinessProbe; r != nil && r.TerminationGracePeriodSeconds != nil {
		errs = append(errs, field.Invalid(p.Child("readinessProbe", "terminationGracePeriodSeconds"),
			*r.TerminationGracePeriodSeconds, "must not be set for readinessProbes"))
	}
	return append(errs, c.checkProbe(p.Child("startupProbe"), ctr.StartupProbe, true)...)
}

// checkInitContainers checks the init containers, whose names must differ from those of the regular
// containers, too. An init container with restartPolicy Always is a sidecar (KEP-753) and may have
// probes and hooks. The others end before the regular containers start, so nobody would probe them.
//
// Host ports are compared within one container only, because init containers run one after another.
// The reported index is then 0, as in kube-apiserver.
func (c *specCheck) checkInitContainers(p *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i := range c.spec.Containers {
		seen.Add(c.spec.Containers[i].Name)
	}
	all := p
	for i, ctr := range field.Each(&errs, c.spec.InitContainers) {
		p := p.Index(i)
		errs = append(errs, c.checkContainer(p, ctr)...)
		if rules := checkRestartRules(p, ctr); ctr.RestartPolicy == nil {
			errs = append(errs, rules[:min(len(rules), 1)]...) // only that the policy is missing
		} else {
			errs = append(errs, rules...)
		}
		if seen[ctr.Name] {
			errs = append(errs, field.Duplicate(p.Child("name"), ctr.Name))
		} else if ctr.Name != "" {
			seen.Add(ctr.Name)
		}
		errs = append(errs, hostPortConflicts(all, c.spec.InitContainers[i:i+1])...)
		if corev1.IsSidecar(ctr) {
			errs = append(errs, c.checkLifecycle(p, ctr)...)
		} else {
			errs = append(errs, check.Forbidden(p, "may not be set for init containers without restartPolicy=Always",
				[]check.Setting{
					{"lifecycle", ctr.Lifecycle != nil},
					{"livenessProbe", ctr.LivenessProbe != nil},
					{"readinessProbe", ctr.ReadinessProbe != nil},
					{"startupProbe", ctr.StartupProbe != nil},
				})...)
			for j, policy := range field.Each(&errs, ctr.ResizePolicy) {
				if policy.RestartPolicy == corev1.RestartContainer && !c.was.has(restartingInitContainers) {
					errs = append(errs, field.Invalid(p.Child("resizePolicy").Index(j).Child("restartPolicy"),
						policy.RestartPolicy,
						"must not be set to 'RestartContainer' for non-sidecar initContainers"))
				}
			}
		}
	}
	return errs
}

// checkEphemeralContainers checks the containers that somebody added to a running pod to debug it
// (KEP-277). Their names differ from those of all other containers, and targetContainerName names a
// container of the pod that is not ephemeral.
func (c *specCheck) checkEphemeralContainers(p *field.Path) field.ErrorList {
	if len(c.spec.EphemeralContainers) == 0 {
		return nil
	}
	var errs field.ErrorList
	seen, others := check.Duplicates{}, check.Duplicates{}
	for _, list := range [][]corev1.Container{c.spec.Containers, c.spec.InitContainers} {
		for i := range list {
			seen.Add(list[i].Name)
			others.Add(list[i].Name)
		}
	}
	for i, ec := range field.Each(&errs, c.spec.EphemeralContainers) {
		p := p.Index(i)
		ctr := (*corev1.Container)(&ec.EphemeralContainerCommon)
		errs = append(errs, c.checkContainer(p, ctr)...)
		errs = append(errs, TrimmedImage(p, ctr)...)
		if !seen.Add(ec.Name) {
			errs = append(errs, field.Duplicate(p.Child("name"), ec.Name))
		}
		if ec.TargetContainerName != "" && !others[ec.TargetContainerName] {
			errs = append(errs, field.NotFound(p.Child("targetContainerName"), ec.TargetContainerName))
		}
		errs = append(errs, forbiddenInEphemeral(p, ctr)...)
	}
	return errs
}

// forbiddenInEphemeral reports fields that an ephemeral container must not have: it is not
// restarted, not probed, and takes no resources beyond those that the scheduler has counted for the
// pod.
func forbiddenInEphemeral(p *field.Path, ctr *corev1.Container) field.ErrorList {
	const msg = "cannot be set for an Ephemeral Container"
	r := &ctr.Resources
	errs := check.Forbidden(p, msg, []check.Setting{
		{"ports", ctr.Ports != nil},
		{"resources", r.Limits != nil || r.Requests != nil || r.Claims != nil},
		{"resizePolicy", ctr.ResizePolicy != nil},
		{"restartPolicy", ctr.RestartPolicy != nil},
		{"restartPolicyRules", ctr.RestartPolicyRules != nil},
		{"livenessProbe", ctr.LivenessProbe != nil},
		{"readinessProbe", ctr.ReadinessProbe != nil},
		{"startupProbe", ctr.StartupProbe != nil},
		{"lifecycle", ctr.Lifecycle != nil},
	})
	for i, m := range field.Each(&errs, ctr.VolumeMounts) {
		at := p.Child("volumeMounts").Index(i)
		if m.SubPath != "" {
			errs = append(errs, field.Forbidden(at.Child("subPath"), msg))
		}
		if m.SubPathExpr != "" {
			errs = append(errs, field.Forbidden(at.Child("subPathExpr"), msg))
		}
	}
	return errs
}

// TrimmedImage reports an image name with white space around it. p is the path of the container.
// Pods are checked, templates are not: older templates may have such images.
func TrimmedImage(p *field.Path, ctr *corev1.Container) field.ErrorList {
	if strings.TrimSpace(ctr.Image) == ctr.Image {
		return nil
	}
	return field.ErrorList{field.Invalid(p.Child("image"), ctr.Image, "must not have leading or trailing whitespace")}
}

// checkTrimmedImages applies TrimmedImage to each container of the list at p.
func checkTrimmedImages(p *field.Path, list []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	for i, ctr := range field.Each(&errs, list) {
		errs = append(errs, TrimmedImage(p.Index(i), ctr)...)
	}
	return errs
}

// Limits of restartPolicyRules, in rules and in exit codes of one rule.
const (
	maxRestartRules = 20
	maxExitCodes    = 255
)

// checkRestartRules checks restartPolicyRules, which decide by exit code whether a container
// restarts (KEP-5307, KEP-5532). They refine a restartPolicy of the container, so it must be set
// with them.
func checkRestartRules(p *field.Path, ctr *corev1.Container) field.ErrorList {
	var errs field.ErrorList
	if ctr.RestartPolicy == nil && len(ctr.RestartPolicyRules) > 0 {
		errs = append(errs, field.Required(p.Child("restartPolicy"),
			"must specify restartPolicy when restart rules are used"))
	}
	errs = append(errs, check.OptionalOneOf(p.Child("restartPolicy"), ctr.RestartPolicy,
		corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever,
		corev1.ContainerRestartPolicyOnFailure)...)
	rules := p.Child("restartPolicyRules")
	if n := len(ctr.RestartPolicyRules); n > maxRestartRules {
		errs = append(errs, field.TooMany(rules, n, maxRestartRules))
	}
	for i, rule := range field.Each(&errs, ctr.RestartPolicyRules) {
		p := rules.Index(i)
		errs = append(errs, check.Supported(p.Child("action"), rule.Action,
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)...)
		if rule.ExitCodes == nil {
			errs = append(errs, field.Required(p.Child("exitCodes"), "must be specified"))
			continue
		}
		p = p.Child("exitCodes")
		errs = append(errs, check.Supported(p.Child("operator"), rule.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)...)
		if n := len(rule.ExitCodes.Values); n > maxExitCodes {
			errs = append(errs, field.TooMany(p.Child("values"), n, maxExitCodes))
		}
	}
	return errs
}

// checkResizePolicy checks whether a container restarts when its cpu or memory is resized in place
// (KEP-1287). In a pod that never restarts containers, a resize must not restart one. Errors are
// reported on the list, not on its element, as in kube-apiserver.
func checkResizePolicy(p *field.Path, policies []corev1.ContainerResizePolicy,
	podPolicy corev1.RestartPolicy) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, policy := range field.Each(&errs, policies) {
		if !seen.Add(string(policy.ResourceName)) {
			errs = append(errs, field.Duplicate(p.Index(i), policy.ResourceName))
		}
		errs = append(errs, check.OneOf(p, policy.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, check.OneOf(p, policy.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)...)
		if podPolicy == corev1.RestartPolicyNever && policy.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(p, policy.RestartPolicy,
				"must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
	return errs
}

// restartsOnResize reports whether the container restarts when one of its resources is resized.
func restartsOnResize(ctr *corev1.Container) bool {
	return slices.ContainsFunc(ctr.ResizePolicy,
		func(p corev1.ContainerResizePolicy) bool { return p.RestartPolicy == corev1.RestartContainer })
}

// checkPorts checks the ports of a container. Their names are unique within it; hostPort 0 is
// unset.
func checkPorts(p *field.Path, ports []corev1.ContainerPort) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, port := range field.Each(&errs, ports) {
		p := p.Index(i)
		if port.Name != "" {
			if msgs := names.IsValidPortName(port.Name); len(msgs) > 0 {
				errs = append(errs, check.Invalid(p.Child("name"), port.Name, msgs)...)
			} else if !seen.Add(port.Name) {
				errs = append(errs, field.Duplicate(p.Child("name"), port.Name))
			}
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(p.Child("containerPort"), ""))
		} else {
			errs = append(errs, check.PortNumber(p.Child("containerPort"), port.ContainerPort)...)
		}
		if port.HostPort != 0 {
			errs = append(errs, check.PortNumber(p.Child("hostPort"), port.HostPort)...)
		}
		errs = append(errs, check.OneOf(p.Child("protocol"), port.Protocol, Protocols...)...)
	}
	return errs
}

// Protocols are the protocols that a port of a container or Service can have, in the order in which
// messages list them. Callers must not change the list.
var Protocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

// hostPortConflicts reports a port of the node that two ports of the containers at p claim with the
// same protocol and address. The containers of list run at the same time.
func hostPortConflicts(p *field.Path, list []corev1.Container) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, ctr := range field.Each(&errs, list) {
		for j, port := range field.Each(&errs, ctr.Ports) {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if !seen.Add(key) {
				errs = append(errs, field.Duplicate(p.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
		}
	}
	return errs
}

// handler is the action of a probe or of a lifecycle hook. A valid handler has exactly one member
// that is not nil. Probes have no sleep, and hooks no gRPC.
type handler struct {
	exec  *corev1.ExecAction
	http  *corev1.HTTPGetAction
	tcp   *corev1.TCPSocketAction
	grpc  *corev1.GRPCAction
	sleep *corev1.SleepAction
}

func lifecycleHandler(h *corev1.LifecycleHandler) handler {
	return handler{exec: h.Exec, http: h.HTTPGet, tcp: h.TCPSocket, sleep: h.Sleep}
}

// checkHandler checks an action at p. It applies the rule of the first member that is set; each
// further member is forbidden. A sleep must end within the grace period of the pod, or it would be
// killed.
func (c *specCheck) checkHandler(p *field.Path, h handler) field.ErrorList {
	var errs field.ErrorList
	n := 0
	member := func(name string, set bool, check func(*field.Path) field.ErrorList) {
		if !set {
			return
		}
		if n++; n > 1 {
			errs = append(errs, field.Forbidden(p.Child(name), onceMessage))
			return
		}
		errs = append(errs, check(p.Child(name))...)
	}
	member("exec", h.exec != nil, func(p *field.Path) field.ErrorList {
		if len(h.exec.Command) == 0 {
			return field.ErrorList{field.Required(p.Child("command"), "")}
		}
		return nil
	})
	member("httpGet", h.http != nil, func(p *field.Path) field.ErrorList { return checkHTTPGet(p, h.http) })
	member("tcpSocket", h.tcp != nil, func(p *field.Path) field.ErrorList {
		return check.PortReference(p.Child("port"), h.tcp.Port)
	})
	member("grpc", h.grpc != nil, func(p *field.Path) field.ErrorList {
		return check.PortNumber(p.Child("port"), h.grpc.Port)
	})
	member("sleep", h.sleep != nil, func(p *field.Path) field.ErrorList {
		if grace := c.spec.TerminationGracePeriodSeconds; grace != nil &&
			(h.sleep.Seconds < 0 || h.sleep.Seconds > *grace) {
			return field.ErrorList{field.Invalid(p, h.sleep.Seconds,
				fmt.Sprintf("must be non-negative and less than terminationGracePeriodSeconds (%d)", *grace))}
		}
		return nil
	})
	if n == 0 {
		errs = append(errs, field.Required(p, "must specify a handler type"))
	}
	return errs
}

// checkHTTPGet checks an HTTP request of a probe or hook. The port may be the name of a port, which
// is not looked up: the kubelet does so when it sends the request.
func checkHTTPGet(p *field.Path, a *corev1.HTTPGetAction) field.ErrorList {
	errs := check.Required(p.Child("path"), a.Path)
	errs = append(errs, check.PortReference(p.Child("port"), a.Port)...)
	errs = append(errs, check.Supported(p.Child("scheme"), a.Scheme, corev1.URISchemeHTTP, corev1.URISchemeHTTPS)...)
	for _, h := range field.Each(&errs, a.HTTPHeaders) {
		errs = append(errs, check.Invalid(p.Child("httpHeaders"), h.Name, names.IsHTTPHeaderName(h.Name))...)
	}
	return errs
}

// checkProbe checks a probe. once requires successThreshold 1, as for liveness and startup probes:
// one success answers their question. Times are in seconds.
func (c *specCheck) checkProbe(p *field.Path, probe *corev1.Probe, once bool) field.ErrorList {
	if probe == nil {
		return nil
	}
	errs := c.checkHandler(p, handler{exec: probe.Exec, http: probe.HTTPGet, tcp: probe.TCPSocket, grpc: probe.GRPC})
	for _, f := range []struct {
		name  string
		value int32
	}{
		{"initialDelaySeconds", probe.InitialDelaySeconds},
		{"timeoutSeconds", probe.TimeoutSeconds},
		{"periodSeconds", probe.PeriodSeconds},
		{"successThreshold", probe.SuccessThreshold},
		{"failureThreshold", probe.FailureThreshold},
	} {
		errs = append(errs, check.NonNegative(p.Child(f.name), f.value)...)
	}
	if grace := probe.TerminationGracePeriodSeconds; grace != nil && *grace <= 0 {
		errs = append(errs, field.Invalid(p.Child("terminationGracePeriodSeconds"), *grace, "must be greater than 0"))
	}
	if once && probe.SuccessThreshold != 1 {
		errs = append(errs, field.Invalid(p.Child("successThreshold"), probe.SuccessThreshold, "must be 1"))
	}
	return errs
}
