package webhooks

import (
	"slices"
	"sync/atomic"
)

// This file adds the hooks of configurations in files. They run before those of the API, and are
// also called for the writes that the API's hooks do not see.

// files are the hooks in files, joined with those of the API.
type files struct {
	now  func() *Hooks // the hooks in files as they are now
	last atomic.Pointer[joined]
}

// joined are the hooks in files and behind them those of the API.
type joined struct{ files, api, all *Hooks }

// before returns the hooks in files with those of the API behind them. As long as neither changes,
// it returns the same Hooks.
func (f *files) before(api *Hooks) *Hooks {
	now := f.now()
	if len(now.list) == 0 {
		return api
	}
	last := f.last.Load()
	if last == nil || last.files != now || last.api != api {
		last = &joined{now, api, newHooks(slices.Concat(now.list, api.list))}
		f.last.Store(last)
	}
	return last.all
}
