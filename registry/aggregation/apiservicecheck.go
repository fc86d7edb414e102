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

// The highest priorities that are allowed. The errors call them exclusive bounds ("less than"), as
// in kube-aggregator, though the bound itself is allowed.
const (
	maxGroupPriority   = 20000
	maxVersionPriority = 1000
)

// checkAPIService validates an APIService, new or changed. Only the version v1 may have the empty
// group, which is the core group.
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

// checkAPIServiceName requires the name to be <version>.<group>, so that there is one APIService
// for each version. A name that is no path segment is left out here, because validation of the
// metadata reports it.
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

// checkPriority requires a priority from 1 to highest.
func checkPriority(p *field.Path, priority, highest int32) field.ErrorList {
	if priority > 0 && priority <= highest {
		return nil
	}
	return field.ErrorList{field.Invalid(p, priority, fmt.Sprintf("must be positive and less than %d", highest))}
}

// checkLocal refuses settings of a TLS connection, since a local APIService has none.
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

// checkRemote validates how the server behind is reached. A missing port is validated as 0, which
// is invalid, because v1 has a default for it. A CA bundle, by which the server's certificate is
// verified, contradicts insecureSkipTLSVerify.
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

// checkAPIServiceStatus validates the conditions with a write to the subresource status.
func checkAPIServiceStatus(s, _ *apiregistrationv1.APIService) field.ErrorList {
	var errs field.ErrorList
	p := field.NewPath("status", "conditions")
	for i, c := range field.Each(&errs, s.Status.Conditions) {
		errs = append(errs, check.Supported(p.Index(i).Child("status"), c.Status,
			apiregistrationv1.ConditionTrue, apiregistrationv1.ConditionFalse, apiregistrationv1.ConditionUnknown)...)
	}
	return errs
}
