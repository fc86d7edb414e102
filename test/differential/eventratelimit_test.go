package differential

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	theiradmission "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	"k8s.io/kubernetes/pkg/apis/core"
	"k8s.io/kubernetes/plugin/pkg/admission/eventratelimit"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/router/request"
	ourcore "github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
)

// configuredPlugin makes a plugin of Kubernetes with its configuration. A nil text configures
// nothing.
func configuredPlugin(name string, register func(*theiradmission.Plugins), text *string, needs theiradmission.PluginInitializer) (theiradmission.Interface, error) {
	all := theiradmission.NewPlugins()
	register(all)
	var config io.Reader
	if text != nil {
		config = strings.NewReader(*text)
	}
	return all.InitPlugin(name, config, needs)
}

// needless is an initializer for a plugin that needs nothing.
type needless struct{}

func (needless) Initialize(theiradmission.Interface) {}

// theirRefusal is the code, reason and message of an error of Kubernetes' plugin, as clients see
// it.
func theirRefusal(err error) string {
	var status apierrors.APIStatus
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		s := status.Status()
		return fmt.Sprintf("%d %s %s %v", s.Code, s.Reason, s.Message, s.Details == nil)
	}
	return fmt.Sprintf("500  %s true", err) // as responsewriters.ErrorToAPIStatus does
}

// ourRefusal is the code, reason and message of an error of our plugin.
func ourRefusal(err error) string {
	var status *meta.StatusError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &status):
		s := &status.Status
		return fmt.Sprintf("%d %s %s %v", s.Code, s.Reason, s.Message, s.Details == nil)
	}
	return "not a *meta.StatusError: " + err.Error()
}

// theirHub converts an object of a version to Kubernetes' hub.
func theirHub[T runtime.Object](t *testing.T, obj runtime.Object, out T) T {
	t.Helper()
	if err := legacyscheme.Scheme.Convert(obj, out, nil); err != nil {
		t.Fatal(err)
	}
	return out
}

// eventLimitsText makes up the configuration of EventRateLimit. One in wrong fields is wrong; 0:
// none is.
func eventLimitsText(rnd *rand.Rand, wrong int) string {
	number := func(most int) int {
		if wrong > 0 && chance(rnd, wrong) {
			return -rnd.IntN(2)
		}
		return 1 + rnd.IntN(most)
	}
	var limits []string
	for range 1 + rnd.IntN(4) {
		kind := pick(rnd, "Server", "Namespace", "User", "SourceAndObject")
		if wrong > 0 && chance(rnd, wrong) {
			kind = pick(rnd, "server", "", "Event")
		}
		limits = append(limits, fmt.Sprintf("{type: %q, qps: %d, burst: %d, cacheSize: %d, unknown: 1}", kind, number(4), number(5), pick(rnd, 0, number(3))))
	}
	if wrong > 0 && chance(rnd, wrong) {
		limits = nil
	}
	return "apiVersion: eventratelimit.admission.k8s.io/v1alpha1\nkind: Configuration\nlimits: [" + strings.Join(limits, ", ") + "]\n"
}

// TestEventRateLimits sends both plugins the same events at the same times.
func TestEventRateLimits(t *testing.T) {
	const events = 40
	rnd := random("event rate limits")
	refused, all := 0, 0
	for range times(50) {
		text := eventLimitsText(rnd, 0)
		ours, err := admission.NewEventRateLimit([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		made := must1(configuredPlugin(eventratelimit.PluginName, eventratelimit.Register, &text, needless{}))
		theirs := made.(theiradmission.ValidationInterface)
		synctest.Test(t, func(t *testing.T) {
			for i := range events {
				if chance(rnd, 4) {
					time.Sleep(time.Duration(rnd.IntN(700)) * time.Millisecond)
				}
				e := &corev1.Event{Source: corev1.EventSource{Component: pick(rnd, "", "a"), Host: pick(rnd, "", "b")}}
				e.InvolvedObject = corev1.ObjectReference{Kind: pick(rnd, "Pod", "Node"), Namespace: pick(rnd, "a", "b"), Name: pick(rnd, "c", "d"),
					UID: types.UID(pick(rnd, "", "u")), APIVersion: "v1"}
				namespace, name, dry := pick(rnd, "a", "b", "c"), pick(rnd, "alice", "bob", ""), chance(rnd, 10)
				kind := schema.GroupVersionKind{Group: pick(rnd, "", "", "", "events.k8s.io"), Version: "v1", Kind: pick(rnd, "Event", "Event", "Event", "Pod")}
				op := pick(rnd, theiradmission.Create, theiradmission.Update)
				attrs := theiradmission.NewAttributesRecord(theirHub(t, e, &core.Event{}), nil, kind, namespace, "e", schema.GroupVersionResource{Version: "v1", Resource: "events"},
					"", op, &metav1.CreateOptions{}, dry, &user.DefaultInfo{Name: name})
				a := &admission.Attributes{Operation: admission.Operation(op), Resource: ourcore.GroupVersion.WithResource("events"),
					Kind: meta.GroupVersionKind(kind), Namespace: namespace, Name: "e", DryRun: dry, User: &request.User{Name: name}, Object: toOurs[ourcore.Event](t, e)}
				want, got := theirRefusal(theirs.Validate(t.Context(), attrs, nil)), ourRefusal(ours.Validate(t.Context(), a))
				if got != want {
					t.Errorf("%sevent %d:\n got %s\nwant %s", text, i, got, want)
				}
				if all++; want != "" {
					refused++
				}
			}
		})
	}
	t.Logf("%d of %d events refused", refused, all)
	if refused < all/10 || refused > all*9/10 {
		t.Errorf("%d of %d events were refused: they are too random", refused, all)
	}
}

// supportedValues finds the values that a message lists. Kubernetes lists them in random order.
var supportedValues = regexp.MustCompile(`supported values: ("[A-Za-z]+"(, )?)+`)

// TestEventRateLimitConfigurations makes both plugins with configurations that are often wrong.
func TestEventRateLimitConfigurations(t *testing.T) {
	rnd := random("configurations of event rate limits")
	for range times(200) {
		text := eventLimitsText(rnd, 8)
		text = pick(rnd, text, text, text, strings.Replace(text, "v1alpha1", "v1", 1), strings.Replace(text, "kind: Configuration", "", 1), strings.ReplaceAll(text, "qps: 1", "qps: a"))
		_, err := admission.NewEventRateLimit([]byte(text))
		_, theirErr := configuredPlugin(eventratelimit.PluginName, eventratelimit.Register, &text, needless{})
		cut := func(err error) string { return supportedValues.ReplaceAllString(saidBy(err), "") }
		if (err == nil) != (theirErr == nil) || strings.Contains(saidBy(theirErr), "limits[") && !strings.HasSuffix(cut(theirErr), cut(err)) {
			t.Errorf("%s\n got %v\nwant %v", text, err, theirErr)
		}
	}
	if _, err := configuredPlugin(eventratelimit.PluginName, eventratelimit.Register, nil, needless{}); err == nil || !strings.HasSuffix(err.Error(), saidBy(ourEmptyLimits())) {
		t.Errorf("without a configuration: got %v, want %v", ourEmptyLimits(), err)
	}
}

func ourEmptyLimits() error {
	_, err := admission.NewEventRateLimit(nil)
	return err
}
