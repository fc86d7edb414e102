package podsecurity

import "github.com/coracle-project/coracle/scheme/api/corev1"

// This file has the checks of the identity of a container's processes: their user, or a process of
// a Windows host.

// runAsNonRoot demands that each container, or the pod for it, says that it does not run as root.
func runAsNonRoot(p *subject) Violation {
	const reason = "runAsNonRoot != true"
	var bad setters
	var silent []string // containers without the field in a pod that does not say true
	said := false       // the pod says true
	if ctx := p.spec.SecurityContext; ctx != nil && ctx.RunAsNonRoot != nil {
		said, bad.pod = *ctx.RunAsNonRoot, !*ctx.RunAsNonRoot
	}
	for _, c := range p.containers {
		switch ctx := c.SecurityContext; {
		case ctx == nil || ctx.RunAsNonRoot == nil:
			if !said {
				silent = append(silent, c.Name)
			}
		case !*ctx.RunAsNonRoot:
			bad.containers = append(bad.containers, c.Name)
		}
	}
	switch {
	case bad.any():
		return Violation{reason, bad.String() + " must not set securityContext.runAsNonRoot=false"}
	case silent != nil:
		return Violation{reason, "pod or " + named("container", silent) + " must set securityContext.runAsNonRoot=true"}
	}
	return Violation{}
}

// runAsUser forbids the user 0, which is root.
func runAsUser(p *subject) Violation {
	var bad setters
	if ctx := p.spec.SecurityContext; ctx != nil {
		bad.pod = ctx.RunAsUser != nil && *ctx.RunAsUser == 0
	}
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if ctx.RunAsUser != nil && *ctx.RunAsUser == 0 {
			bad.containers = append(bad.containers, c.Name)
		}
	}
	if !bad.any() {
		return Violation{}
	}
	return Violation{"runAsUser=0", bad.String() + " must not set runAsUser=0"}
}

// hostProcesses forbids processes of the host on Windows.
func hostProcesses(p *subject) Violation {
	var bad setters
	if ctx := p.spec.SecurityContext; ctx != nil {
		bad.pod = isHostProcess(ctx.WindowsOptions)
	}
	for _, c := range p.secured {
		ctx := c.SecurityContext
		if isHostProcess(ctx.WindowsOptions) {
			bad.containers = append(bad.containers, c.Name)
		}
	}
	if !bad.any() {
		return Violation{}
	}
	return Violation{"hostProcess", bad.String() + " must not set securityContext.windowsOptions.hostProcess=true"}
}

func isHostProcess(o *corev1.WindowsSecurityContextOptions) bool {
	return o != nil && o.HostProcess != nil && *o.HostProcess
}
