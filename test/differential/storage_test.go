package differential

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	volumestore "k8s.io/kubernetes/pkg/registry/core/persistentvolume/storage"
	claimstore "k8s.io/kubernetes/pkg/registry/core/persistentvolumeclaim/storage"
	driverstore "k8s.io/kubernetes/pkg/registry/storage/csidriver/storage"
	csinodestore "k8s.io/kubernetes/pkg/registry/storage/csinode/storage"
	capacitystore "k8s.io/kubernetes/pkg/registry/storage/csistoragecapacity/storage"
	storageclassstore "k8s.io/kubernetes/pkg/registry/storage/storageclass/storage"
	attachmentstore "k8s.io/kubernetes/pkg/registry/storage/volumeattachment/storage"
	attributesstore "k8s.io/kubernetes/pkg/registry/storage/volumeattributesclass/storage"
)

func init() {
	storage := schema.GroupVersion{Group: "storage.k8s.io", Version: "v1"}
	add(
		Row{Kind: v1("PersistentVolume"), Resource: "persistentvolumes", Cluster: true, Big: true, Settle: settleVolume,
			REST: func(o generic.RESTOptionsGetter) (Doors, error) {
				s, status, err := volumestore.NewREST(o)
				return Doors{"": s, "status": status}, err
			}},
		Row{Kind: v1("PersistentVolumeClaim"), Resource: "persistentvolumeclaims", Big: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, status, err := claimstore.NewREST(o)
			return Doors{"": s, "status": status}, err
		}},
		Row{Kind: storage.WithKind("StorageClass"), Resource: "storageclasses", Cluster: true, Alone: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := storageclassstore.NewREST(o)
			return Doors{"": s}, err
		}},
		Row{Kind: storage.WithKind("VolumeAttributesClass"), Resource: "volumeattributesclasses", Cluster: true,
			REST: func(o generic.RESTOptionsGetter) (Doors, error) {
				s, err := attributesstore.NewREST(o)
				return Doors{"": s}, err
			}},
		Row{Kind: storage.WithKind("VolumeAttachment"), Resource: "volumeattachments", Cluster: true,
			REST: func(o generic.RESTOptionsGetter) (Doors, error) {
				s, err := attachmentstore.NewStorage(o)
				if err != nil {
					return nil, err
				}
				return Doors{"": s.VolumeAttachment, "status": s.Status}, nil
			}},
		Row{Kind: storage.WithKind("CSIDriver"), Resource: "csidrivers", Cluster: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := driverstore.NewStorage(o)
			if err != nil {
				return nil, err
			}
			return Doors{"": s.CSIDriver}, nil
		}},
		Row{Kind: storage.WithKind("CSINode"), Resource: "csinodes", Cluster: true, REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := csinodestore.NewStorage(o)
			if err != nil {
				return nil, err
			}
			return Doors{"": s.CSINode}, nil
		}},
		Row{Kind: storage.WithKind("CSIStorageCapacity"), Resource: "csistoragecapacities", REST: func(o generic.RESTOptionsGetter) (Doors, error) {
			s, err := capacitystore.NewStorage(o)
			if err != nil {
				return nil, err
			}
			return Doors{"": s.CSIStorageCapacity}, nil
		}},
	)
}

// settleVolume makes the times of phase transitions equal if they are near, because the servers may
// write them in different seconds.
func settleVolume(theirs, ours map[string]any) {
	their, _ := theirs["status"].(map[string]any)
	our, _ := ours["status"].(map[string]any)
	if a, b := their["lastPhaseTransitionTime"], our["lastPhaseTransitionTime"]; a != nil && b != nil && near(a, b) {
		our["lastPhaseTransitionTime"] = a
	}
}

// near reports whether two times are at most a few seconds apart.
func near(a, b any) bool {
	x, errX := time.Parse(time.RFC3339, fmt.Sprint(a))
	y, errY := time.Parse(time.RFC3339, fmt.Sprint(b))
	return errX == nil && errY == nil && x.Sub(y).Abs() < 5*time.Second
}
