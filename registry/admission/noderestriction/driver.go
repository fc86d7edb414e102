package noderestriction

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
)

// This file finds the CSI driver of a volume. token.go asks for it, because a driver may request
// tokens for the pods that use its volumes (CSIDriver.spec.tokenRequests). For the volume types
// that kubelets once mounted themselves, it finds the driver that replaced them.

// driver returns the name of the CSI driver that serves a volume of a pod, "" if none does.
func (r *Plugin) driver(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	claim := ""
	switch {
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		claim = pod.Name + "-" + v.Name
	case v.PersistentVolumeClaim != nil:
		claim = v.PersistentVolumeClaim.ClaimName
	case v.CSI != nil:
		return v.CSI.Driver, nil
	default:
		return inlineDriver(&v.VolumeSource)
	}
	bound, err := r.objects.Claim(ctx, pod.Namespace, claim)
	if err != nil {
		return "", err
	}
	pv, err := r.objects.Volume(ctx, bound.Spec.VolumeName)
	if err != nil {
		return "", err
	}
	return volumeDriver(pv)
}

// The CSI drivers that serve the volume types that kubelets once mounted themselves (CSI migration,
// KEP-625).
const (
	driverGCE       = "pd.csi.storage.gke.io"
	driverAWS       = "ebs.csi.aws.com"
	driverCinder    = "cinder.csi.openstack.org"
	driverAzureDisk = "disk.csi.azure.com"
	driverAzureFile = "file.csi.azure.com"
	driverVSphere   = "csi.vsphere.vmware.com"
	driverPortworx  = "pxd.portworx.com"
)

// inlineDriver returns the CSI driver that serves a volume in a pod's spec, "" if none does.
// Kubernetes finds it by translating the volume to a CSI volume; the errors here are those of that
// translation.
func inlineDriver(v *corev1.VolumeSource) (string, error) {
	switch {
	case v.GCEPersistentDisk != nil:
		return driverGCE, nil
	case v.AWSElasticBlockStore != nil:
		return driverAWS, checkAWSDisk(v.AWSElasticBlockStore)
	case v.Cinder != nil:
		return driverCinder, nil
	case v.AzureDisk != nil:
		return driverAzureDisk, checkAzureDisk(v.AzureDisk)
	case v.AzureFile != nil:
		return driverAzureFile, nil
	case v.VsphereVolume != nil:
		return driverVSphere, nil
	case v.PortworxVolume != nil:
		return driverPortworx, nil
	}
	return "", nil
}

// volumeDriver returns the CSI driver that serves a persistent volume, as inlineDriver does for a
// volume in a pod.
func volumeDriver(pv *corev1.PersistentVolume) (string, error) {
	switch s := &pv.Spec.PersistentVolumeSource; {
	case s.CSI != nil:
		return s.CSI.Driver, nil
	case s.GCEPersistentDisk != nil:
		return driverGCE, checkGCEZones(pv)
	case s.AWSElasticBlockStore != nil:
		return driverAWS, checkAWSDisk(s.AWSElasticBlockStore)
	case s.Cinder != nil:
		return driverCinder, nil
	case s.AzureDisk != nil:
		return driverAzureDisk, checkAzureDisk(s.AzureDisk)
	case s.AzureFile != nil:
		return driverAzureFile, checkAzureSecret(pv)
	case s.VsphereVolume != nil:
		return driverVSphere, nil
	case s.PortworxVolume != nil:
		return driverPortworx, nil
	}
	return "", nil
}

// checkAWSDisk refuses a volume id that is neither plain, such as vol-1, nor a URL:
// aws://<zone>/vol-<number>.
func checkAWSDisk(disk *corev1.AWSElasticBlockStoreVolumeSource) error {
	if !strings.HasPrefix(disk.VolumeID, "aws://") {
		return nil
	}
	const failed = "failed to translate Kubernetes ID to EBS Volume ID "
	u, err := url.Parse(disk.VolumeID)
	if err != nil {
		return fmt.Errorf(failed+"Invalid disk name (%s): %w", disk.VolumeID, err)
	}
	if id, ok := strings.CutPrefix(strings.Trim(u.Path, "/"), "vol-"); !ok || strings.Contains(id, "/") {
		return fmt.Errorf(failed+"Invalid format for AWS volume (%s)", disk.VolumeID)
	}
	return nil
}

// checkAzureDisk refuses a disk that is not managed.
func checkAzureDisk(disk *corev1.AzureDiskVolumeSource) error {
	if kind := disk.Kind; kind != nil && !strings.EqualFold(string(*kind), "Managed") {
		return fmt.Errorf("kind(%s) is not supported in csi migration", *kind)
	}
	return nil
}

// checkAzureSecret refuses a file share without a namespace for its secret: its own, or that of the
// claim.
func checkAzureSecret(pv *corev1.PersistentVolume) error {
	namespace := scheme.OrZero(pv.Spec.ClaimRef).Namespace
	if own := pv.Spec.AzureFile.SecretNamespace; own != nil {
		namespace = *own
	}
	if namespace == "" {
		return errors.New("could not find a secret namespace in PersistentVolumeSource or ClaimRef")
	}
	return nil
}

// checkGCEZones refuses a regional disk, whose zones are joined by "__" in a label, if its zones
// are not in one region.
func checkGCEZones(pv *corev1.PersistentVolume) error {
	zones := strings.Split(
		cmp.Or(pv.Labels["failure-domain.beta.kubernetes.io/zone"], pv.Labels["topology.kubernetes.io/zone"]), "__",
	)
	if len(zones) < 2 {
		return nil
	}
	const failed = "failed to get region from zones: "
	regions := map[string]struct{}{}
	for _, zone := range zones {
		parts := strings.Split(zone, "-") // <continent>-<region>-<zone>
		if len(parts) != 3 {
			return fmt.Errorf(failed+"zone in unexpected format, expected: {locale}-{region}-{zone}, got: %s", zone)
		}
		regions[parts[0]+"-"+parts[1]] = struct{}{}
	}
	if len(regions) > 1 {
		return fmt.Errorf(failed+"multiple or no regions gotten from zones, got: %v", regions)
	}
	return nil
}
