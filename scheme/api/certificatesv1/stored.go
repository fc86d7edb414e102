package certificatesv1

import (
	"slices"
	"strings"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// addStored registers the version in which requests may be stored although nobody is served in it.
// It has the fields of v1. The signer may be unset there; then it follows from the request.
func addStored(s *scheme.Scheme) {
	const kind = "CertificateSigningRequest"
	s.AddStored(meta.GroupVersionKind{Group: GroupVersion.Group, Version: "v1beta1", Kind: kind},
		GroupVersion.WithKind(kind).GroupKind(), &requestBeta{})
	scheme.AddDefaulting(s, defaultRequestBeta)
	scheme.AddDefaulting(s, func(c *conditionBeta) { scheme.SetDefault(&c.Status, corev1.ConditionTrue) })
	scheme.AddConversion(s, func(in *requestSpecBeta, out *CertificateSigningRequestSpec) error {
		out.SignerName = scheme.OrZero(in.SignerName)
		return scheme.ConvertFields(s, in, out)
	})
}

type requestBeta struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	Spec            requestSpecBeta   `json:"spec" pb:"2"`
	Status          requestStatusBeta `json:"status,omitempty" pb:"3"`
}

type requestSpecBeta struct {
	Request           []byte                `json:"request" pb:"1"`
	SignerName        *string               `json:"signerName,omitempty" pb:"7"`
	ExpirationSeconds *int32                `json:"expirationSeconds,omitempty" pb:"8"`
	Usages            []KeyUsage            `json:"usages,omitempty" pb:"5"`
	Username          string                `json:"username,omitempty" pb:"2"`
	UID               string                `json:"uid,omitempty" pb:"3"`
	Groups            []string              `json:"groups,omitempty" pb:"4"`
	Extra             map[string]ExtraValue `json:"extra,omitempty" pb:"6"`
}

type requestStatusBeta struct {
	Conditions  []conditionBeta `json:"conditions,omitempty" pb:"1"`
	Certificate []byte          `json:"certificate,omitempty" pb:"2"`
}

type conditionBeta CertificateSigningRequestCondition

func defaultRequestBeta(spec *requestSpecBeta) {
	if spec.Usages == nil {
		spec.Usages = []KeyUsage{UsageDigitalSignature, UsageKeyEncipherment}
	}
	if spec.SignerName == nil {
		signer := signerOf(spec.Request, spec.Usages)
		spec.SignerName = &signer
	}
}

// signerOf returns the signer that a request needs which names none: that of kubelets'
// certificates, for clients or for servers, if the request is as a kubelet makes it.
func signerOf(request []byte, usages []KeyUsage) string {
	csr, err := ParseRequest(request)
	if err != nil || !slices.Equal(csr.Subject.Organization, []string{"system:nodes"}) ||
		!strings.HasPrefix(csr.Subject.CommonName, "system:node:") || len(csr.EmailAddresses) > 0 || len(csr.URIs) > 0 {
		return LegacyUnknownSignerName
	}
	switch hosts := len(csr.DNSNames) + len(csr.IPAddresses); {
	case hosts == 0 && usesAre(usages, UsageClientAuth):
		return KubeAPIServerClientKubeletSignerName
	case hosts > 0 && usesAre(usages, UsageServerAuth):
		return KubeletServingSignerName
	}
	return LegacyUnknownSignerName
}

// usesAre reports whether usages are those that a kubelet asks for beside auth. Only RSA keys need
// key encipherment.
func usesAre(usages []KeyUsage, auth KeyUsage) bool {
	for _, u := range usages {
		if u != auth && u != UsageDigitalSignature && u != UsageKeyEncipherment {
			return false
		}
	}
	return slices.Contains(usages, auth) && slices.Contains(usages, UsageDigitalSignature)
}
