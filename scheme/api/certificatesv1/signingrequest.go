package certificatesv1

import (
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// CertificateSigningRequest asks a signer for a certificate. Somebody approves or denies it, and
// then the signer may issue.
type CertificateSigningRequest struct {
	meta.TypeMeta `json:",inline"`
	// Name, labels and what else all objects have.
	meta.ObjectMeta `json:"metadata,omitempty" pb:"1"`
	// What is asked for, and by whom. It cannot be changed.
	Spec CertificateSigningRequestSpec `json:"spec" pb:"2"`
	// What has become of it.
	Status CertificateSigningRequestStatus `json:"status,omitempty" pb:"3"`
}

// CertificateSigningRequestSpec is what is asked for, and by whom.
type CertificateSigningRequestSpec struct {
	// PKCS #10 request, as one PEM block of the type CERTIFICATE REQUEST.
	Request []byte `json:"request" pb:"1"`
	// Who is asked, as a domain and a path, such as example.com/signer. The signers of Kubernetes
	// are below kubernetes.io.
	SignerName string `json:"signerName" pb:"7"`
	// Seconds for which the certificate should be valid; at least 600. Signers may choose
	// differently.
	ExpirationSeconds *int32 `json:"expirationSeconds,omitempty" pb:"8"`
	// What the key is to be used for; at least one, and none twice.
	Usages []KeyUsage `json:"usages,omitempty" pb:"5" itemEnum:"any,cert sign,client auth,code signing,content commitment,crl sign,data encipherment,decipher only,digital signature,email protection,encipher only,ipsec end system,ipsec tunnel,ipsec user,key agreement,key encipherment,microsoft sgc,netscape sgc,ocsp signing,s/mime,server auth,signing,timestamping" list:"atomic"`
	// Name of the user who asks; filled in by the server.
	Username string `json:"username,omitempty" pb:"2"`
	// What tells the user who asks from others of that name, if anything does; filled in by the
	// server.
	UID string `json:"uid,omitempty" pb:"3"`
	// Groups of the user who asks; filled in by the server.
	Groups []string `json:"groups,omitempty" pb:"4" list:"atomic"`
	// What else is known of the user who asks; filled in by the server.
	Extra map[string]ExtraValue `json:"extra,omitempty" pb:"6"`
}

// The standard signers of Kubernetes, with what their certificates are for.
const (
	KubeAPIServerClientSignerName        = "kubernetes.io/kube-apiserver-client"         // for clients of the API
	KubeAPIServerClientKubeletSignerName = "kubernetes.io/kube-apiserver-client-kubelet" // for kubelets as clients
	KubeletServingSignerName             = "kubernetes.io/kubelet-serving"               // for the ports of kubelets
	// LegacyUnknownSignerName is the signer that v1beta1 set if a client named none and no other
	// signer fitted.
	LegacyUnknownSignerName = "kubernetes.io/legacy-unknown"
)

// KeyUsage is something that a key is used for.
type KeyUsage string

// What keys are used for.
const (
	UsageSigning           KeyUsage = "signing"
	UsageDigitalSignature  KeyUsage = "digital signature"
	UsageContentCommitment KeyUsage = "content commitment"
	UsageKeyEncipherment   KeyUsage = "key encipherment"
	UsageKeyAgreement      KeyUsage = "key agreement"
	UsageDataEncipherment  KeyUsage = "data encipherment"
	UsageCertSign          KeyUsage = "cert sign"
	UsageCRLSign           KeyUsage = "crl sign"
	UsageEncipherOnly      KeyUsage = "encipher only"
	UsageDecipherOnly      KeyUsage = "decipher only"
	UsageAny               KeyUsage = "any"
	UsageServerAuth        KeyUsage = "server auth"
	UsageClientAuth        KeyUsage = "client auth"
	UsageCodeSigning       KeyUsage = "code signing"
	UsageEmailProtection   KeyUsage = "email protection"
	UsageSMIME             KeyUsage = "s/mime"
	UsageIPsecEndSystem    KeyUsage = "ipsec end system"
	UsageIPsecTunnel       KeyUsage = "ipsec tunnel"
	UsageIPsecUser         KeyUsage = "ipsec user"
	UsageTimestamping      KeyUsage = "timestamping"
	UsageOCSPSigning       KeyUsage = "ocsp signing"
	UsageMicrosoftSGC      KeyUsage = "microsoft sgc"
	UsageNetscapeSGC       KeyUsage = "netscape sgc"
)

// ExtraValue holds what is known of a user under one key.
type ExtraValue []string

// CertificateSigningRequestStatus is what has become of a request.
type CertificateSigningRequestStatus struct {
	// Approved or Denied, Failed, and what else signers say, one for each type. The first two are
	// added through approval, others through status; those three never go.
	Conditions []CertificateSigningRequestCondition `json:"conditions,omitempty" pb:"1" list:"map,key=type"`
	// The certificate and those that it stands on, as PEM blocks of the type CERTIFICATE. Once
	// there it cannot be changed.
	Certificate []byte `json:"certificate,omitempty" pb:"2"`
}

// RequestConditionType names something that has become of a request.
type RequestConditionType string

// What has become of a request.
const (
	CertificateApproved RequestConditionType = "Approved" // the signer may issue
	CertificateDenied   RequestConditionType = "Denied"   // it must not
	CertificateFailed   RequestConditionType = "Failed"   // it could not
)

// CertificateSigningRequestCondition tells one thing that has become of a request.
type CertificateSigningRequestCondition struct {
	// Approved, Denied, Failed, or what else a signer has to say.
	Type RequestConditionType `json:"type" pb:"1"`
	// True, False or Unknown; True for the types of Kubernetes.
	Status corev1.ConditionStatus `json:"status" pb:"6"`
	// Why the status is as it is, in one word for programs.
	Reason string `json:"reason,omitempty" pb:"2"`
	// Why the status is as it is, for people.
	Message string `json:"message,omitempty" pb:"3"`
	// When the condition was last written; by default when it is.
	LastUpdateTime meta.Time `json:"lastUpdateTime,omitempty" pb:"4"`
	// When its status last changed; by default found out by the server.
	LastTransitionTime meta.Time `json:"lastTransitionTime,omitempty" pb:"5"`
}

// CertificateSigningRequestList is a list of requests.
type CertificateSigningRequestList struct {
	meta.TypeMeta `json:",inline"`
	// Where the list is in time and, if it was cut off, how to go on.
	meta.ListMeta `json:"metadata,omitempty" pb:"1"`
	// The objects in the list.
	Items []CertificateSigningRequest `json:"items" pb:"2"`
}
