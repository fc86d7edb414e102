package looptest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// Server is a *World or a *Fake.
type Server interface {
	TB() testing.TB
	API() *client.Client
}

// Of returns a client of a resource of the core group: of the namespace "n", or of the whole
// cluster if the resource is cluster-scoped.
func Of[T meta.Object](w Server, resource string) client.Resource[T] {
	return InGroup[T](w, corev1.GroupVersion.WithResource(resource))
}

// InGroup returns a client of a resource of any group: of the namespace "n", or of the whole
// cluster if the resource is one of the cluster-scoped resources that tests use.
func InGroup[T meta.Object](w Server, resource meta.GroupVersionResource) client.Resource[T] {
	r := client.For[T](w.API(), resource)
	clusterScoped := []string{"nodes", "namespaces", "persistentvolumes", "volumeattributesclasses", "storageclasses"}
	if slices.Contains(clusterScoped, resource.Resource) {
		return r
	}
	return r.In("n")
}

// Create creates an object of the core group, in the namespace that its metadata names, or else
// where Of says.
func Create[T meta.Object](w Server, resource string, obj T) {
	w.TB().Helper()
	r := Of[T](w, resource)
	if namespace := obj.GetObjectMeta().Namespace; namespace != "" {
		r = r.In(namespace)
	}
	Make(w, r, obj, nil)
}

// Make creates an object. If status is not nil, Make then calls status to set the object's status,
// and updates it.
func Make[T meta.Object](w Server, r client.Resource[T], obj T, status func(obj T)) {
	w.TB().Helper()
	made, err := r.Create(w.TB().Context(), obj, meta.CreateOptions{})
	if err != nil {
		w.TB().Fatal(err)
	}
	if status == nil {
		return
	}
	status(made)
	if _, err := r.UpdateStatus(w.TB().Context(), made, meta.UpdateOptions{}); err != nil {
		w.TB().Fatal(err)
	}
}

// Delete deletes an object.
func Delete[T meta.Object](w Server, r client.Resource[T], name string) {
	w.TB().Helper()
	if err := r.Delete(w.TB().Context(), name, meta.DeleteOptions{}); err != nil {
		w.TB().Fatal(err)
	}
}

// Names returns the names of all objects, with a space between them. An object that is being
// deleted has a "-" behind its name: "a b- c".
func Names[T meta.Object](w Server, r client.Resource[T]) string {
	w.TB().Helper()
	list, err := r.List(w.TB().Context(), meta.ListOptions{})
	if err != nil {
		w.TB().Fatal(err)
	}
	var names []string
	for _, obj := range list.Items {
		name := obj.GetObjectMeta().Name
		if obj.GetObjectMeta().DeletionTimestamp != nil {
			name += "-"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// Patch applies a JSON merge patch to an object of the core group. If sub is not "", it patches
// that subresource.
func Patch(w Server, resource, sub, name, patch string) {
	w.TB().Helper()
	r := Of[*meta.PartialObjectMetadata](w, resource)
	if sub != "" {
		r = r.Sub(sub)
	}
	if _, err := r.Patch(w.TB().Context(), name, client.MergePatch, []byte(patch), meta.PatchOptions{}); err != nil {
		w.TB().Fatal(err)
	}
}

// AwaitList lists a resource, and again after each change, until ok returns "". After a minute it
// fails the test with the last problem.
func AwaitList[T meta.Object](w Server, r client.Resource[T], ok func(list []T) (problem string)) {
	w.TB().Helper()
	ctx, cancel := context.WithTimeout(w.TB().Context(), time.Minute)
	defer cancel()
	problem := "nothing was listed"
	for {
		list, err := r.List(ctx, meta.ListOptions{})
		if err != nil {
			w.TB().Fatalf("%v; %s", err, problem)
		}
		if problem = ok(list.Items); problem == "" {
			return
		}
		watch, err := r.Watch(ctx, meta.ListOptions{ResourceVersion: list.ResourceVersion})
		if err != nil {
			w.TB().Fatalf("%v; %s", err, problem)
		}
		_, err = watch.Next()
		watch.Close()
		if err != nil {
			w.TB().Fatalf("%v; %s", err, problem)
		}
	}
}
