package aggregation

import (
	"fmt"
	"strings"

	"github.com/coracle-project/coracle/registry/check"
	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/scheme/names"
)

// The highest priorities. Clients are told of bounds that are one lower.
const (
	maxGroupPriority   = 20000
	maxVersionPriority = 1000
)

// checkAPIService judges an API service, new or changed: what has it change is no matter.
func checkAPIService(s, _ *apiregistrationv1.APIService) field.ErrorList {
	p, spec := field.NewPath("spec"), &s.Spec
	errs := checkAPIServiceName(s)
	switch group := p.Child("group"); {
	case spec.Group != "":
		errs = append(errs, check.DNSSubdomain(group, spec.Group)...)
	case spec.Version != "v1":
		errs = append(errs, field.Required(group, "only v1 may have an empty group and it better be legacy kube"))
	}
	errs = append(errs, check.Invalid(p.Child("version"), spec.Version, names.IsDNS1035Label(spec.Version))...)
	errs = append(errs, checkPriority(p.Child("groupPriorityMinimum"), spec.GroupPriorityMinimum, maxGroupPriority)...)
	errs = append(errs, checkPriority(p.Child("versionPriority"), spec.VersionPriority, maxVersionPriority)...)
	if spec.Service == nil {
		return append(errs, checkLocal(p, spec)...)
	}
	return append(errs, checkRemote(p, spec)...)
}

// checkAPIServiceName wants the name to say which version of which group it is about. What is no
// name in a path at all is reported with the rest of the metadata.
func checkAPIServiceName(s *apiregistrationv1.APIService) field.ErrorList {
	want, p := s.Spec.Version+"."+s.Spec.Group, field.NewPath("metadata")
	must := fmt.Sprintf("must be `spec.version+\".\"+spec.group`: %q", want)
	var errs field.ErrorList
	for _, n := range [...]struct{ field, value string }{{"generateName", s.GenerateName}, {"name", s.Name}} {
		if n.value != "" && n.value != want && len(names.IsPathSegmentName(n.value)) == 0 {
			errs = append(errs, field.Invalid(p.Child(n.field), n.value, must))
		}
	}
	return errs
}

func checkPriority(p *field.Path, priority, highest int32) field.ErrorList {
	if priority > 0 && priority <= highest {
		return nil
	}
	return field.ErrorList{field.Invalid(p, priority, fmt.Sprintf("must be positive and less than %d", highest))}
}

// checkLocal judges what is said of a server where there is none but this one.
func checkLocal(p *field.Path, spec *apiregistrationv1.APIServiceSpec) field.ErrorList {
	var errs field.ErrorList
	if n := len(spec.CABundle); n > 0 {
		errs = append(errs, field.Invalid(p.Child("caBundle"), fmt.Sprintf("%d bytes", n),
			"local APIServices may not have a caBundle"))
	}
	if spec.InsecureSkipTLSVerify {
		errs = append(errs, field.Invalid(p.Child("insecureSkipTLSVerify"), true,
			"local APIServices may not have insecureSkipTLSVerify"))
	}
	return errs
}

// checkRemote judges how another server is to be reached.
func checkRemote(p *field.Path, spec *apiregistrationv1.APIServiceSpec) field.ErrorList {
	service := p.Child("service")
	errs := check.Required(service.Child("namespace"), spec.Service.Namespace)
	errs = append(errs, check.Required(service.Child("name"), spec.Service.Name)...)
	port := scheme.OrZero(spec.Service.Port)
	if msgs := names.IsValidPortNum(int(port)); len(msgs) > 0 {
		errs = append(errs, field.Invalid(service.Child("port"), port, "port is not valid: "+strings.Join(msgs, ", ")))
	}
	if spec.InsecureSkipTLSVerify && len(spec.CABundle) > 0 {
		errs = append(errs, field.Invalid(p.Child("insecureSkipTLSVerify"), true,
			"may not be true if caBundle is present"))
	}
	return errs
}

// checkAPIServiceStatus judges what is known of the server.
func checkAPIServiceStatus(s, _ *apiregistrationv1.APIService) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("status", "conditions")
	for i, c := range field.Each(&errs, s.Status.Conditions) {
		errs = append(errs, check.Supported(p.Index(i).Child("status"), c.Status,
			apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown)...)
	}
	return errs
}
