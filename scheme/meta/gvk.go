package meta

import "strings"

// GroupVersion names one version of an API group. The core group is the empty string.
type GroupVersion struct {
	Group   string
	Version string
}

// ParseGroupVersion splits an apiVersion: "v1" is the core group, "apps/v1" the group apps.
// It reports false if there is more than one slash.
func ParseGroupVersion(apiVersion string) (GroupVersion, bool) {
	group, version, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return GroupVersion{Version: apiVersion}, true
	}
	return GroupVersion{Group: group, Version: version}, !strings.Contains(version, "/")
}

// String returns the apiVersion form: "v1", "apps/v1".
func (gv GroupVersion) String() string {
	if gv.Group == "" {
		return gv.Version
	}
	return gv.Group + "/" + gv.Version
}

// WithKind returns the kind in this group version.
func (gv GroupVersion) WithKind(kind string) GroupVersionKind {
	return GroupVersionKind{Group: gv.Group, Version: gv.Version, Kind: kind}
}

// WithResource returns the resource in this group version.
func (gv GroupVersion) WithResource(resource string) GroupVersionResource {
	return GroupVersionResource{Group: gv.Group, Version: gv.Version, Resource: resource}
}

// GroupKind names a kind independent of its version.
type GroupKind struct {
	Group string
	Kind  string
}

// String returns "Kind.group", or "Kind" in the core group.
func (gk GroupKind) String() string {
	if gk.Group == "" {
		return gk.Kind
	}
	return gk.Kind + "." + gk.Group
}

// GroupVersionKind names a kind in one version.
type GroupVersionKind struct {
	Group   string `json:"group" pb:"1"`
	Version string `json:"version" pb:"2"`
	Kind    string `json:"kind" pb:"3"`
}

// GroupVersion returns the group version of the kind.
func (gvk GroupVersionKind) GroupVersion() GroupVersion {
	return GroupVersion{Group: gvk.Group, Version: gvk.Version}
}

// GroupKind returns the kind without its version.
func (gvk GroupVersionKind) GroupKind() GroupKind {
	return GroupKind{Group: gvk.Group, Kind: gvk.Kind}
}

// String returns "group/version, Kind=kind", the form that error messages use.
func (gvk GroupVersionKind) String() string {
	return gvk.Group + "/" + gvk.Version + ", Kind=" + gvk.Kind
}

// GroupResource names a resource (the plural in a path) independent of its version.
type GroupResource struct {
	Group    string
	Resource string
}

// String returns "resource.group", or "resource" in the core group.
func (gr GroupResource) String() string {
	if gr.Group == "" {
		return gr.Resource
	}
	return gr.Resource + "." + gr.Group
}

// GroupVersionResource names a resource in one version.
type GroupVersionResource struct {
	Group    string
	Version  string
	Resource string
}

// GroupVersion returns the group version of the resource.
func (gvr GroupVersionResource) GroupVersion() GroupVersion {
	return GroupVersion{Group: gvr.Group, Version: gvr.Version}
}

// GroupResource returns the resource without its version.
func (gvr GroupVersionResource) GroupResource() GroupResource {
	return GroupResource{Group: gvr.Group, Resource: gvr.Resource}
}
