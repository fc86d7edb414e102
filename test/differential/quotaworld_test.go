package differential

import (
	"fmt"
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	resourcequotaapi "k8s.io/apiserver/pkg/admission/plugin/resourcequota/apis/resourcequota"
)

// This file makes the random objects, quotas and limited resources that TestQuota judges.

// quantity is mostly small, so that sums meet the limits of quotas.
func (w *quotaWorld) quantity() resource.Quantity {
	if w.made && chance(w.rnd, 16) {
		return resource.MustParse("12E") // more than an int64; sums of it with binary quantities cannot be parsed
	}
	return resource.MustParse(pick(w.rnd, "0", "1", "2", "3", "100m", "250m", "1500m", "1k", "1Ki", "1Mi", "1.5Gi", "2Gi", "1e3", "0.5", "100001u"))
}

func (w *quotaWorld) amounts(names ...corev1.ResourceName) corev1.ResourceList {
	list := corev1.ResourceList{}
	for _, name := range names {
		if chance(w.rnd, 2) {
			list[name] = w.quantity()
		}
	}
	if chance(w.rnd, 150) {
		list[names[0]] = resource.MustParse("-1")
	}
	if len(list) == 0 && chance(w.rnd, 2) {
		return nil
	}
	return list
}

var computeNames = []corev1.ResourceName{"cpu", "memory", "cpu", "memory", "ephemeral-storage", "hugepages-2Mi", "example.com/gpu", "deviceclass.resource.kubernetes.io/gpu", "requests.example.com/gpu",
	"kubernetes.io/batch-cpu", "example.com/a_name_that_is_far_too_long_for_a_quota_to_say_requests_before"}

// compute are amounts of resources that containers have.
func (w *quotaWorld) compute() corev1.ResourceList {
	if chance(w.rnd, 3) {
		return w.amounts("cpu", "memory")
	}
	names := slices.Clone(computeNames)
	w.rnd.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	return w.amounts(names[:1+w.rnd.IntN(4)]...)
}

// object makes an object of a resource in the namespace "ns".
func (w *quotaWorld) object(r schema.GroupResource) (obj quotaObject) {
	switch r {
	case podResource:
		obj = w.pod()
	case svcResource:
		s := &corev1.Service{}
		s.Spec.Type = pick(w.rnd, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer, corev1.ServiceTypeExternalName, "")
		for range w.rnd.IntN(4) {
			s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Port: 80, NodePort: pick(w.rnd, int32(0), 30000)})
		}
		if chance(w.rnd, 2) {
			s.Spec.AllocateLoadBalancerNodePorts = new(chance(w.rnd, 2))
		}
		obj = s
	case pvcResource:
		obj = w.volumeClaim()
	case claimResource:
		obj = w.deviceClaim()
	case schema.GroupResource{Group: "apps", Resource: "deployments"}:
		obj = &appsv1.Deployment{}
	default:
		obj = &corev1.ConfigMap{}
	}
	obj.SetNamespace("ns")
	return obj
}

// change changes a little of an object.
func (w *quotaWorld) change(obj quotaObject) {
	switch x := obj.(type) {
	case *corev1.Pod:
		other := w.pod()
		switch w.rnd.IntN(6) {
		case 0:
			x.Spec.ActiveDeadlineSeconds = other.Spec.ActiveDeadlineSeconds
		case 1:
			x.Spec.Resources = other.Spec.Resources
		case 2:
			x.Status = other.Status
		default:
			for i := range x.Spec.Containers {
				x.Spec.Containers[i].Resources.Requests = w.compute()
			}
		}
	case *corev1.Service:
		x.Spec.Type = pick(w.rnd, corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeLoadBalancer)
	case *corev1.PersistentVolumeClaim:
		other := w.volumeClaim()
		if chance(w.rnd, 2) {
			x.Status = other.Status
		} else {
			x.Spec.Resources = other.Spec.Resources
		}
	case *resourcev1.ResourceClaim:
		x.Spec = w.deviceClaim().Spec
	}
}

func (w *quotaWorld) pod() *corev1.Pod {
	pod := &corev1.Pod{}
	status := func(name string) (s corev1.ContainerStatus) {
		s.Name = name
		if !chance(w.rnd, 3) {
			s.Resources = &corev1.ResourceRequirements{Requests: w.compute(), Limits: w.compute()}
		}
		if chance(w.rnd, 2) {
			s.AllocatedResources = w.compute()
		}
		return s
	}
	running := chance(w.rnd, 3)
	if chance(w.rnd, 4) {
		devices := corev1.ResourceList{pick(w.rnd, corev1.ResourceName("example.com/gpu"), "deviceclass.resource.kubernetes.io/gpu"): resource.MustParse(pick(w.rnd, "1", "2"))}
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Name: "gpu", Resources: corev1.ResourceRequirements{Requests: devices}})
	}
	for range 1 + w.rnd.IntN(3) {
		c := corev1.Container{Name: pick(w.rnd, "a", "b", "c", "d"), Resources: corev1.ResourceRequirements{Requests: w.compute(), Limits: w.compute()}}
		pod.Spec.Containers = append(pod.Spec.Containers, c)
		if running && !chance(w.rnd, 4) {
			pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, status(c.Name))
		}
	}
	for range w.rnd.IntN(4) {
		c := corev1.Container{Name: pick(w.rnd, "i", "j", "k", "a"), Resources: corev1.ResourceRequirements{Requests: w.compute(), Limits: w.compute()}}
		if chance(w.rnd, 2) {
			c.RestartPolicy = new(pick(w.rnd, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever))
		}
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		if running && !chance(w.rnd, 4) {
			pod.Status.InitContainerStatuses = append(pod.Status.InitContainerStatuses, status(c.Name))
		}
	}
	if chance(w.rnd, 4) {
		pod.Spec.Resources = &corev1.ResourceRequirements{Requests: w.compute(), Limits: w.compute()}
	}
	if chance(w.rnd, 5) {
		pod.Spec.Overhead = w.compute()
		if pod.Spec.Resources != nil {
			// Each time that Kubernetes computes the usage, it adds the overhead to the spec itself
			// if a quantity of the whole pod, such as 1.5Gi, is stored behind a pointer. So these
			// quantities are simple.
			for _, list := range []corev1.ResourceList{pod.Spec.Resources.Requests, pod.Spec.Resources.Limits} {
				for name := range list {
					list[name] = resource.MustParse(pick(w.rnd, "1", "250m", "1Mi", "0"))
				}
			}
		}
	}
	if chance(w.rnd, 3) {
		pod.Spec.ActiveDeadlineSeconds = new(pick(w.rnd, int64(5), 0, -1))
	}
	if chance(w.rnd, 2) {
		pod.Spec.PriorityClassName = pick(w.rnd, "high", "low", "middle")
	}
	if chance(w.rnd, 4) {
		pod.Spec.Affinity = w.affinity()
	}
	w.podStatus(pod)
	return pod
}

func (w *quotaWorld) podStatus(pod *corev1.Pod) {
	pod.Status.Phase = pick(w.rnd, corev1.PodPending, corev1.PodPending, corev1.PodRunning, corev1.PodRunning, corev1.PodSucceeded, corev1.PodFailed, "")
	if chance(w.rnd, 8) {
		pod.Status.QOSClass = pick(w.rnd, corev1.PodQOSBestEffort, corev1.PodQOSBurstable)
	}
	for range w.rnd.IntN(3) {
		pod.Status.Conditions = append(pod.Status.Conditions, corev1.PodCondition{Type: pick(w.rnd, corev1.PodReady, corev1.PodResizePending, corev1.PodResizePending),
			Reason: pick(w.rnd, corev1.PodReasonInfeasible, corev1.PodReasonDeferred)})
	}
	if chance(w.rnd, 6) {
		pod.Status.Resources = &corev1.ResourceRequirements{Requests: w.compute()}
	}
	if chance(w.rnd, 5) {
		pod.DeletionTimestamp = &metav1.Time{Time: w.now.Add(pick(w.rnd, -time.Hour, time.Hour))}
		if !chance(w.rnd, 3) {
			pod.DeletionGracePeriodSeconds = new(pick(w.rnd, int64(30), 7200))
		}
	}
	if chance(w.rnd, 4) {
		pod.Status.ExtendedResourceClaimStatus = &corev1.PodExtendedResourceClaimStatus{ResourceClaimName: pick(w.rnd, "p0", "p1", "x")}
	}
}

func (w *quotaWorld) affinity() *corev1.Affinity {
	term := func() (t corev1.PodAffinityTerm) {
		switch w.rnd.IntN(5) {
		case 0:
			t.Namespaces = []string{"other"}
		case 1:
			t.NamespaceSelector = &metav1.LabelSelector{}
		}
		return t
	}
	a := &corev1.Affinity{}
	if chance(w.rnd, 2) {
		a.PodAffinity = &corev1.PodAffinity{}
		if chance(w.rnd, 2) {
			a.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term(), term()}
		} else {
			a.PodAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}}
		}
	}
	if chance(w.rnd, 2) {
		a.PodAntiAffinity = &corev1.PodAntiAffinity{}
		if chance(w.rnd, 2) {
			a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution = []corev1.PodAffinityTerm{term()}
		} else {
			a.PodAntiAffinity.PreferredDuringSchedulingIgnoredDuringExecution = []corev1.WeightedPodAffinityTerm{{PodAffinityTerm: term()}}
		}
	}
	return a
}

func (w *quotaWorld) volumeClaim() *corev1.PersistentVolumeClaim {
	claim := &corev1.PersistentVolumeClaim{}
	claim.Spec.Resources.Requests = w.amounts("storage", "storage", "cpu")
	if chance(w.rnd, 2) {
		claim.Spec.StorageClassName = new(pick(w.rnd, "gold", "silver", ""))
	}
	if chance(w.rnd, 8) {
		claim.Annotations = map[string]string{corev1.BetaStorageClassAnnotation: pick(w.rnd, "gold", "bronze", "")}
	}
	if chance(w.rnd, 2) {
		claim.Spec.VolumeAttributesClassName = new(pick(w.rnd, "high", "low", ""))
	}
	if chance(w.rnd, 3) {
		claim.Status.CurrentVolumeAttributesClassName = new(pick(w.rnd, "high", "low", "middle", ""))
	}
	if chance(w.rnd, 4) {
		claim.Status.ModifyVolumeStatus = &corev1.ModifyVolumeStatus{TargetVolumeAttributesClassName: pick(w.rnd, "high", "low", "")}
	}
	if chance(w.rnd, 3) {
		claim.Status.AllocatedResources = w.amounts("storage", "storage", "cpu")
	}
	return claim
}

func (w *quotaWorld) deviceClaim() *resourcev1.ResourceClaim {
	claim := &resourcev1.ResourceClaim{}
	mode := func() (resourcev1.DeviceAllocationMode, int64) {
		return pick(w.rnd, resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeExactCount, resourcev1.DeviceAllocationModeAll, "Other"), int64(w.rnd.IntN(4))
	}
	class := func() string { return pick(w.rnd, "gpu", "gpu", "nic", "disk", "none", "") }
	for range w.rnd.IntN(4) {
		r := resourcev1.DeviceRequest{Name: "r"}
		switch w.rnd.IntN(5) {
		case 0:
		case 1, 2:
			for range 1 + w.rnd.IntN(3) {
				s := resourcev1.DeviceSubRequest{DeviceClassName: class()}
				s.AllocationMode, s.Count = mode()
				r.FirstAvailable = append(r.FirstAvailable, s)
			}
		default:
			r.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: class()}
			r.Exactly.AllocationMode, r.Exactly.Count = mode()
		}
		claim.Spec.Devices.Requests = append(claim.Spec.Devices.Requests, r)
	}
	if chance(w.rnd, 3) { // as the scheduler makes claims
		pod := pick(w.rnd, "0", "1")
		claim.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: pick(w.rnd, "true", "true", "true", "true", "no")}
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p" + pod, UID: types.UID("u" + pick(w.rnd, pod, pod, pod, "9")), Controller: new(true)}}
		claim.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: int64(1 + w.rnd.IntN(3))}}}
	}
	if !chance(w.rnd, 8) {
		claim.CreationTimestamp = metav1.Time{Time: w.now.Add(time.Duration(-w.rnd.IntN(3)) * time.Second)}
	}
	if len(claim.Annotations) == 0 && chance(w.rnd, 2) {
		claim.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: pick(w.rnd, "true", "true", "true", "false")}
		for range w.rnd.IntN(3) {
			claim.OwnerReferences = append(claim.OwnerReferences, metav1.OwnerReference{APIVersion: pick(w.rnd, "v1", "v1", "v1", "v2"), Kind: pick(w.rnd, "Pod", "Pod", "Pod", "Job"),
				Name: pick(w.rnd, "p0", "p1", "none"), UID: types.UID(pick(w.rnd, "u0", "u1")), Controller: pick(w.rnd, nil, new(true), new(true), new(false))})
		}
	}
	return claim
}

var quotaNames = []corev1.ResourceName{"pods", "count/pods", "cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory", "ephemeral-storage",
	"requests.ephemeral-storage", "limits.ephemeral-storage", "hugepages-2Mi", "requests.hugepages-2Mi", "requests.example.com/gpu", "requests.example.com/nic", "example.com/gpu",
	"requests.deviceclass.resource.kubernetes.io/gpu", "requests.deviceclass.resource.kubernetes.io/none", "deviceclass.resource.kubernetes.io/gpu", "requests.kubernetes.io/x",
	"gpu.deviceclass.resource.k8s.io/devices", "nic.deviceclass.resource.k8s.io/devices", ".deviceclass.resource.k8s.io/devices", "count/resourceclaims.resource.k8s.io",
	"services", "services.nodeports", "services.loadbalancers", "count/services", "persistentvolumeclaims", "requests.storage", "count/persistentvolumeclaims", "storage",
	"gold.storageclass.storage.k8s.io/requests.storage", "gold.storageclass.storage.k8s.io/persistentvolumeclaims", "silver.storageclass.storage.k8s.io/requests.storage",
	"silver.storageclass.storage.k8s.io/other", "secrets", "configmaps", "count/configmaps", "count/secrets", "count/deployments.apps", "count/deployments.extensions", "count/deployments",
	"count/widgets.example.com", "count/widgets", "count/widgets.example.com.org", "count/", "count/none", "replicationcontrollers", "resourcequotas"}

func (w *quotaWorld) quotas() (list []*corev1.ResourceQuota) {
	for i := range pick(w.rnd, 0, 1, 1, 1, 2, 2, 3) {
		q := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("q", i), Namespace: "ns"}}
		q.Status.Hard, q.Status.Used = corev1.ResourceList{}, corev1.ResourceList{}
		few := chance(w.rnd, 2)
		for _, name := range quotaNames {
			if few && !chance(w.rnd, 4) || !few && chance(w.rnd, 4) {
				continue
			}
			hard := resource.MustParse(pick(w.rnd, "1", "5", "20", "100", "10Gi", "40E", "1500m"))
			q.Status.Hard[name] = hard
			if chance(w.rnd, 3) {
				q.Status.Used[name] = w.quantity()
			} else {
				q.Status.Used[name] = resource.Quantity{Format: pick(w.rnd, resource.DecimalSI, resource.BinarySI)}
			}
			if chance(w.rnd, 3) {
				q.Status.Hard[name] = resource.MustParse("500E")
			}
		}
		if chance(w.rnd, 10) {
			for _, name := range slices.Sorted(maps.Keys(q.Status.Used)) {
				delete(q.Status.Used, name)
				break
			}
		}
		if chance(w.rnd, 3) { // constraints of cpu and memory refuse most pods
			for _, name := range []corev1.ResourceName{"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"} {
				delete(q.Status.Hard, name)
			}
		}
		q.Spec.Hard = q.Status.Hard
		for range pick(w.rnd, 0, 0, 0, 1, 2) {
			q.Spec.Scopes = append(q.Spec.Scopes, w.scope())
		}
		if chance(w.rnd, 4) {
			q.Spec.ScopeSelector = &corev1.ScopeSelector{MatchExpressions: w.requirements()}
		}
		list = append(list, q)
	}
	return list
}

func (w *quotaWorld) scope() corev1.ResourceQuotaScope {
	return pick(w.rnd, corev1.ResourceQuotaScopeTerminating, corev1.ResourceQuotaScopeNotTerminating, corev1.ResourceQuotaScopeBestEffort, corev1.ResourceQuotaScopeNotBestEffort,
		corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeCrossNamespacePodAffinity, corev1.ResourceQuotaScopeVolumeAttributesClass)
}

func (w *quotaWorld) requirements() (list []corev1.ScopedResourceSelectorRequirement) {
	for range w.rnd.IntN(3) {
		r := corev1.ScopedResourceSelectorRequirement{ScopeName: w.scope(), Operator: corev1.ScopeSelectorOpExists}
		if !chance(w.rnd, 3) {
			r.ScopeName = pick(w.rnd, corev1.ResourceQuotaScopePriorityClass, corev1.ResourceQuotaScopeVolumeAttributesClass)
			r.Operator = pick(w.rnd, corev1.ScopeSelectorOpIn, corev1.ScopeSelectorOpNotIn, corev1.ScopeSelectorOpExists, corev1.ScopeSelectorOpDoesNotExist)
		}
		if r.Operator == corev1.ScopeSelectorOpIn || r.Operator == corev1.ScopeSelectorOpNotIn {
			r.Values = pick(w.rnd, []string{"high"}, []string{"low", "high"}, []string{"low"})
		}
		if chance(w.rnd, 100) {
			r.Values = []string{"-no-label-", "high", "a b"}
		}
		if chance(w.rnd, 100) {
			r.Operator = "Like"
		}
		list = append(list, r)
	}
	return list
}

func (w *quotaWorld) limited() (list []resourcequotaapi.LimitedResource) {
	if !chance(w.rnd, 4) {
		return nil
	}
	for range 1 + w.rnd.IntN(2) {
		r := quotaResources[w.rnd.IntN(len(quotaResources))]
		if chance(w.rnd, 2) {
			r = podResource
		}
		l := resourcequotaapi.LimitedResource{APIGroup: r.Group, Resource: r.Resource}
		if !chance(w.rnd, 3) {
			l.MatchContains = pick(w.rnd, []string{"cpu", "memory"}, []string{"storageclass"}, []string{"s"}, []string{"count/"}, []string{"gpu"}, nil)
		}
		if chance(w.rnd, 2) {
			l.MatchScopes = w.requirements()
		}
		list = append(list, l)
	}
	return list
}
