package conformance

// wait says what a scenario waits for, and at which steps. Without steps it is the whole scenario, which is then played
// up to its first difference; else all other steps must agree.
type wait struct {
	what  string
	steps []int
}

// What is not served yet.
const (
	allKinds        = "all kinds of Kubernetes"
	customResources = "custom resources"
	impersonation   = "impersonation and SelfSubjectReview"
	policies        = "admission policies"
	quotas          = "what quotas and limit ranges do to other objects"
	rbac            = "RBAC"
	reviews         = "the reviews of users, rights and tokens"
	wording         = "descriptions in Kubernetes's own words; ours are our own"
)

// waiting are the scenarios that cannot pass yet. They are played all the same, and the list can only shrink: a
// scenario, or a step, that agrees must be taken off it.
var waiting = map[string]wait{
	"admission-policy/conditions-and-variables": {policies, nil},
	"admission-policy/deny":                     {policies, nil},
	"admission-policy/mutating":                 {policies, nil},
	"admission-policy/objects":                  {policies, nil},
	"admission-policy/params":                   {policies, nil},
	"admission-policy/warn-and-audit":           {policies, nil},
	"authn/impersonation":                       {impersonation, nil}, // step 2 was served as the caller
	"authn/self-subject-review":                 {reviews, []int{0, 1, 4, 5, 6, 7}},
	"authz/access-reviews":                      {reviews, []int{0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11}},
	"authz/escalation":                          {rbac, nil},
	"authz/groups-and-cluster-roles":            {rbac, nil},
	"authz/resource-names":                      {rbac, nil},
	"authz/role-granted-and-revoked":            {rbac, nil},
	"authz/rules-review":                        {reviews, nil},
	"discovery/aggregated-apis":                 {allKinds, nil},
	"discovery/authorization-group":             {reviews, nil},
	"discovery/core-v1":                         {allKinds, nil},
	"discovery/groups":                          {allKinds, nil},
	"openapi/v2":                                {wording, []int{0}},
	"openapi/v3":                                {wording, []int{1}},
	"quota/compute":                             {quotas, nil},
	"quota/limit-range":                         {quotas, nil},
	"quota/object-counts":                       {quotas, nil},
	"table/batch-and-others":                    {wording, []int{1, 3, 5, 7}},
	"table/workloads":                           {wording, []int{2}},
	"tokens/bound":                              {reviews, []int{2, 3, 8}},
	"tokens/request":                            {reviews, []int{1, 2, 4}},
	"tokens/review":                             {reviews, nil},
	"watch/too-old":                             {customResources, nil},
}
