package meta

// Typed is anything that carries apiVersion and kind: objects, lists, options, Status.
// Types get it by embedding TypeMeta.
type Typed interface {
	GetTypeMeta() *TypeMeta
}

// Object is a single API object: Typed, with ObjectMeta.
// Types get it by embedding TypeMeta and ObjectMeta.
type Object interface {
	Typed
	GetObjectMeta() *ObjectMeta
}

// List is a list of objects: Typed, with ListMeta. Its elements stand in a field named Items.
type List interface {
	Typed
	GetListMeta() *ListMeta
}

// GetTypeMeta returns t itself, so that embedding TypeMeta makes a type Typed.
func (t *TypeMeta) GetTypeMeta() *TypeMeta { return t }

// GetObjectMeta returns m itself, so that embedding ObjectMeta makes a Typed type an Object.
func (m *ObjectMeta) GetObjectMeta() *ObjectMeta { return m }

// GetListMeta returns m itself, so that embedding ListMeta makes a Typed type a List.
func (m *ListMeta) GetListMeta() *ListMeta { return m }

// GroupVersionKind parses apiVersion and kind. A malformed apiVersion becomes the version.
func (t *TypeMeta) GroupVersionKind() GroupVersionKind {
	gv, ok := ParseGroupVersion(t.APIVersion)
	if !ok {
		gv = GroupVersion{Version: t.APIVersion}
	}
	return gv.WithKind(t.Kind)
}

// SetGroupVersionKind stores gvk as apiVersion and kind.
func (t *TypeMeta) SetGroupVersionKind(gvk GroupVersionKind) {
	t.APIVersion, t.Kind = gvk.GroupVersion().String(), gvk.Kind
}
