package podguard

import (
	"strings"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/podsecurity"
)

// This file reports evaluations, exemptions and errors for metrics.

// Counts count evaluations, exemptions and errors. The fields of their arguments are the labels of
// Kubernetes' metrics. All methods may be called at once.
type Counts interface {
	// Evaluated counts that a pod or template was evaluated in a mode. Audit and warn count
	// violations only.
	Evaluated(e Evaluation)
	// Exempted counts a request that is exempt.
	Exempted(r Request)
	// Failed counts an error. If it is fatal, nothing was evaluated. If not, the labels of the
	// namespace are wrong.
	Failed(fatal bool, r Request)
}

// Request is the part of a request that Counts see. It has few values: all workloads count as one
// resource.
type Request struct {
	Operation   string // create or update
	Resource    string // pod or controller
	Subresource string
}

// Evaluation is the check of a pod or template in a mode.
type Evaluation struct {
	Request
	Decision string // allow or deny
	Level    string
	// Version is latest, a version that this server knows, or future for any other, so that clients
	// cannot add to the number of series. Privileged is always latest.
	Version string
	Mode    string // enforce, audit or warn
}

// The modes, as Evaluation.Mode has them.
const (
	enforce = "enforce"
	audit   = "audit"
	warn    = "warn"
)

// evaluated counts an evaluation.
func (p *Plugin) evaluated(a *admission.Attributes, by podsecurity.LevelVersion, mode string, allowed bool) {
	e := Evaluation{Request: requestOf(a), Decision: "deny", Level: string(by.Level), Mode: mode}
	if allowed {
		e.Decision = "allow"
	}
	switch {
	case by.Level == podsecurity.Privileged:
		e.Version = podsecurity.Latest.String()
	case by.Version > podsecurity.Newest:
		e.Version = "future"
	default:
		e.Version = by.Version.String()
	}
	p.counts.Evaluated(e)
}

func requestOf(a *admission.Attributes) Request {
	r := Request{Operation: "create", Resource: "controller", Subresource: a.Subresource}
	if a.Operation != admission.Create {
		r.Operation = strings.ToLower(string(a.Operation))
	}
	if a.Resource.Group == "" && a.Resource.Resource == "pods" {
		r.Resource = "pod"
	}
	return r
}
