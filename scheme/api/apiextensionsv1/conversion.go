package apiextensionsv1

import "github.com/coracle-project/coracle/scheme/meta"

// CustomResourceConversion says how objects are converted between versions.
type CustomResourceConversion struct {
	// None changes nothing but apiVersion, Webhook has a server do it.
	Strategy ConversionStrategyType `json:"strategy" pb:"1"`
	// The server that converts, if the strategy is Webhook.
	Webhook *WebhookConversion `json:"webhook,omitempty" pb:"2"`
}

// ConversionStrategyType is a way of converting objects.
type ConversionStrategyType string

// The ways of converting objects.
const (
	// NoneConverter changes apiVersion and nothing else.
	NoneConverter ConversionStrategyType = "None"
	// WebhookConverter has a server convert.
	WebhookConverter ConversionStrategyType = "Webhook"
)

// WebhookConversion is a server that converts objects.
type WebhookConversion struct {
	// How to reach the server.
	ClientConfig *WebhookClientConfig `json:"clientConfig,omitempty" pb:"2"`
	// Versions of ConversionReview that the server understands, the preferred one first. The API
	// server takes the first that it knows; if there is none, nothing can be converted.
	ConversionReviewVersions []string `json:"conversionReviewVersions" pb:"3" list:"atomic"`
}

// WebhookClientConfig says how to reach a webhook: by a URL or by a service.
type WebhookClientConfig struct {
	// URL of the webhook, https://host:port/path, with neither user nor query nor fragment. The host is resolved as the API server
	// does, which is outside of the cluster: for what runs inside, name the service.
	URL *string `json:"url,omitempty" pb:"3"`
	// Service of the webhook, if it runs in the cluster.
	Service *ServiceReference `json:"service,omitempty" pb:"1"`
	// Certificates, in PEM, of the authorities that may have signed the webhook's. Those that the
	// system trusts by default.
	CABundle []byte `json:"caBundle,omitempty" pb:"2"`
}

// ServiceReference names a service and a path on it.
type ServiceReference struct {
	// Namespace of the service.
	Namespace string `json:"namespace" pb:"1"`
	// Name of the service.
	Name string `json:"name" pb:"2"`
	// Path of the URL.
	Path *string `json:"path,omitempty" pb:"3"`
	// Port of the service, 443 by default.
	Port *int32 `json:"port,omitempty" pb:"4"`
}

// ConversionReview asks a webhook to convert objects, and carries the answer.
type ConversionReview struct {
	meta.TypeMeta `json:",inline"`
	// What is to be converted.
	Request *ConversionRequest `json:"request,omitempty" pb:"1"`
	// What came of it.
	Response *ConversionResponse `json:"response,omitempty" pb:"2"`
}

// ConversionRequest is what a webhook is to convert.
type ConversionRequest struct {
	// Identity of this question. The answer repeats it.
	UID meta.UID `json:"uid" pb:"1"`
	// Group and version to convert to, such as example.com/v1.
	DesiredAPIVersion string `json:"desiredAPIVersion" pb:"2"`
	// The objects.
	Objects []meta.RawExtension `json:"objects" pb:"3" list:"atomic"`
}

// ConversionResponse is what a webhook has converted.
type ConversionResponse struct {
	// Identity of the question.
	UID meta.UID `json:"uid" pb:"1"`
	// The objects of the request in its order, converted, if the result is a success; else empty.
	// Kind, name, namespace and UID must be as they were, and all other metadata but labels and
	// annotations.
	ConvertedObjects []meta.RawExtension `json:"convertedObjects" pb:"2" list:"atomic"`
	// Whether it worked: the status is Success or Failure, and the message of a failure is what
	// users see.
	Result meta.Status `json:"result" pb:"3"`
}
