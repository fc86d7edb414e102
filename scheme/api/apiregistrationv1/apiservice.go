package apiregistrationv1

import "github.com/coracle-project/coracle/scheme/meta"

// APIService names the server that serves one version of a group: this server itself, or another
// server behind a service, to which this one forwards the requests. The name of an APIService is
// the version and the group, with a dot between them.
type APIService struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// Which version it is, who serves it, and how they are reached.
	Spec APIServiceSpec `json:"spec,omitempty" pb:"2"`
	// Whether they can be reached.
	Status APIServiceStatus `json:"status,omitempty" pb:"3"`
}

// APIServiceSpec says which version of a group is served, and by which server. Requests to other
// servers always use HTTPS.
type APIServiceSpec struct {
	// Service in front of the server that has the version. If there is none, this server has it
	// itself.
	Service *ServiceReference `json:"service,omitempty" pb:"1"`
	// Name of the group.
	Group string `json:"group,omitempty" pb:"2"`
	// The version, such as v1.
	Version string `json:"version,omitempty" pb:"3"`
	// Whether to trust any certificate of the server. Whoever is in between can then read and
	// change everything: better give a bundle of certificates.
	InsecureSkipTLSVerify bool `json:"insecureSkipTLSVerify,omitempty" pb:"4"`
	// Certificates, in PEM, of the authorities that may have signed the server's. Those that the
	// system trusts by default.
	CABundle []byte `json:"caBundle,omitempty" pb:"5" list:"atomic"`
	// The priority of the group, from 1 to 20000. Clients prefer groups of higher priority. The
	// priority of a group is the highest that one of its versions names. Groups of equal priority
	// come in the order of their names.
	GroupPriorityMinimum int32 `json:"groupPriorityMinimum" pb:"7"`
	// The priority of the version in its group, from 1 to 1000. Clients prefer the version with the
	// highest priority. Versions of equal priority come in the usual order: v10, v2, v1, v11beta2,
	// v10beta3, v3beta1, v12alpha1, v11alpha2, and then others by name.
	VersionPriority int32 `json:"versionPriority" pb:"8"`
}

// ServiceReference names a service and a port of it.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace,omitempty" pb:"1"`
	// Name of the service.
	Name string `json:"name,omitempty" pb:"2"`
	// Port of the service, from 1 to 65535; 443 by default.
	Port *int32 `json:"port,omitempty" pb:"3"`
}

// APIServiceStatus says whether the server can be reached.
type APIServiceStatus struct {
	// What is known of the server, one for each type.
	Conditions []APIServiceCondition `json:"conditions,omitempty" pb:"1" list:"map,key=type" patch:"merge,key=type"`
}

// APIServiceCondition is one thing that is known of the server.
type APIServiceCondition struct {
	// What it is about: Available.
	Type APIServiceConditionType `json:"type" pb:"1"`
	// Whether it holds: True, False or Unknown.
	Status ConditionStatus `json:"status" pb:"2"`
	// When the status last changed.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"3"`
	// Why it last changed, as one word in camel case.
	Reason string `json:"reason,omitempty" pb:"4"`
	// Why it last changed, for people.
	Message string `json:"message,omitempty" pb:"5"`
}

// APIServiceConditionType is something that is known of a server.
type APIServiceConditionType string

// Available: this server serves the version itself, or the server that serves it can be reached.
const Available APIServiceConditionType = "Available"

// ConditionStatus says whether a condition holds.
type ConditionStatus string

// The statuses of conditions.
const (
	ConditionTrue    ConditionStatus = "True"
	ConditionFalse   ConditionStatus = "False"
	ConditionUnknown ConditionStatus = "Unknown"
)

// APIServiceList is a list of API services.
type APIServiceList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The API services.
	Items []APIService `json:"items" pb:"2"`
}
