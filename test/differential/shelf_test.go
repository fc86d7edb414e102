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

// shelf is what Kubernetes' registries take for a store: objects that the test put there. As all writes are dry runs,
// nobody asks for more than Get.
type shelf struct {
	storage.Interface // nil: what is not below panics

	mu      sync.RWMutex
	objects map[string]runtime.Object // internal versions, by key
}

func newShelf() *shelf { return &shelf{objects: map[string]runtime.Object{}} }

// place is the key of an object, as kube-apiserver has it: keys show in messages.
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
	"services": "services/specs",
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

func (s *shelf) ReadinessCheck() error { return nil }

// GetRESTOptions implements generic.RESTOptionsGetter: what kube-apiserver's registries are made with.
func (s *shelf) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (generic.RESTOptions, error) {
	config := storagebackend.Config{Codec: legacyscheme.Codecs.LegacyCodec(storageVersion(resource.Group, example))}
	return generic.RESTOptions{
		StorageConfig:  config.ForResource(resource),
		ResourcePrefix: prefix(resource.Resource),
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
