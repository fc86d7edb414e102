package differential

import (
	"context"
	"path"
	"reflect"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/registry/generic"
	"k8s.io/apiserver/pkg/storage"
	"k8s.io/apiserver/pkg/storage/storagebackend"
	"k8s.io/apiserver/pkg/storage/storagebackend/factory"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
)

// shelf is a store for Kubernetes' registries with the objects that the test puts there. Most
// writes are dry runs, for which Get is enough; GuaranteedUpdate and Delete are for actions on
// objects.
type shelf struct {
	storage.Interface // nil: other methods panic

	mu      sync.RWMutex
	objects map[string]runtime.Object // internal versions, by key
	writes  uint64                    // the resourceVersion of the last write
}

func newShelf() *shelf { return &shelf{objects: map[string]runtime.Object{}, writes: 1 << 20} }

// place is the key of an object in kube-apiserver's store. Messages show keys.
func place(resource, namespace, name string) string {
	return path.Join(prefix(resource), namespace, name)
}

func prefix(resource string) string {
	if old, ok := historical[resource]; ok {
		resource = old
	}
	return "/registry/" + resource
}

var historical = map[string]string{
	"endpoints": "services/endpoints", "ingresses": "ingress", "nodes": "minions", "replicationcontrollers": "controllers",
	"services": "services/specs", "customresourcedefinitions": "apiextensions.k8s.io/customresourcedefinitions",
	"apiservices": "apiregistration.k8s.io/apiservices",
}

func (s *shelf) put(resource, namespace, name string, obj runtime.Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.objects[place(resource, namespace, name)] = obj
}

func (s *shelf) Versioner() storage.Versioner { return storage.APIObjectVersioner{} }

func (s *shelf) Get(_ context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	s.mu.RLock()
	obj := s.objects[key]
	s.mu.RUnlock()
	switch {
	case obj != nil:
		reflect.ValueOf(out).Elem().Set(reflect.ValueOf(obj.DeepCopyObject()).Elem())
	case opts.IgnoreNotFound:
		reflect.ValueOf(out).Elem().SetZero()
	default:
		return storage.NewKeyNotFoundError(key, 0)
	}
	return nil
}

// GuaranteedUpdate has one caller at a time, so the first try succeeds.
func (s *shelf) GuaranteedUpdate(ctx context.Context, key string, out runtime.Object, ignoreNotFound bool, pre *storage.Preconditions,
	try storage.UpdateFunc, _ runtime.Object) error {
	if err := s.Get(ctx, key, storage.GetOptions{IgnoreNotFound: ignoreNotFound}, out); err != nil {
		return err
	}
	if err := pre.Check(key, out); err != nil {
		return err
	}
	changed, _, err := try(out.DeepCopyObject(), storage.ResponseMeta{})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !reflect.DeepEqual(changed, out) {
		s.writes++
		if err := s.Versioner().UpdateObject(changed, s.writes); err != nil {
			return err
		}
	}
	s.objects[key] = changed.DeepCopyObject()
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(changed).Elem())
	return nil
}

func (s *shelf) Delete(ctx context.Context, key string, out runtime.Object, pre *storage.Preconditions, check storage.ValidateObjectFunc,
	_ runtime.Object, _ storage.DeleteOptions) error {
	if err := s.Get(ctx, key, storage.GetOptions{}, out); err != nil {
		return err
	}
	if err := pre.Check(key, out); err != nil {
		return err
	}
	if err := check(ctx, out); err != nil {
		return err
	}
	s.remove(key)
	return nil
}

func (s *shelf) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.objects, key)
}

func (s *shelf) ReadinessCheck() error { return nil }

// GetRESTOptions implements generic.RESTOptionsGetter, by which kube-apiserver's registries find
// their store.
func (s *shelf) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config{Codec: legacyscheme.Codecs.LegacyCodec(storageVersion(resource.Group, example))}
	return generic.RESTOptions{
		StorageConfig:  config.ForResource(resource),
		ResourcePrefix: prefix(resource.Resource), EnableGarbageCollection: true,
		Decorator: func(*storagebackend.ConfigForResource, string, func(runtime.Object) (string, error), func() runtime.Object,
			func() runtime.Object, storage.AttrFunc, storage.IndexerFuncs, *cache.Indexers) (storage.Interface, factory.DestroyFunc, error) {
			return s, func() {}, nil
		},
	}, nil
}

// storageVersion is the preferred version of a group that has example's kind.
func storageVersion(group string, example runtime.Object) schema.GroupVersion {
	kinds, _, err := legacyscheme.Scheme.ObjectKinds(example)
	if err != nil {
		panic(err)
	}
	for _, gv := range legacyscheme.Scheme.PrioritizedVersionsForGroup(group) {
		if legacyscheme.Scheme.Recognizes(gv.WithKind(kinds[0].Kind)) {
			return gv
		}
	}
	panic("no version of group " + group + " has " + kinds[0].Kind)
}
