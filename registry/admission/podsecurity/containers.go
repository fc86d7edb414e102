package podsecurity

import (
	"slices"
	"strconv"
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file has the checks of fields that only containers have: capabilities, ports, probes,
// privileges, the mount of /proc. Evaluate (checks.go) calls them.

// safeCapabilities are the capabilities that Baseline lets a container add: those that container
// runtimes give by default, except NET_RAW. They are sorted.
var safeCapabilities = []corev1.Capability{
	"AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD", "NET_BIND_SERVICE",
	"SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT",
}

// addedCapabilities forbids containers that add other capabilities than safeCapabilities.
func addedCapabilities(p *subject) Violation {
	var bad, values []string
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if ctx.Capabilities == nil {
			continue
		}
		before := len(values)
		for _, added := range ctx.Capabilities.Add {
			if _, safe := slices.BinarySearch(safeCapabilities, added); !safe {
				values = append(values, string(added))
			}
		}
		if len(values) > before {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	return Violation{"non-default capabilities", mustNotAdd(bad, values)}
}

// mustNotAdd returns the detail about containers that add forbidden capabilities.
func mustNotAdd(names, capabilities []string) string {
	return named("container", names) + " must not include " + quoted(sorted(capabilities)) +
		" in securityContext.capabilities.add"
}

// droppedCapabilities demands that each container drops all capabilities. It may add
// NET_BIND_SERVICE.
func droppedCapabilities(p *subject) Violation {
	var keeping, adding, values, details []string
	for _, c := range p.containers {
		if c.SecurityContext == nil || c.SecurityContext.Capabilities == nil {
			keeping = append(keeping, c.Name)
			continue
		}
		caps := c.SecurityContext.Capabilities
		if !slices.Contains(caps.Drop, "ALL") {
			keeping = append(keeping, c.Name)
		}
		before := len(values)
		for _, added := range caps.Add {
			if added != "NET_BIND_SERVICE" {
				values = append(values, string(added))
			}
		}
		if len(values) > before {
			adding = append(adding, c.Name)
		}
	}
	if keeping != nil {
		details = append(details, named("container", keeping)+` must set securityContext.capabilities.drop=["ALL"]`)
	}
	if adding != nil {
		details = append(details, mustNotAdd(adding, values))
	}
	if details == nil {
		return Violation{}
	}
	return Violation{"unrestricted capabilities", strings.Join(details, "; ")}
}

// hostPorts forbids containers that listen on ports of the node.
func hostPorts(p *subject) Violation {
	var bad, ports []string
	for _, c := range p.containers {
		before := len(ports)
		for i := range c.Ports {
			if port := c.Ports[i].HostPort; port != 0 {
				ports = append(ports, strconv.Itoa(int(port)))
			}
		}
		if len(ports) > before {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	ports = sorted(ports) // sorted as strings, not as numbers
	return Violation{"hostPort", named("container", bad) + " " + uses(len(bad)) + " " +
		plural("hostPort", len(ports)) + " " + strings.Join(ports, ", ")}
}

// probedHosts forbids probes and lifecycle handlers that connect to a named host: the kubelet would
// connect to any host that it can reach.
func probedHosts(p *subject) Violation {
	var bad, hosts []string
	for _, c := range p.containers {
		before := len(hosts)
		for _, p := range [...]*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
			if p != nil {
				hosts = appendHosts(hosts, p.HTTPGet, p.TCPSocket)
			}
		}
		if c.Lifecycle != nil {
			for _, h := range [...]*corev1.LifecycleHandler{c.Lifecycle.PostStart, c.Lifecycle.PreStop} {
				if h != nil {
					hosts = appendHosts(hosts, h.HTTPGet, h.TCPSocket)
				}
			}
		}
		if len(hosts) > before {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	bad, hosts = sorted(bad), sorted(hosts)
	return Violation{"probe or lifecycle host", named("container", bad) + " " + uses(len(bad)) + " " +
		named("probe or lifecycle host", hosts)}
}

// appendHosts appends the hosts that a probe or handler names.
func appendHosts(hosts []string, get *corev1.HTTPGetAction, socket *corev1.TCPSocketAction) []string {
	if get != nil && get.Host != "" {
		hosts = append(hosts, get.Host)
	}
	if socket != nil && socket.Host != "" {
		hosts = append(hosts, socket.Host)
	}
	return hosts
}

// privilegedContainers forbids privileged containers.
func privilegedContainers(p *subject) Violation {
	var bad []string
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if ctx.Privileged != nil && *ctx.Privileged {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	return Violation{"privileged", named("container", bad) + " must not set securityContext.privileged=true"}
}

// privilegeEscalation demands that each container forbids its processes to gain privileges.
func privilegeEscalation(p *subject) Violation {
	var bad []string
	for _, c := range p.containers {
		ctx := c.SecurityContext
		if ctx == nil || ctx.AllowPrivilegeEscalation == nil || *ctx.AllowPrivilegeEscalation {
			bad = append(bad, c.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	return Violation{"allowPrivilegeEscalation != false",
		named("container", bad) + " must set securityContext.allowPrivilegeEscalation=false"}
}

// procMounts demands that /proc is mounted with its usual masks.
func procMounts(p *subject) Violation {
	var bad, values []string
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if ctx.ProcMount != nil && *ctx.ProcMount != corev1.DefaultProcMount {
			bad, values = append(bad, c.Name), append(values, string(*ctx.ProcMount))
		}
	}
	if bad == nil {
		return Violation{}
	}
	return Violation{"procMount",
		named("container", bad) + " must not set securityContext.procMount to " + quoted(sorted(values))}
}
