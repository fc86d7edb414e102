// Package hookfiles reads the webhooks and admission policies that an administrator keeps in files,
// instead of objects of the API.
//
// Words. A directory has the files of one admission plugin: those that end in .yaml, .yml or .json,
// in any letter case. A document is a part of a file between two lines that begin with ---. The
// content of a directory is that of its files.
//
// Laws:
//   - What is accepted, the order of errors and their texts are those of kube-apiserver 1.36.
//   - A directory is read as a whole. If anything in it is wrong, only the first error is returned.
//   - An object is valid as a new object of the API, with all defaults, and has a name with the
//     reserved suffix. It asks for nothing that is in the API: webhooks have URLs, policies have no
//     params, and a binding is for a policy in the same directory.
//
// A plugin of package server/plugins calls one of the functions when it is made, and again when a
// file has changed. All functions may be called concurrently.
//
// Not here: what the objects do to writes (webhooks, admissionpolicy), when files have changed
// (server/reload), the rules for the kinds (registry/admissionregistration).
//
// Read: hookfiles.go, documents.go, constraints.go, configuration.go.
package hookfiles

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/coracle-project/coracle/registry/admissionregistration"
	"github.com/coracle-project/coracle/scheme"
	v1 "github.com/coracle-project/coracle/scheme/api/admissionregistrationv1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
)

// ValidatingWebhooks returns the configurations in a directory, sorted by name, and the content of
// the directory.
func ValidatingWebhooks(dir string) (list []*v1.ValidatingWebhookConfiguration, content []byte, err error) {
	objects, content, err := read(dir, "ValidatingWebhookConfiguration")
	return of[*v1.ValidatingWebhookConfiguration](objects), content, err
}

// MutatingWebhooks returns the configurations in a directory, sorted by name, and the content of
// the directory.
func MutatingWebhooks(dir string) (list []*v1.MutatingWebhookConfiguration, content []byte, err error) {
	objects, content, err := read(dir, "MutatingWebhookConfiguration")
	return of[*v1.MutatingWebhookConfiguration](objects), content, err
}

// Policies are admission policies of one kind with their bindings, each sorted by name.
type Policies[P, B any] struct {
	Policies []P
	Bindings []B
}

// ValidatingPolicies returns the policies and bindings in a directory, and the content of the
// directory.
func ValidatingPolicies(dir string) (
	p Policies[*v1.ValidatingAdmissionPolicy, *v1.ValidatingAdmissionPolicyBinding], content []byte, err error,
) {
	objects, content, err := read(dir, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
	p.Policies = of[*v1.ValidatingAdmissionPolicy](objects)
	p.Bindings = of[*v1.ValidatingAdmissionPolicyBinding](objects)
	return p, content, err
}

// MutatingPolicies returns the policies and bindings in a directory, and the content of the
// directory.
func MutatingPolicies(dir string) (
	p Policies[*v1.MutatingAdmissionPolicy, *v1.MutatingAdmissionPolicyBinding], content []byte, err error,
) {
	objects, content, err := read(dir, "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding")
	p.Policies = of[*v1.MutatingAdmissionPolicy](objects)
	p.Bindings = of[*v1.MutatingAdmissionPolicyBinding](objects)
	return p, content, err
}

// of returns the objects of a type, sorted by name.
func of[T meta.Object](objects []meta.Object) (list []T) {
	for _, obj := range objects {
		if one, is := obj.(T); is {
			list = append(list, one)
		}
	}
	slices.SortFunc(list, func(a, b T) int {
		return cmp.Compare(a.GetObjectMeta().Name, b.GetObjectMeta().Name)
	})
	return list
}

// types are the kinds of admissionregistration.k8s.io and List, with their codecs.
type types struct {
	*scheme.Scheme
	codecs *codec.Factory
}

// known returns the types. They are made when the first directory is read.
var known = sync.OnceValue(func() types {
	s := scheme.New()
	v1.Scheme.AddToScheme(s)
	s.AddUnversionedTypes(meta.GroupVersion{Version: "v1"}, &List{})
	if err := s.Complete(); err != nil {
		panic(err) // a mistake in the types, which tests find
	}
	return types{s, codec.NewFactory(s)}
})

// List is the kind of that name: a list of objects of any kinds.
type List struct {
	meta.TypeMeta `json:",inline"`
	meta.ListMeta `json:"metadata,omitempty"`
	// Items are the objects.
	Items []meta.RawExtension `json:"items"`
}

// reader reads one directory.
type reader struct {
	kinds []string // that the directory may hold
	found []meta.Object
	files map[string]string // the file of each object, by kind and name
}

// read returns the objects in a directory, in the order of files, and the content of the directory.
func read(dir string, kinds ...string) (objects []meta.Object, content []byte, err error) {
	documents, content, err := readDocuments(dir)
	if err != nil {
		return nil, nil, err
	}
	r := &reader{kinds: kinds, files: map[string]string{}}
	for _, d := range documents {
		if err := r.document(d); err != nil {
			return nil, nil, fmt.Errorf("error loading %s: %w", d.file, err)
		}
	}
	if err := checkReferences(r.found); err != nil {
		return nil, nil, err
	}
	return r.found, content, nil
}

// document adds the objects in a document.
func (r *reader) document(d document) error {
	decoded, err := decode(d.text)
	if err != nil {
		return err
	}
	return r.add(d.file, decoded)
}

// decode decodes YAML, or JSON if text begins with a brace. The file may hold neither unknown nor
// repeated fields.
func decode(text []byte) (codec.Decoded, error) {
	request := codec.DecodeRequest{Data: text, Type: codec.YAML, Strict: true}
	if len(text) > 0 && text[0] == '{' {
		request.Type = codec.JSON
	}
	decoded, err := known().codecs.Decode(request)
	if err == nil {
		err = codec.StrictError(decoded.Strict)
	}
	return decoded, err
}

// add adds an object, or the items of a list. All items of a typed list are completed and validated
// before their names are checked.
func (r *reader) add(file string, decoded codec.Decoded) error {
	if list, is := decoded.Object.(*List); is {
		return r.addList(file, list)
	}
	items := itemsOf(decoded.Object)
	kind := decoded.GVK.Kind
	if _, single := decoded.Object.(meta.Object); !single {
		kind = strings.TrimSuffix(kind, "List")
	}
	if !slices.Contains(r.kinds, kind) || decoded.GVK.GroupVersion() != v1.GroupVersion {
		return fmt.Errorf("unsupported resource type *%s.%s", decoded.GVK.Version, decoded.GVK.Kind)
	}
	for _, obj := range items {
		known().Default(obj)
		if err := admissionregistration.CheckNew(context.Background(), obj).ToAggregate(); err != nil {
			return fmt.Errorf("%s %q: %w", kind, obj.GetObjectMeta().Name, err)
		}
	}
	for _, obj := range items {
		if err := r.checkName(file, kind, obj.GetObjectMeta().Name); err != nil {
			return err
		}
		if err := check(file, kind, obj); err != nil {
			return err
		}
	}
	r.found = append(r.found, items...)
	return nil
}

// addList adds the items of a List.
func (r *reader) addList(file string, list *List) error {
	for i := range list.Items {
		decoded, err := decode(list.Items[i].Raw)
		if err != nil {
			return fmt.Errorf("failed to decode list item: %w", err)
		}
		if err := r.add(file, decoded); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf returns an object of one of the kinds that a directory may hold, or the items if it is a
// list of such objects.
func itemsOf(obj meta.Typed) []meta.Object {
	switch o := obj.(type) {
	case *v1.ValidatingWebhookConfigurationList:
		return pointers(o.Items)
	case *v1.MutatingWebhookConfigurationList:
		return pointers(o.Items)
	case *v1.ValidatingAdmissionPolicyList:
		return pointers(o.Items)
	case *v1.ValidatingAdmissionPolicyBindingList:
		return pointers(o.Items)
	case *v1.MutatingAdmissionPolicyList:
		return pointers(o.Items)
	case *v1.MutatingAdmissionPolicyBindingList:
		return pointers(o.Items)
	case meta.Object:
		return []meta.Object{o}
	}
	return nil
}

func pointers[T any, P interface {
	*T
	meta.Object
}](items []T) []meta.Object {
	list := make([]meta.Object, len(items))
	for i := range items {
		list[i] = P(&items[i])
	}
	return list
}
