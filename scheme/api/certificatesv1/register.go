package certificatesv1

import (
	"fmt"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/meta"
)

// GroupVersion is the version that this package declares.
var GroupVersion = meta.GroupVersion{Group: "certificates.k8s.io", Version: "v1"}

// Scheme registers the kinds, and the field labels.
var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
	s.AddKnownTypes(GroupVersion, &CertificateSigningRequest{}, &CertificateSigningRequestList{})
	addStored(s)
	s.AddFieldLabels(
		GroupVersion.WithKind("CertificateSigningRequest"),
		func(label, value string) (string, string, error) {
			switch label {
			case "metadata.name", "spec.signerName":
				return label, value, nil
			}
			return "", "", fmt.Errorf("field label not supported: %s", label)
		},
	)
})
