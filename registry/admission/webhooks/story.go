package webhooks

import (
	"errors"
	"time"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/matching"
	"github.com/coracle-project/coracle/router/request"
)

// This file tells of hooks in the story of a write, if somebody wants it.

// told begins to tell of a hook that is called.
func (h *hook) told(a *admission.Attributes, t *matching.Target) *admission.HookTeller {
	if !a.Told() {
		return nil
	}
	return a.TellHook(request.Hook{
		Name: h.name, Configuration: h.configuration, Kind: t.Kind, Resource: t.Resource,
	})
}

// tellEnd tells what became of a call. refused says that err is the refusal of the hook.
func (h *hook) tellEnd(to *admission.HookTeller, took time.Duration, err error, refused bool) {
	if to == nil {
		return
	}
	outcome := request.OutcomeAdmitted
	f := (*failure)(nil)
	switch {
	case err == nil:
	case refused:
		outcome = request.OutcomeRefused
		to.Refused(err)
	case errors.As(err, &f) && h.failsOpen:
		outcome = request.OutcomeFailedOpen
		to.Because(err.Error())
	default:
		outcome = request.OutcomeFailed
		to.Refused(err)
	}
	to.End(outcome, took)
}

// tellUncalled tells why a hook is not called: because of an error that refuses the write, or else
// for a reason. It is called only if somebody wants the story.
func (h *hook) tellUncalled(a *admission.Attributes, err error, reason string) {
	to := a.TellHook(request.Hook{Name: h.name, Configuration: h.configuration})
	if err != nil {
		to.Refused(err)
		to.End(request.OutcomeFailed, 0)
		return
	}
	to.Because(reason)
	to.End(request.OutcomeSkipped, 0)
}
