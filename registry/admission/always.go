package admission

import "context"

// AlwaysAdmit is the plugin of that name. It admits every write, and so does nothing.
type AlwaysAdmit struct{}

// Name is the plugin's name.
func (AlwaysAdmit) Name() string { return "AlwaysAdmit" }

// Handles is false: the chain has nothing to call.
func (AlwaysAdmit) Handles(Operation) bool { return false }

// AlwaysDeny is the plugin of that name. It refuses every write, for tests of clients.
type AlwaysDeny struct{}

// Name is the plugin's name.
func (AlwaysDeny) Name() string { return "AlwaysDeny" }

// Handles is true for all operations.
func (AlwaysDeny) Handles(Operation) bool { return true }

// Mutate refuses the write. The plugin refuses as a mutator so that validation does not answer
// first.
func (AlwaysDeny) Mutate(_ context.Context, a *Attributes) error {
	return a.Forbidden("admission control is denying all modifications")
}
