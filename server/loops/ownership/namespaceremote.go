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

// RemoteResources describes the namespaced resources of servers behind this one at one moment.
type RemoteResources struct {
	// Resources are the resources with the verb delete, each in its preferred version.
	Resources []meta.GroupVersionResource
	// Unknown are the versions whose server has not said which resources they have. While there are
	// some, no namespace is released.
	Unknown []meta.GroupVersion
	// Changed is closed when Resources or Unknown may have changed.
	Changed <-chan struct{}
}

// wakeRest is the shortest pause between two wakes of all waiting namespaces by followRemote.
const wakeRest = 500 * time.Millisecond

// followRemote wakes all waiting namespaces when RemoteResources changes. Without it, a namespace
// would wait until the end of the pause after its failures, although the server that caused them
// may answer again. The pause between two wakes doubles, up to controller.MaxPause, as long as
// changes come within it, because API services may come and go all the time.
func (c *Namespace) followRemote(ctx context.Context) {
	rest, changed := wakeRest, c.RemoteResources().Changed
	for {
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
		changed = c.RemoteResources().Changed
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

// emptyRemote deletes the objects that servers behind this one have in a namespace. found says
// that they had some. For each resource it first sends a list with the limit 1, because Holds
// cannot look into the stores of other servers.
func (c *Namespace) emptyRemote(
	ctx context.Context, gvrs []meta.GroupVersionResource, namespace string, left *remains,
) (found bool) {
	for _, gvr := range gvrs {
		some, err := client.For[*meta.PartialObjectMetadata](c.Client, gvr).In(namespace).
			List(ctx, meta.ListOptions{Limit: 1})
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

// deleteEach is deleteAll for resources without the verb deletecollection: it sends one request for
// each object. It skips objects that cannot be read, which count reports later.
func deleteEach(ctx context.Context, content client.Resource[*meta.PartialObjectMetadata]) error {
	background := meta.DeletePropagationBackground
	for obj, err := range content.All(ctx, meta.ListOptions{}) {
		if meta.IsUnreadable(err) {
			continue
		}
		if err == nil {
			err = controller.IgnoreNotFound(
				content.Delete(ctx, obj.Name, meta.DeleteOptions{PropagationPolicy: &background}))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// discovery returns the condition that says whether all resources are known.
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

// unknownErr returns an error that lists the versions in unknown, in the words of client-go's
// discovery, or nil if there are none.
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
