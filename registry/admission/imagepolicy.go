package admission

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/scheme/names"
)

// This file has the plugin ImagePolicyWebhook: the call of the webhook, the remembered answers, and
// the configuration. The chain calls Validate, which acts on creates and updates of pods.

// ImagePolicyWebhook is the plugin of that name. It asks a webhook whether a pod may use its
// images, at each create and update of a pod or of its ephemeral containers. Answers are
// remembered, within bounds.
type ImagePolicyWebhook struct {
	hook               ImageReviewer
	allowTTL, denyTTL  time.Duration // how long answers are remembered; 0: not at all
	allowedWithoutHook bool          // pods are allowed when the webhook fails

	mu      sync.Mutex
	answers recent[[sha256.Size]byte, imageAnswer] // by the hash of the spec
}

// ImageReviewer posts an ImageReview as JSON to the webhook, and decodes the response into out.
// callout.Client implements it.
type ImageReviewer interface {
	Call(ctx context.Context, in, out any) error
}

// DialImageReviewer makes an ImageReviewer from a kubeconfig file. A call that fails is tried again
// after the pause.
type DialImageReviewer func(kubeconfig string, pause time.Duration) (ImageReviewer, error)

// Bounds on remembered answers: their number, and the bytes of the texts in one answer.
const (
	maxImageAnswers    = 1024
	maxImageAnswerText = 4096
)

// imageAnswer is an answer that is remembered until a time.
type imageAnswer struct {
	status imageReviewStatus
	until  time.Time
}

// imageReview is an ImageReview, the question to a webhook and its answer. The types below are its
// parts.
type imageReview struct {
	Kind       string            `json:"kind"`
	APIVersion string            `json:"apiVersion"`
	Metadata   struct{}          `json:"metadata"`
	Spec       imageReviewSpec   `json:"spec"`
	Status     imageReviewStatus `json:"status"`
}

const (
	imageReviewKind    = "ImageReview"
	imageReviewVersion = "imagepolicy.k8s.io/v1alpha1"
)

type imageReviewSpec struct {
	Containers  []imageReviewContainer `json:"containers,omitempty"`
	Annotations map[string]string      `json:"annotations,omitempty"`
	Namespace   string                 `json:"namespace,omitempty"`
}

type imageReviewContainer struct {
	Image string `json:"image,omitempty"`
}

type imageReviewStatus struct {
	Allowed          bool              `json:"allowed"`
	Reason           string            `json:"reason,omitempty"`
	AuditAnnotations map[string]string `json:"auditAnnotations,omitempty"`
}

// NewImagePolicyWebhook returns the plugin. configuration, as YAML or JSON, is required.
func NewImagePolicyWebhook(configuration []byte, dial DialImageReviewer) (*ImagePolicyWebhook, error) {
	c, err := readImagePolicy(configuration)
	if err != nil {
		return nil, err
	}
	p := &ImagePolicyWebhook{allowTTL: c.allowTTL, denyTTL: c.denyTTL, allowedWithoutHook: c.DefaultAllow}
	p.answers.size = maxImageAnswers
	if p.hook, err = dial(c.KubeConfigFile, c.pause); err != nil {
		return nil, fmt.Errorf("imagePolicy.kubeConfigFile: %w", err)
	}
	return p, nil
}

// Name is the plugin's name.
func (*ImagePolicyWebhook) Name() string { return "ImagePolicyWebhook" }

// Handles is true for creates and updates.
func (*ImagePolicyWebhook) Handles(op Operation) bool { return op == Create || op == Update }

// imageAnnotations is the prefix of the plugin's audit annotations.
const imageAnnotations = "imagepolicywebhook.image-policy.k8s.io/"

// Validate refuses a pod if the webhook does not allow its images.
func (p *ImagePolicyWebhook) Validate(ctx context.Context, a *Attributes) error {
	if a.Resource.Resource != "pods" || a.Resource.Group != "" ||
		a.Subresource != "" && a.Subresource != "ephemeralcontainers" {
		return nil
	}
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return meta.NewBadRequest("Resource was marked with kind Pod but was unable to be converted")
	}
	status, err := p.ask(ctx, imageSpecOf(a, pod))
	switch {
	case err != nil && p.allowedWithoutHook:
		// kube-apiserver also annotates a copy of the pod (alpha.image-policy.k8s.io/failed-open),
		// which nobody sees.
		a.Annotate(imageAnnotations+"failed-open", "true")
		return nil
	case err != nil:
		return a.Forbidden("%s", wording(err))
	}
	for _, key := range slices.Sorted(maps.Keys(status.AuditAnnotations)) {
		if full := imageAnnotations + key; !strings.Contains(key, "/") && len(names.IsQualifiedName(full)) == 0 {
			a.Annotate(full, status.AuditAnnotations[key])
		}
	}
	switch {
	case status.Allowed:
		return nil
	case status.Reason != "":
		return a.Forbidden("image policy webhook backend denied one or more images: %s", status.Reason)
	}
	return a.Forbidden("one or more images rejected by webhook backend")
}

// wording returns the text of an error of the webhook, in the words of kube-apiserver if the error
// has them.
func wording(err error) string {
	var worded interface{ Wording() string }
	if errors.As(err, &worded) {
		return worded.Wording()
	}
	return err.Error()
}

// imageSpecOf returns the question to the webhook: the images of a pod, and its annotations about
// image policies.
func imageSpecOf(a *Attributes, pod *corev1.Pod) *imageReviewSpec {
	spec := &imageReviewSpec{Namespace: a.Namespace}
	ask := func(image string) { spec.Containers = append(spec.Containers, imageReviewContainer{image}) }
	if a.Subresource == "" {
		for _, list := range [...][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
			for i := range list {
				ask(list[i].Image)
			}
		}
	} else {
		for i := range pod.Spec.EphemeralContainers {
			ask(pod.Spec.EphemeralContainers[i].Image)
		}
	}
	for key, value := range pod.Annotations {
		if strings.Contains(key, ".image-policy.k8s.io/") {
			if spec.Annotations == nil {
				spec.Annotations = map[string]string{}
			}
			spec.Annotations[key] = value
		}
	}
	return spec
}

// ask returns the webhook's answer, a remembered one if possible.
func (p *ImagePolicyWebhook) ask(ctx context.Context, spec *imageReviewSpec) (imageReviewStatus, error) {
	text, err := codec.AppendJSON(nil, spec)
	if err != nil {
		return imageReviewStatus{}, err
	}
	key := sha256.Sum256(text)
	if status, ok := p.remembered(key); ok {
		return status, nil
	}
	review := &imageReview{Kind: imageReviewKind, APIVersion: imageReviewVersion, Spec: *spec}
	var raw json.RawMessage
	if err := p.hook.Call(ctx, review, &raw); err != nil {
		return imageReviewStatus{}, err
	}
	// Unlike encoding/json, codec compares the names of fields case-sensitively.
	var answer imageReview
	if err := codec.DecodeJSON(raw, &answer); err != nil ||
		answer.Kind != "" && answer.Kind != imageReviewKind ||
		answer.APIVersion != "" && answer.APIVersion != imageReviewVersion {
		return imageReviewStatus{}, fmt.Errorf("the webhook's response is not an %s of %s",
			imageReviewKind, imageReviewVersion)
	}
	p.remember(key, answer.Status)
	return answer.Status, nil
}

// remembered returns the answer for a key, if there is one that has not expired.
func (p *ImagePolicyWebhook) remembered(key [sha256.Size]byte) (imageReviewStatus, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := p.answers.get(key)
	if found == nil || !time.Now().Before(found.until) {
		return imageReviewStatus{}, false
	}
	return found.status, true
}

// remember keeps an answer. An answer with long texts is not kept.
func (p *ImagePolicyWebhook) remember(key [sha256.Size]byte, status imageReviewStatus) {
	ttl, size := p.denyTTL, len(status.Reason)
	if status.Allowed {
		ttl = p.allowTTL
	}
	for key, value := range status.AuditAnnotations {
		size += len(key) + len(value)
	}
	if ttl <= 0 || size > maxImageAnswerText {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers.put(key, imageAnswer{status, time.Now().Add(ttl)})
}

// imagePolicy is the configuration of ImagePolicyWebhook, which has no kind. A duration is a number
// in the unit of its field; 0 means the default. -1 switches the memory or the pause off.
type imagePolicy struct {
	KubeConfigFile string `json:"kubeConfigFile"` // relative to the folder in which the server runs
	AllowTTL       int64  `json:"allowTTL"`       // seconds; -1: answers are not remembered
	DenyTTL        int64  `json:"denyTTL"`        // seconds; -1: answers are not remembered
	RetryBackoff   int64  `json:"retryBackoff"`   // milliseconds; -1: no pause
	DefaultAllow   bool   `json:"defaultAllow"`

	allowTTL, denyTTL, pause time.Duration // the three as durations
}

// readImagePolicy decodes and checks a configuration.
func readImagePolicy(configuration []byte) (*imagePolicy, error) {
	if configuration == nil {
		return nil, errors.New("no config specified")
	}
	text, _, err := codec.YAMLToJSON(configuration, false, nil)
	if err != nil {
		return nil, err
	}
	var outer struct {
		ImagePolicy imagePolicy `json:"imagePolicy"`
	}
	if err := json.Unmarshal(text, &outer); err != nil {
		return nil, err
	}
	c := &outer.ImagePolicy
	for _, d := range [...]struct {
		name            string
		value           int64
		unit            string
		to              *time.Duration
		byDefault, from time.Duration
		until           time.Duration
	}{
		{"retryBackoff", c.RetryBackoff, "ms", &c.pause, 500 * time.Millisecond, 1, 5 * time.Minute},
		{"allowTTL", c.AllowTTL, "s", &c.allowTTL, 5 * time.Minute, time.Second, 30 * time.Minute},
		{"denyTTL", c.DenyTTL, "s", &c.denyTTL, 30 * time.Second, time.Second, 30 * time.Minute},
	} {
		unit, _ := time.ParseDuration("1" + d.unit)
		switch {
		case d.value == -1:
		case d.value == 0:
			*d.to = d.byDefault
		case d.value < 0 || d.value > int64(d.until/unit):
			return nil, fmt.Errorf("imagePolicy.%s: valid value is between %v and %v, got %d%s",
				d.name, d.from, d.until, d.value, d.unit)
		default:
			*d.to = time.Duration(d.value) * unit
		}
	}
	if c.KubeConfigFile == "" {
		return nil, errors.New("imagePolicy.kubeConfigFile: Required value")
	}
	return c, nil
}
