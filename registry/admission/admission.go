// Package admission decides, after authorization, whether a write may happen, and may change the object on its way.
//
// A plugin is a Mutator, a Validator or both. The Chain runs all mutators in order before the object is validated and
// all validators after it, right before the write; on updates both run again on every retry, with the true old object.
// Plugins are called by many requests at once and must not keep the objects they see.
//
// Read: admission.go, then a file for each plugin.
package admission

import (
	"context"
	"fmt"

	"github.com/coracle-project/coracle/router/request"
	"github.com/coracle-project/coracle/scheme/meta"
)

// Operation is what a write does.
type Operation string

// The operations, as the API spells them.
const (
	Create  Operation = "CREATE"
	Update  Operation = "UPDATE"
	Delete  Operation = "DELETE"
	Connect Operation = "CONNECT"
)

// Attributes describe a write to the plugins.
type Attributes struct {
	Operation   Operation
	Resource    meta.GroupVersionResource
	Kind        meta.GroupVersionKind
	Subresource string
	Namespace   string
	Name        string        // empty on create with generateName
	Object      meta.Object   // in the hub version; nil on delete
	Old         meta.Object   // in the hub version; nil on create; never to be changed
	Options     meta.Typed    // CreateOptions, UpdateOptions, PatchOptions or DeleteOptions
	DryRun      bool          // plugins must have no side effects
	User        *request.User // nil for the server's own controllers
	// Warn adds a warning for the client.
	Warn func(text string)
}

// Forbidden is the 403 of a plugin that rejects a write. An object whose name is not made yet goes by its generateName.
func (a *Attributes) Forbidden(format string, args ...any) *meta.StatusError {
	name := a.Name
	if name == "" && a.Object != nil {
		name = a.Object.GetObjectMeta().GenerateName
	}
	if name == "" {
		name = "Unknown"
	}
	return meta.NewForbidden(a.Resource.GroupResource(), name, fmt.Errorf(format, args...))
}

// Plugin is a named member of the chain.
type Plugin interface {
	// Name is the plugin's name as in --enable-admission-plugins.
	Name() string
	// Handles reports whether the plugin wants to see an operation.
	Handles(op Operation) bool
}

// Mutator is a Plugin that may change Attributes.Object.
type Mutator interface {
	Plugin
	// Mutate changes the object or rejects the write with a *meta.StatusError.
	Mutate(ctx context.Context, a *Attributes) error
}

// Validator is a Plugin that may reject a write, but changes nothing.
type Validator interface {
	Plugin
	// Validate rejects the write with a *meta.StatusError.
	Validate(ctx context.Context, a *Attributes) error
}

// Chain is an ordered list of plugins. The zero Chain admits everything.
type Chain []Plugin

// Mutate runs the mutators in order and stops at the first error.
func (c Chain) Mutate(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if m, ok := p.(Mutator); ok && p.Handles(a.Operation) {
			if err := m.Mutate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}

// Validate runs the validators in order and stops at the first error.
func (c Chain) Validate(ctx context.Context, a *Attributes) error {
	for _, p := range c {
		if v, ok := p.(Validator); ok && p.Handles(a.Operation) {
			if err := v.Validate(ctx, a); err != nil {
				return err
			}
		}
	}
	return nil
}
