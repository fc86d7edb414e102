package ownership

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/controller"
)

// Elsewhere is what servers behind this one keep in namespaces.
type Elsewhere struct {
	// Resources are those whose objects can be deleted, each in its preferred version.
	Resources []meta.GroupVersionResource
	// Unknown are the versions of which nobody knows what they have. No namespace goes before that
	// is known.
	Unknown []meta.GroupVersion
	// Changed is closed when it may be something else.
	Changed <-chan struct{}
}

// wakeRest is the pause after the namespaces that wait were woken because of what is known of other
// servers.
const wakeRest = 500 * time.Millisecond

// followElsewhere wakes the namespaces that wait when something else is known of other servers:
// that earlier looks at them failed does not say when the next one would succeed. After it has
// woken them it rests. The rest grows while there are changes in it, to the longest pause of the
// queue: where API services come and go all the time, namespaces are woken once a minute for that.
func (c *Namespace) followElsewhere(ctx context.Context) {
	rest, changed := wakeRest, c.Elsewhere().Changed
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		changed = c.Elsewhere().Changed
		c.waiting.wakeAll()
		if !controller.Pause(ctx, rest) {
			return
		}
		select {
		case <-changed:
			rest = min(2*rest, controller.MaxPause)
		default:
			rest = wakeRest
		}
	}
}

// emptyElsewhere deletes what other servers keep in a namespace. found says that they had
// something: they are asked each time, as their stores cannot be looked into.
func (c *Namespace) emptyElsewhere(ctx context.Context, gvrs []meta.GroupVersionResource, namespace string, left *remains) (found bool) {
	for _, gvr := range gvrs {
		some, err := client.For[*meta.PartialObjectMetadata](c.Client, gvr).In(namespace).List(ctx, meta.ListOptions{Limit: 1})
		if err == nil && len(some.Items) > 0 {
			found = true
			err = c.clear(ctx, gvr, namespace, left)
		}
		if err != nil {
			left.errs = append(left.errs, err)
		}
	}
	return found
}

// deleteEach is deleteAll for resources that cannot delete many objects at once.
func deleteEach(ctx context.Context, content client.Resource[*meta.PartialObjectMetadata]) error {
	background := meta.DeletePropagationBackground
	for obj, err := range content.All(ctx, meta.ListOptions{}) {
		if meta.IsUnreadable(err) {
			continue
		}
		if err == nil {
			err = controller.IgnoreNotFound(content.Delete(ctx, obj.Name, meta.DeleteOptions{PropagationPolicy: &background}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discovery says whether it is known what a namespace may hold.
func (r *remains) discovery() corev1.NamespaceCondition {
	c := corev1.NamespaceCondition{
		Type: "NamespaceDeletionDiscoveryFailure", Status: "False", Reason: "ResourcesDiscovered",
		Message: "All resources successfully discovered",
	}
	if err := r.unknownErr(); err != nil {
		c.Status, c.Reason = "True", "DiscoveryFailed"
		c.Message = fmt.Sprintf("Discovery failed for some groups, %d failing: %v", len(r.unknown), err)
	}
	return c
}

// unknownErr says which versions nobody knows of what they have, in the words of client-go; nil for
// none.
func (r *remains) unknownErr() error {
	if len(r.unknown) == 0 {
		return nil
	}
	var parts []string
	for _, gv := range r.unknown {
		parts = append(parts, fmt.Sprintf("%v: stale GroupVersion discovery: %v", gv, gv))
	}
	return fmt.Errorf("unable to retrieve the complete list of server APIs: %s", strings.Join(parts, ", "))
}
