package differential

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/imagepolicy"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/callout"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
)

// imageHook is a webhook on the loopback that both plugins ask, each at a path of its own. It gives
// both the same answer.
type imageHook struct {
	*httptest.Server
	mu     sync.Mutex
	status int
	body   string
	asked  map[string][]string // the requests, by path
}

func newImageHook(t *testing.T) *imageHook {
	h := &imageHook{asked: map[string][]string{}}
	h.Server = httptest.NewServer(h)
	t.Cleanup(h.Close)
	return h
}

func (h *imageHook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	h.mu.Lock()
	defer h.mu.Unlock()
	var tree map[string]any
	if err == nil {
		err = json.Unmarshal(body, &tree)
	}
	h.asked[r.URL.Path] = append(h.asked[r.URL.Path], fmt.Sprint(string(encode(tree)), err))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(h.status)
	io.WriteString(w, h.body)
}

// kubeconfig writes a kubeconfig file for a path of the webhook.
func (h *imageHook) kubeconfig(t *testing.T, path string) string {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("current-context: c\ncontexts: [{name: c, context: {cluster: c, user: u}}]\nclusters: [{name: c, cluster: {server: %q}}]\nusers: [{name: u}]\n", h.URL+path)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// dialImages makes our client of the webhook, as server/plugins does.
func dialImages(t *testing.T) admission.DialImageReviewer {
	return func(kubeconfig string, pause time.Duration) (admission.ImageReviewer, error) {
		target, err := callout.ReadKubeconfig(kubeconfig)
		if err != nil {
			return nil, err
		}
		client, err := callout.New(callout.Config{Name: "images", Target: target, Retry: callout.Retry{Tries: 5, Pause: max(pause, 1)}})
		if err == nil {
			t.Cleanup(client.Close)
		}
		return client, err
	}
}

// imageAnswer makes up an answer. known means that both plugins give the same text about it.
func imageAnswer(rnd *rand.Rand) (status int, body string, known bool) {
	if chance(rnd, 4) {
		return pick(rnd, 400, 401, 403, 404, 409, 429, 500, 501, 503, 504), "", true
	}
	if chance(rnd, 8) {
		return 200, pick(rnd, "", "{", "[]", `{"kind":"Pod","apiVersion":"v1"}`, `{"kind":"ImageReview","apiVersion":"v2"}`, `{"status":5}`, `{"status":{"allowed":"true"}}`), false
	}
	review := map[string]any{}
	if !chance(rnd, 4) {
		review["kind"], review["apiVersion"] = "ImageReview", "imagepolicy.k8s.io/v1alpha1"
	}
	answer := map[string]any{pick(rnd, "allowed", "allowed", "allowed", "Allowed"): chance(rnd, 2)}
	if chance(rnd, 2) {
		answer["reason"] = pick(rnd, "", "it is old")
	}
	if chance(rnd, 2) {
		answer["auditAnnotations"] = map[string]string{pick(rnd, "a", "b", "x/y", "-", "", "a.b"): "1", pick(rnd, "c", "d"): pick(rnd, "", "2")}
	}
	if !chance(rnd, 10) {
		review["status"] = answer
	}
	return 200, string(encode(review)), true
}

// noted are attributes that keep the accepted annotations.
type noted struct {
	theiradmission.Attributes
	audit map[string]string
}

func (n *noted) AddAnnotation(key, value string) error {
	err := n.Attributes.AddAnnotation(key, value)
	if err == nil {
		n.audit[key] = value
	}
	return err
}

// imagePod makes up a pod. The images are few, so that the plugins ask about many of them twice.
func imagePod(rnd *rand.Rand) *corev1.Pod {
	pod := &corev1.Pod{}
	for range rnd.IntN(3) {
		pod.Spec.Containers = append(pod.Spec.Containers, corev1.Container{Image: pick(rnd, "a", "b", "")})
	}
	for range rnd.IntN(2) {
		pod.Spec.InitContainers = append(pod.Spec.InitContainers, corev1.Container{Image: pick(rnd, "a", "c<&>")})
	}
	for range rnd.IntN(2) {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Image: pick(rnd, "a", "d")}})
	}
	if chance(rnd, 2) {
		pod.Annotations = map[string]string{pick(rnd, "x.image-policy.k8s.io/y", "image-policy.k8s.io/y", "a"): "v", pick(rnd, "b", ".image-policy.k8s.io/"): "w"}
	}
	pod.Name, pod.GenerateName = pick(rnd, "p", ""), pick(rnd, "", "g-")
	return pod
}

// refusedForbidden is our text for a webhook's 403. Kubernetes passes the webhook's error on
// unchanged.
var refusedForbidden = regexp.MustCompile(`^403 Forbidden pods "[^"]*" is forbidden: unknown false$`)

// TestImagePolicies has both plugins ask one webhook about the same pods.
func TestImagePolicies(t *testing.T) {
	rnd := random("image policies")
	hook := newImageHook(t)
	ourFile, theirFile := hook.kubeconfig(t, "/ours"), hook.kubeconfig(t, "/theirs")
	seen := map[string]int{}
	all := 0
	for range times(20) {
		config := fmt.Sprintf("retryBackoff: -1, allowTTL: %d, denyTTL: %d, defaultAllow: %t, unknown: 1", pick(rnd, -1, 0, 60), pick(rnd, -1, 0, 60), chance(rnd, 3))
		ours, err := admission.NewImagePolicyWebhook([]byte("imagePolicy: {kubeConfigFile: "+ourFile+", "+config+"}"), dialImages(t))
		if err != nil {
			t.Fatal(err)
		}
		theirs := must1(imagepolicy.NewImagePolicyWebhook(strings.NewReader("imagePolicy: {kubeConfigFile: " + theirFile + ", " + config + "}")))
		for range 50 {
			pod := imagePod(rnd)
			var known bool
			hook.status, hook.body, known = imageAnswer(rnd)
			clear(hook.asked)
			name, subresource := pick(rnd, pod.Name, ""), pick(rnd, "", "", "", "ephemeralcontainers", "ephemeralcontainers", "status")
			op := pick(rnd, theiradmission.Create, theiradmission.Update)
			hub, mine := theirHub(t, pod.DeepCopy(), &core.Pod{}), toOurs[ourcore.Pod](t, pod)
			attrs := &noted{theiradmission.NewAttributesRecord(hub, nil, corev1.SchemeGroupVersion.WithKind("Pod"), "ns", name, schema.GroupVersionResource{Version: "v1", Resource: "pods"},
				subresource, op, &metav1.CreateOptions{}, false, &user.DefaultInfo{Name: "alice"}), map[string]string{}}
			a := &admission.Attributes{Operation: admission.Operation(op), Resource: ourcore.GroupVersion.WithResource("pods"), Kind: ourcore.GroupVersion.WithKind("Pod"),
				Subresource: subresource, Namespace: "ns", Name: name, Object: mine}
			audit := map[string]string{}
			a.Listen(nil, func(key, value string) { audit[key] = value })
			want, got := theirRefusal(theirs.Validate(t.Context(), attrs, nil)), ourRefusal(ours.Validate(t.Context(), a))
			asked, theirAsked := hook.asked["/ours"], hook.asked["/theirs"]
			if hook.status == 501 || hook.status == 503 { // Coracle retries these codes, too
				asked, theirAsked = asked[:min(1, len(asked))], theirAsked[:min(1, len(theirAsked))]
			}
			if hook.status == 403 && want == "403 Forbidden unknown false" && refusedForbidden.MatchString(got) {
				got = want
			}
			if !known { // the texts of decoders differ
				cut := regexp.MustCompile(`(is forbidden: ).*`)
				if strings.Contains(want, "webhook backend") {
					cut = regexp.MustCompile(`^$`)
				}
				want, got = cut.ReplaceAllString(want, "$1"), cut.ReplaceAllString(got, "$1")
			}
			if got != want || !maps.Equal(audit, attrs.audit) || fmt.Sprint(asked) != fmt.Sprint(theirAsked) {
				t.Errorf("%s, %s %q after %d %s:\n got %s %v\nwant %s %v\n got asked %s\nwant asked %s", config, op, subresource, hook.status, hook.body, got, audit, want, attrs.audit, asked, theirAsked)
			}
			// Kubernetes' plugin annotates the pod if the webhook fails. kube-apiserver gives
			// validators a copy, so that no client sees the annotation.
			if !maps.Equal(mine.Annotations, pod.Annotations) {
				t.Errorf("the pod's annotations are now %v", mine.Annotations)
			}
			all++
			switch {
			case len(asked) == 0:
				seen["not asked"]++
			case want == "":
				seen["allowed"]++
			default:
				seen["refused"]++
			}
		}
	}
	t.Logf("%d writes: %v", all, seen)
	for _, what := range []string{"not asked", "allowed", "refused"} {
		if seen[what] < all/20 {
			t.Errorf("%s %d times: too little", what, seen[what])
		}
	}
}

// TestImagePolicyConfigurations makes both plugins with configurations that are often wrong.
func TestImagePolicyConfigurations(t *testing.T) {
	rnd := random("configurations of image policies")
	hook := newImageHook(t)
	file := hook.kubeconfig(t, "/")
	for range times(200) {
		var fields []string
		for _, name := range []string{"allowTTL", "denyTTL", "retryBackoff", "AllowTTL", "defaultAllow"} {
			if chance(rnd, 3) {
				fields = append(fields, name+": "+pick(rnd, "0", "-1", "-2", "1", "1800", "1801", "300000", "300001", "1.5", "x", "true", "~", `"5"`))
			}
		}
		if !chance(rnd, 8) {
			fields = append(fields, "kubeConfigFile: "+pick(rnd, file, file, file, "nowhere", "5"))
		}
		text := pick(rnd, "imagePolicy", "imagePolicy", "ImagePolicy", "other") + ": {" + strings.Join(fields, ", ") + "}\n"
		_, err := admission.NewImagePolicyWebhook([]byte(text), dialImages(t))
		_, theirErr := imagepolicy.NewImagePolicyWebhook(strings.NewReader(text))
		if (err == nil) != (theirErr == nil) || err != nil && !strings.HasPrefix(err.Error(), "imagePolicy.") && !strings.Contains(err.Error(), "imagePolicy.") {
			t.Errorf("%s\n got %v\nwant %v", text, err, theirErr)
		}
	}
}
