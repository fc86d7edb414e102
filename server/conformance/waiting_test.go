package conformance

// wait says what a scenario waits for, and at which steps. Without steps it is the whole scenario, which is then played
// up to its first difference; else all other steps must agree.
type wait struct {
	what  string
	steps []int
}

// What is not served yet.
const (
	policies = "admission policies"
	kubelets = "the ways to kubelets, and through the server to pods and services: attach, exec, log, portforward, proxy"
	quotas   = "what quotas and limit ranges do to other objects"
	wording  = "descriptions in Kubernetes's own words; ours are our own"
)

// waiting are the scenarios that cannot pass yet. They are played all the same, and the list can only shrink: a
// scenario, or a step, that agrees must be taken off it.
var waiting = map[string]wait{
	"admission-policy/conditions-and-variables": {policies, nil},
	"admission-policy/deny":                     {policies, nil},
	"admission-policy/mutating":                 {policies, nil},
	"admission-policy/params":                   {policies, nil},
	"admission-policy/warn-and-audit":           {policies, nil},
	"discovery/aggregated-apis":                 {kubelets, []int{1}},
	"discovery/core-v1":                         {kubelets, []int{0}},
	"openapi/v2":                                {wording, []int{0}},
	"openapi/v3":                                {wording, []int{1}},
	"quota/compute":                             {quotas, nil},
	"quota/limit-range":                         {quotas, nil},
	"quota/object-counts":                       {quotas, nil},
	"table/batch-and-others":                    {wording, []int{1, 3, 5, 7}},
	"table/workloads":                           {wording, []int{2}},
}
