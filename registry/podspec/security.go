package podspec

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/registry/govalue"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file checks the security contexts of pods and containers. checkContainer calls
// checkSecurity; specCheck.check calls checkPodSecurity, checkHostProcess and checkHostUsers. These
// are rules of the API. Pod security standards, which refuse privileges, are an admission plugin.

// checkSecurity checks the security context of a container. allowPrivilegeEscalation false
// contradicts privileged and CAP_SYS_ADMIN, which allow it anyway. An unmasked /proc needs a user
// namespace (KEP-4265).
func (c *specCheck) checkSecurity(p *field.Path, sc *corev1.SecurityContext) field.ErrorList {
	if sc == nil {
		return nil
	}
	var errs field.ErrorList
	privileged := scheme.OrZero(sc.Privileged)
	if privileged && !c.AllowPrivileged {
		errs = append(errs, field.Forbidden(p.Child("privileged"), "disallowed by cluster policy"))
	}
	errs = append(errs, check.UserID(p.Child("runAsUser"), sc.RunAsUser)...)
	errs = append(errs, check.GroupID(p.Child("runAsGroup"), sc.RunAsGroup)...)
	if sc.ProcMount != nil {
		at := p.Child("procMount")
		errs = append(errs, check.Supported(at, *sc.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
		hostUsers := c.spec.HostUsers == nil || *c.spec.HostUsers
		if hostUsers && *sc.ProcMount == corev1.UnmaskedProcMount {
			errs = append(errs, field.Invalid(at, *sc.ProcMount, "`hostUsers` must be false to use `Unmasked`"))
		}
	}
	errs = append(errs, checkSeccomp(p.Child("seccompProfile"), sc.SeccompProfile)...)
	if sc.AllowPrivilegeEscalation != nil && !*sc.AllowPrivilegeEscalation {
		if privileged {
			errs = append(errs, field.Invalid(p, govalue.JSON(sc),
				"cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		}
		if sc.Capabilities != nil {
			for _, added := range field.Each(&errs, sc.Capabilities.Add) {
				if *added == "CAP_SYS_ADMIN" {
					errs = append(errs, field.Invalid(p, govalue.JSON(sc),
						"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
				}
			}
		}
	}
	errs = append(errs, checkWindowsOptions(p.Child("windowsOptions"), sc.WindowsOptions)...)
	return append(errs, checkAppArmor(p.Child("appArmorProfile"), sc.AppArmorProfile)...)
}

// checkPodSecurity checks the security context of the pod. p is the path of the spec. Of the
// policies for SELinux labels only Recursive is served, unless the old pod has chosen one.
func (c *specCheck) checkPodSecurity(p *field.Path) field.ErrorList {
	sc := c.spec.SecurityContext
	if sc == nil {
		return nil
	}
	p = p.Child("securityContext")
	errs := check.GroupID(p.Child("fsGroup"), sc.FSGroup)
	errs = append(errs, check.UserID(p.Child("runAsUser"), sc.RunAsUser)...)
	errs = append(errs, check.GroupID(p.Child("runAsGroup"), sc.RunAsGroup)...)
	for i, id := range field.Each(&errs, sc.SupplementalGroups) {
		errs = append(errs, check.GroupID(p.Child("supplementalGroups").Index(i), id)...)
	}
	if c.spec.HostPID && scheme.OrZero(c.spec.ShareProcessNamespace) {
		errs = append(errs, field.Invalid(p.Child("shareProcessNamespace"), true,
			"ShareProcessNamespace and HostPID cannot both be enabled"))
	}
	errs = append(errs, c.checkSysctls(p.Child("sysctls"), sc.Sysctls)...)
	errs = append(errs, check.OptionalOneOf(p.Child("fsGroupChangePolicy"), sc.FSGroupChangePolicy,
		corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	errs = append(errs, checkSeccomp(p.Child("seccompProfile"), sc.SeccompProfile)...)
	errs = append(errs, checkWindowsOptions(p.Child("windowsOptions"), sc.WindowsOptions)...)
	errs = append(errs, checkAppArmor(p.Child("appArmorProfile"), sc.AppArmorProfile)...)
	errs = append(errs, check.OptionalOneOf(p.Child("supplementalGroupsPolicy"), sc.SupplementalGroupsPolicy,
		corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	policies := []corev1.PodSELinuxChangePolicy{corev1.SELinuxChangePolicyRecursive}
	if c.was.has(selinuxChangePolicy) {
		policies = []corev1.PodSELinuxChangePolicy{
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive,
		}
	}
	return append(errs, check.OptionalOneOf(p.Child("seLinuxChangePolicy"), sc.SELinuxChangePolicy, policies...)...)
}

// Sysctls are named with dots or slashes between the parts, in at most 253 bytes.
const (
	sysctlPattern = `^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`
	maxSysctl     = 253
)

var sysctlName = names.Pattern(sysctlPattern)

// checkSysctls checks the kernel parameters that a pod sets (KEP-34). Each belongs to a namespace.
// A pod that shares the namespace with the node must not set the parameter, because the parameter
// would change for the whole node.
func (c *specCheck) checkSysctls(p *field.Path, sysctls []corev1.Sysctl) field.ErrorList {
	var errs field.ErrorList
	seen := check.Duplicates{}
	for i, s := range field.Each(&errs, sysctls) {
		p := p.Index(i).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(p, ""))
		case len(s.Name) > maxSysctl || !sysctlName().MatchString(s.Name):
			errs = append(errs, field.Invalid(p, s.Name,
				fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctl, sysctlPattern)))
		case seen[s.Name]:
			errs = append(errs, field.Duplicate(p, s.Name))
		}
		seen.Add(s.Name)
		if of := hostSysctl(c.spec, s.Name); of != "" && !c.was.has(hostSysctls) {
			errs = append(errs, field.Invalid(p, s.Name, "may not be specified when '"+of+"' is true"))
		}
	}
	return errs
}

// hostSysctl returns the field by which the pod shares the namespace of a sysctl with the node, ""
// if the pod does not share it.
func hostSysctl(spec *corev1.PodSpec, name string) string {
	switch {
	case spec.HostNetwork && isNetSysctl(name):
		return "hostNetwork"
	case spec.HostIPC && isIPCSysctl(name):
		return "hostIPC"
	}
	return ""
}

// dotted returns a sysctl with dots between its parts. If the first separator is a slash, slashes
// separate the parts, and dots are part of a name: net/ipv4/conf/eth0.1/x is
// net.ipv4.conf.eth0/1.x.
func dotted(name string) string {
	if i := strings.IndexAny(name, "./"); i >= 0 && name[i] == '/' {
		return strings.NewReplacer("/", ".", ".", "/").Replace(name)
	}
	return name
}

// isNetSysctl reports whether a sysctl belongs to the network namespace.
func isNetSysctl(name string) bool { return strings.HasPrefix(dotted(name), "net.") }

// isIPCSysctl reports whether a sysctl belongs to the IPC namespace.
func isIPCSysctl(name string) bool {
	name = dotted(name)
	for _, prefix := range []string{"kernel.shm", "kernel.msg", "fs.mqueue."} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return name == "kernel.sem"
}

// checkSeccomp checks a seccomp profile (KEP-135). The type Localhost needs a file below the
// kubelet's seccomp directory, other types must not have one.
func checkSeccomp(p *field.Path, profile *corev1.SeccompProfile) field.ErrorList {
	if profile == nil {
		return nil
	}
	var errs field.ErrorList
	if profile.Type == "" {
		errs = append(errs, field.Required(p.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = append(errs, check.Supported(p.Child("type"), profile.Type, corev1.SeccompProfileTypeLocalhost,
			corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)...)
	}
	at, file := p.Child("localhostProfile"), profile.LocalhostProfile
	switch local := profile.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && file == nil:
		errs = append(errs, field.Required(at, "must be set when seccomp type is Localhost"))
	case local:
		errs = append(errs, check.DescendingPath(at, *file)...)
	case file != nil:
		errs = append(errs, field.Invalid(at, govalue.JSON(profile), "can only be set when seccomp type is Localhost"))
	}
	return errs
}

// maxAppArmorProfile is the longest name of an AppArmor profile, in bytes: that of a path in Linux.
const maxAppArmorProfile = 4095

// checkAppArmor checks an AppArmor profile (KEP-24). The type Localhost needs the name of a profile
// that is loaded on the node, other types must not have one.
func checkAppArmor(p *field.Path, profile *corev1.AppArmorProfile) field.ErrorList {
	if profile == nil {
		return nil
	}
	at, name := p.Child("localhostProfile"), profile.LocalhostProfile
	switch profile.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if name == nil {
			return field.ErrorList{field.Required(at, "must be set when AppArmor type is Localhost")}
		}
		var errs field.ErrorList
		if trimmed := strings.TrimSpace(*name); trimmed != *name {
			errs = append(errs, field.Invalid(at, *name, "must not be padded with whitespace"))
		} else if trimmed == "" {
			errs = append(errs, field.Required(at, "must be set when AppArmor type is Localhost"))
		}
		if len(*name) > maxAppArmorProfile {
			errs = append(errs, field.TooLong(at, *name, maxAppArmorProfile))
		}
		return errs
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if name != nil {
			return field.ErrorList{field.Invalid(at, *name, "can only be set when AppArmor type is Localhost")}
		}
		return nil
	case "":
		return field.ErrorList{field.Required(p.Child("type"), "type is required when appArmorProfile is set")}
	}
	return check.Supported(p.Child("type"), profile.Type, corev1.AppArmorProfileTypeLocalhost,
		corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)
}

// Limits of Windows: bytes of a credential spec, characters of a user's domain and name.
const (
	maxGMSASpec      = 64 << 10
	maxWindowsDomain = 256
	maxWindowsUser   = 104
)

// The parts of a Windows user name. A NetBIOS domain has at most 15 characters, none of them
// reserved; a DNS domain has labels of at most 63.
var (
	controlChars  = names.Pattern(`[[:cntrl:]]+`)
	onlyDots      = names.Pattern(`^[\. ]+$`)
	netBIOSDomain = names.Pattern(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	dnsDomain     = names.Pattern(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
)

// badUserChars are the characters that Windows reserves in user names.
const badUserChars = `"/\:;|=,+*?<>@[]`

// checkWindowsOptions checks the Windows options of a pod or container. Errors show pointers, as
// kube-apiserver's do, so that their strings are quoted as JSON.
func checkWindowsOptions(p *field.Path, o *corev1.WindowsSecurityContextOptions) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if o.GMSACredentialSpecName != nil {
		errs = append(errs, check.Invalid(p.Child("gmsaCredentialSpecName"), o.GMSACredentialSpecName,
			names.IsDNS1123Subdomain(*o.GMSACredentialSpecName))...)
	}
	if spec := o.GMSACredentialSpec; spec != nil {
		at := p.Child("gmsaCredentialSpec")
		switch {
		case *spec == "":
			errs = append(errs, field.Invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
		case len(*spec) > maxGMSASpec:
			errs = append(errs, field.Invalid(at, spec, "gmsaCredentialSpec size must be under 64 KiB"))
		}
	}
	if o.RunAsUserName != nil {
		errs = append(errs, check.Invalid(p.Child("runAsUserName"), o.RunAsUserName, windowsUser(*o.RunAsUserName))...)
	}
	return errs
}

// windowsUser returns messages about a user name of the form user or domain\user.
func windowsUser(name string) []string {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case controlChars().MatchString(name):
		return []string{"runAsUserName cannot contain control characters"}
	case len(parts) > 2:
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	var msgs []string
	user := parts[len(parts)-1]
	if len(parts) == 2 {
		if len(parts[0]) >= maxWindowsDomain {
			msgs = append(msgs,
				fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxWindowsDomain))
		}
		if !netBIOSDomain().MatchString(parts[0]) && !dnsDomain().MatchString(parts[0]) {
			msgs = append(msgs, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
		}
	}
	switch {
	case user == "":
		msgs = append(msgs, "runAsUserName's User cannot be empty")
	case len(user) > maxWindowsUser:
		msgs = append(msgs, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxWindowsUser))
	}
	if onlyDots().MatchString(user) {
		msgs = append(msgs, "runAsUserName's User cannot contain only periods or spaces")
	}
	if strings.ContainsAny(user, badUserChars) {
		msgs = append(msgs, "runAsUserName's User cannot contain the following characters: "+badUserChars)
	}
	return msgs
}

// checkHostProcess checks Windows host process containers (KEP-1981): in a pod either all
// containers are host processes or none. They run on the node's network and are privileged.
func (c *specCheck) checkHostProcess(p *field.Path) field.ErrorList {
	var podOptions *corev1.WindowsSecurityContextOptions
	if c.spec.SecurityContext != nil {
		podOptions = c.spec.SecurityContext.WindowsOptions
	}
	podWants := podOptions != nil && scheme.OrZero(podOptions.HostProcess)
	var errs field.ErrorList
	var with, without int
	for p, ctr := range Containers(p, c.spec) {
		own := podWants
		sc := ctr.SecurityContext
		if sc != nil && sc.WindowsOptions != nil && sc.WindowsOptions.HostProcess != nil {
			own = *sc.WindowsOptions.HostProcess
			if podOptions != nil && podOptions.HostProcess != nil && own != podWants && !errs.Full() {
				at := p.Child("securityContext", "windowsOptions", "hostProcess")
				errs = append(errs, field.Invalid(at, own, fmt.Sprintf("pod hostProcess value must be identical "+
					"if both are specified, was %v", podWants)))
			}
		}
		if own {
			with++
		} else {
			without++
		}
	}
	if with == 0 {
		return errs
	}
	if without > 0 {
		errs = append(errs, field.Invalid(p, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !c.spec.HostNetwork {
		errs = append(errs, field.Invalid(p.Child("hostNetwork"), false,
			"hostNetwork must be true if pod contains any hostProcess containers"))
	}
	if !c.AllowPrivileged {
		errs = append(errs, field.Forbidden(p, "hostProcess containers are disallowed by cluster policy"))
	}
	return errs
}

// checkHostUsers checks a pod with a user namespace of its own (hostUsers: false, KEP-127). Such a
// pod must not share other namespaces with the node, nor use block devices, whose owner is not
// mapped. An update may keep the node's network and block devices; HostPID and HostIPC are spelled
// as in kube-apiserver.
func (c *specCheck) checkHostUsers(p *field.Path) field.ErrorList {
	spec := c.spec
	if !hasUserNamespace(spec) {
		return nil
	}
	const msg = "when `hostUsers` is false"
	errs := check.Forbidden(p, msg, []check.Setting{
		{"hostNetwork", spec.HostNetwork && !c.was.has(userNamespaceOnHost)}, {"HostPID", spec.HostPID},
		{"HostIPC", spec.HostIPC},
	})
	if c.was.has(userNamespaceDevices) {
		return errs
	}
	for p, ctr := range Containers(p, spec) {
		if errs.Full() {
			break
		}
		if len(ctr.VolumeDevices) > 0 {
			errs = append(errs, field.Forbidden(p.Child("volumeDevices"), msg))
		}
	}
	return errs
}
