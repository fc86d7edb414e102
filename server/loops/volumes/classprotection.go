package volumes

import (
	"context"
	"errors"
	"slices"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/api/storagev1"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// ClassProtection keeps the finalizer kubernetes.io/vac-protection on VolumeAttributesClasses. A
// class that is being deleted loses the finalizer when no claim and no volume names it, as in
// Kubernetes' volumeattributesclass-protection-controller. Unlike in Kubernetes, a class also keeps
// the finalizer while some claim or volume cannot be read, because that object might name the
// class.
type ClassProtection struct {
	Informers *controller.Informers
	Log       *zap.Logger
}

const classFinalizer = "kubernetes.io/vac-protection"

// Run keeps the finalizers of classes until ctx ends.
func (c *ClassProtection) Run(ctx context.Context) {
	resource := storagev1.GroupVersion.WithResource("volumeattributesclasses")
	classes := controller.InformerOf(c.Informers, resource, func(class *storagev1.VolumeAttributesClass) *protected {
		v := newProtected(&class.ObjectMeta, classFinalizer)
		return &v
	})
	claims, volumes := claimsOf(c.Informers), volumesOf(c.Informers)
	p := &protection[*storagev1.VolumeAttributesClass]{
		objects:   client.For[*storagev1.VolumeAttributesClass](c.Informers.Client(), resource),
		finalizer: classFinalizer, used: c.used,
	}
	controller.Loop{
		Name: "vacprotection",
		Source: controller.Join(
			classes.Source(func(name controller.Name, _, now *protected) []controller.Name {
				if now == nil || !now.due() {
					return nil
				}
				return []controller.Name{name}
			}),
			claims.Source(func(_ controller.Name, before, now *claimView) []controller.Name {
				return freedClasses(before.classes(), now.classes())
			}),
			volumes.Source(func(_ controller.Name, before, now *volumeView) []controller.Name {
				return freedClasses(before.classes(), now.classes())
			}),
		),
		Reconcile: p.reconcile, After: []controller.Syncer{claims, volumes}, Log: c.Log,
	}.Run(ctx)
}

// used reports whether a claim or volume names the class. It asks only the Informers. They may lag,
// so a class can be deleted although a new claim names it. The claim then waits for a new class of
// that name, but no data is lost. A hidden claim or volume may name the class, so used fails if
// there is one.
func (c *ClassProtection) used(_ context.Context, class *storagev1.VolumeAttributesClass) (bool, error) {
	if err := errors.Join(volumesOf(c.Informers).HiddenErr(), claimsOf(c.Informers).HiddenErr()); err != nil {
		return false, err
	}
	used := false
	volumesOf(c.Informers).All(func(_ controller.Name, v *volumeView) { used = used || v.Class == class.Name })
	claimsOf(c.Informers).All(func(_ controller.Name, v *claimView) {
		used = used || slices.Contains(v.Classes, class.Name)
	})
	return used, nil
}

// freedClasses returns the classes that an object named before and does not name now. now is empty
// if the object is gone.
func freedClasses(before, now []string) []controller.Name {
	var names []controller.Name
	for _, class := range before {
		if !slices.Contains(now, class) {
			names = append(names, controller.Name{Name: class})
		}
	}
	return names
}

func (v *claimView) classes() []string {
	if v == nil {
		return nil
	}
	return v.Classes
}

func (v *volumeView) classes() []string {
	if v == nil || v.Class == "" {
		return nil
	}
	return []string{v.Class}
}
