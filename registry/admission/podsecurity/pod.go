package podsecurity

import (
	"strings"

	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file has the checks of fields that only pods have: namespaces of the node, volumes, sysctls.

// hostNamespaces forbids the network, process and IPC namespaces of the node.
func hostNamespaces(p *subject) Violation {
	var shared []string
	if p.spec.HostNetwork {
		shared = append(shared, "hostNetwork=true")
	}
	if p.spec.HostPID {
		shared = append(shared, "hostPID=true")
	}
	if p.spec.HostIPC {
		shared = append(shared, "hostIPC=true")
	}
	if shared == nil {
		return Violation{}
	}
	return Violation{"host namespaces", strings.Join(shared, ", ")}
}

// hostPaths forbids volumes that mount files of the node.
func hostPaths(p *subject) Violation {
	var bad []string
	for i := range p.spec.Volumes {
		if v := &p.spec.Volumes[i]; v.HostPath != nil {
			bad = append(bad, v.Name)
		}
	}
	if bad == nil {
		return Violation{}
	}
	return Violation{"hostPath volumes", named("volume", bad)}
}

// restrictedVolumes allows only the types of volumes that harmless lists. The other types give
// access to files of the node or to servers that the user names.
func restrictedVolumes(p *subject) Violation {
	var bad, types []string
	for i := range p.spec.Volumes {
		v := &p.spec.Volumes[i]
		if !harmless(&v.VolumeSource) {
			bad, types = append(bad, v.Name), append(types, volumeType(&v.VolumeSource))
		}
	}
	if bad == nil {
		return Violation{}
	}
	types = sorted(types)
	return Violation{"restricted volume types", named("volume", bad) + " " + uses(len(bad)) + " " +
		named("restricted volume type", types)}
}

// harmless reports whether Restricted allows a volume.
func harmless(v *corev1.VolumeSource) bool {
	return v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
		v.Image != nil || v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil
}

// volumeType returns the type of a volume that is not harmless.
func volumeType(v *corev1.VolumeSource) string {
	for _, t := range [...]struct {
		is   bool
		name string
	}{
		{v.HostPath != nil, "hostPath"},
		{v.GCEPersistentDisk != nil, "gcePersistentDisk"},
		{v.AWSElasticBlockStore != nil, "awsElasticBlockStore"},
		{v.GitRepo != nil, "gitRepo"},
		{v.NFS != nil, "nfs"},
		{v.ISCSI != nil, "iscsi"},
		{v.Glusterfs != nil, "glusterfs"},
		{v.RBD != nil, "rbd"},
		{v.FlexVolume != nil, "flexVolume"},
		{v.Cinder != nil, "cinder"},
		{v.CephFS != nil, "cephfs"},
		{v.Flocker != nil, "flocker"},
		{v.FC != nil, "fc"},
		{v.AzureFile != nil, "azureFile"},
		{v.VsphereVolume != nil, "vsphereVolume"},
		{v.Quobyte != nil, "quobyte"},
		{v.AzureDisk != nil, "azureDisk"},
		{v.PhotonPersistentDisk != nil, "photonPersistentDisk"},
		{v.PortworxVolume != nil, "portworxVolume"},
		{v.ScaleIO != nil, "scaleIO"},
		{v.StorageOS != nil, "storageos"},
	} {
		if t.is {
			return t.name
		}
	}
	return "unknown"
}

// sysctls are the settings of a kernel that Baseline allows, each with the first version that
// allows it. Each changes only the pod.
var sysctls = map[string]Version{
	"kernel.shm_rmid_forced":              0,
	"net.ipv4.ip_local_port_range":        0,
	"net.ipv4.tcp_syncookies":             0,
	"net.ipv4.ping_group_range":           0,
	"net.ipv4.ip_unprivileged_port_start": 0,
	"net.ipv4.ip_local_reserved_ports":    27,
	"net.ipv4.tcp_keepalive_time":         29,
	"net.ipv4.tcp_fin_timeout":            29,
	"net.ipv4.tcp_keepalive_intvl":        29,
	"net.ipv4.tcp_keepalive_probes":       29,
	"net.ipv4.tcp_rmem":                   32,
	"net.ipv4.tcp_wmem":                   32,
}

// unsafeSysctls returns the check that allows only the sysctls of a version.
func unsafeSysctls(version Version) checkFunc {
	return func(p *subject) Violation {
		if p.spec.SecurityContext == nil {
			return Violation{}
		}
		var bad []string
		for i := range p.spec.SecurityContext.Sysctls {
			name := p.spec.SecurityContext.Sysctls[i].Name
			if since, known := sysctls[name]; !known || since > version {
				bad = append(bad, name)
			}
		}
		if bad == nil {
			return Violation{}
		}
		return Violation{"forbidden sysctls", strings.Join(bad, ", ")}
	}
}
