package quotas

import (
	"context"

	"github.com/coracle-project/coracle/registry/admission/resourcequota"
)

// Recount recounts namespaces while Run does not run.
func (c *Controller) Recount(ctx context.Context, namespaces ...string) error {
	if c.books == nil {
		c.books = resourcequota.NewBooks(c.Stores)
		c.Forget()
	}
	return c.recount(ctx, namespaces)
}

// Forget drops all usages that the controller remembers.
func (c *Controller) Forget() { c.usage = memo{} }

// Kept returns how many objects and usages are remembered.
func (c *Controller) Kept() (objects, usages int) {
	for _, namespace := range c.usage {
		for _, of := range namespace.objects {
			objects += len(of)
		}
		usages += len(namespace.usages)
	}
	return objects, usages
}
