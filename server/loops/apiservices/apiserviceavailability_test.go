package apiservices_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme"
	"github.com/coracle-project/coracle/scheme/api/apiregistrationv1"
	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/api/discoveryv1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
	"github.com/coracle-project/coracle/server/loops/apiservices"
	"github.com/coracle-project/coracle/server/servertest/looptest"
)

// remotes has a fake server with an APIService and its service, and records the checks, writes and
// metrics of the controller.
type remotes struct {
	*looptest.Fake
	stop   func()       // stops the controller
	writes atomic.Int32 // number of the controller's writes

	mu     sync.Mutex
	answer func(ctx context.Context, s *apiregistrationv1.APIService) error // the result of a check; nil: success
	checks []time.Duration                                                  // their times since the last call of checked
	since  time.Time
	lost   []string
}

// inAvailability runs f beside the controller, in the namespace "n".
func inAvailability(t *testing.T, f func(r *remotes)) {
	looptest.InFakeTime(t, func(t *testing.T, w *looptest.Fake) {
		w.CreateNamespace("n")
		r := &remotes{Fake: w, since: time.Now()}
		r.stop = r.follow()
		f(r)
	})
}

// follow runs the loop until the test ends or stop is called.
func (r *remotes) follow() (stop func()) {
	ctx, cancel := context.WithCancel(r.T.Context())
	ended := make(chan struct{})
	api, err := client.New(client.Config{Codecs: r.S.Codecs, Transport: client.HandlerTransport(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Method == http.MethodPut {
			r.writes.Add(1)
		}
		r.S.Handler().ServeHTTP(w, req)
	}))})
	if err != nil {
		r.T.Fatal(err)
	}
	c := &apiservices.APIServiceAvailability{
		Client: api, Check: r.check, Log: zap.NewNop(),
		Lost: func(name, reason string) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.lost = append(r.lost, name+" "+reason)
		},
	}
	go func() { defer close(ended); c.Run(ctx) }()
	stop = func() { cancel(); <-ended }
	r.T.Cleanup(stop)
	r.Sleep(0)
	return stop
}

func (r *remotes) check(ctx context.Context, s *apiregistrationv1.APIService) error {
	r.mu.Lock()
	r.checks = append(r.checks, time.Since(r.since))
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return nil
	}
	return answer(ctx, s)
}

// answers sets the result of all further checks.
func (r *remotes) answers(answer func(ctx context.Context, s *apiregistrationv1.APIService) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func fails(ctx context.Context, _ *apiregistrationv1.APIService) error { return errors.New("no route") }

// checked returns the times of the checks since its last call.
func (r *remotes) checked() string {
	r.Sleep(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	text := strings.Trim(fmt.Sprint(r.checks), "[]")
	r.checks, r.since = nil, time.Now()
	return text
}

func (r *remotes) apiServices() client.Resource[*apiregistrationv1.APIService] {
	return client.For[*apiregistrationv1.APIService](r.S.Client(), apiregistrationv1.GroupVersion.WithResource("apiservices"))
}

// register creates an APIService for the service n/back. change changes its spec.
func (r *remotes) register(change func(s *apiregistrationv1.APIServiceSpec)) {
	r.T.Helper()
	s := &apiregistrationv1.APIService{
		ObjectMeta: meta.ObjectMeta{Name: "v1.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "example.com", Version: "v1", GroupPriorityMinimum: 1000, VersionPriority: 15,
			Service: &apiregistrationv1.ServiceReference{Namespace: "n", Name: "back"},
		},
	}
	if change != nil {
		change(&s.Spec)
	}
	looptest.Make(r.Fake, r.apiServices(), s, nil)
}

// set updates the APIService.
func (r *remotes) set(change func(s *apiregistrationv1.APIService)) {
	r.T.Helper()
	s, err := r.apiServices().Get(r.T.Context(), "v1.example.com", meta.GetOptions{})
	if err != nil {
		r.T.Fatal(err)
	}
	change(s)
	if _, err := r.apiServices().Update(r.T.Context(), s, meta.UpdateOptions{}); err != nil {
		r.T.Fatal(err)
	}
}

// service creates the service n/back with a port 443 named "https". change changes its spec.
func (r *remotes) service(change func(s *corev1.ServiceSpec)) {
	r.T.Helper()
	s := &corev1.Service{ObjectMeta: meta.ObjectMeta{Name: "back"}, Spec: corev1.ServiceSpec{
		ClusterIP: "None", Ports: []corev1.ServicePort{{Name: "https", Port: 443}},
	}}
	if change != nil {
		change(&s.Spec)
	}
	looptest.Make(r.Fake, looptest.Of[*corev1.Service](r.Fake, "services"), s, nil)
}

func (r *remotes) slices() client.Resource[*discoveryv1.EndpointSlice] {
	return looptest.InGroup[*discoveryv1.EndpointSlice](r.Fake, discoveryv1.GroupVersion.WithResource("endpointslices"))
}

// slice creates an endpoint slice of the service, with an address that is ready or not, and a port
// name.
func (r *remotes) slice(name, port string, ready *bool) {
	r.T.Helper()
	number := int32(6443)
	looptest.Make(r.Fake, r.slices(), &discoveryv1.EndpointSlice{
		ObjectMeta:  meta.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "back"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &port, Port: &number}},
	}, nil)
}

// complete creates the APIService, the service and an endpoint slice.
func (r *remotes) complete() {
	r.T.Helper()
	r.service(nil)
	r.slice("a", "https", nil)
	r.register(nil)
}

// available compares the condition Available, as "status reason: message", after everything that
// happens at once has happened.
func (r *remotes) available(want string) {
	r.T.Helper()
	r.Sleep(0)
	if got := r.said(); got != want {
		r.T.Errorf("got %q, want %q", got, want)
	}
}

func (r *remotes) said() string {
	r.T.Helper()
	s, err := r.apiServices().Get(r.T.Context(), "v1.example.com", meta.GetOptions{})
	if err != nil {
		r.T.Fatal(err)
	}
	c := scheme.OrZero(apiregistrationv1.Condition(s, apiregistrationv1.Available))
	return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
}

const passed = "True Passed: all checks passed"

// TestAvailabilityFollows changes the APIService, its service and its endpoint slices step by step.
// The condition follows at once, without waiting for the next check.
func TestAvailabilityFollows(t *testing.T) {
	yes, no := true, false
	inAvailability(t, func(r *remotes) {
		r.register(nil)
		r.available(`False ServiceNotFound: service/back in "n" is not present`)
		r.service(nil)
		r.available(`False EndpointsNotFound: cannot find endpointslices for service/back in "n"`)
		r.slice("a", "other", &yes)
		missing := `False MissingEndpoints: endpointslices for service/back in "n" have no addresses with port name "https"`
		r.available(missing)
		r.slice("b", "https", &no)
		r.available(missing)
		if got := r.checked(); got != "" {
			r.T.Errorf("checked at %s", got)
		}
		r.slice("c", "https", &yes)
		r.available(passed)
		r.set(func(s *apiregistrationv1.APIService) { s.Spec.Service.Port = new(int32(8443)) })
		r.available(`False ServicePortError: service/back in "n" is not listening on port 8443`)
		r.set(func(s *apiregistrationv1.APIService) { s.Spec.Service.Name = "front" })
		r.available(`False ServiceNotFound: service/front in "n" is not present`)
		r.set(func(s *apiregistrationv1.APIService) { s.Spec.Service = nil })
		r.available(`False ServiceNotFound: service/front in "n" is not present`) // another controller writes it
		r.set(func(s *apiregistrationv1.APIService) {
			s.Spec.Service = &apiregistrationv1.ServiceReference{Namespace: "n", Name: "back"}
		})
		r.available(passed)
		looptest.Delete(r.Fake, r.slices(), "c")
		r.available(missing)
		r.slice("c", "https", nil)
		r.available(passed)
		looptest.Delete(r.Fake, looptest.Of[*corev1.Service](r.Fake, "services"), "back")
		r.available(`False ServiceNotFound: service/back in "n" is not present`)
		if got, want := fmt.Sprint(r.lost), "[v1.example.com ServicePortError v1.example.com MissingEndpoints v1.example.com ServiceNotFound]"; got != want {
			r.T.Errorf("lost %s, want %s", got, want)
		}
	})
}

// TestAvailabilityOfOtherServices: for a service of another type than ClusterIP, ports and endpoint
// slices are not checked, only the server behind.
func TestAvailabilityOfOtherServices(t *testing.T) {
	for _, typ := range []corev1.ServiceType{corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer} {
		t.Run(string(typ), func(t *testing.T) {
			inAvailability(t, func(r *remotes) {
				r.service(func(s *corev1.ServiceSpec) {
					s.Type, s.ClusterIP = typ, ""
					if typ == corev1.ServiceTypeExternalName {
						s.ExternalName, s.Ports = "example.com", nil
						return
					}
					s.AllocateLoadBalancerNodePorts = new(false)
				})
				r.register(func(s *apiregistrationv1.APIServiceSpec) { s.Service.Port = new(int32(1)) })
				r.available(passed)
			})
		})
	}
}

// TestAvailabilityOfNoService: an APIService may refer to a name that no service can have.
func TestAvailabilityOfNoService(t *testing.T) {
	for _, ref := range []apiregistrationv1.ServiceReference{
		{Namespace: "n/x", Name: "back"}, {Namespace: "n", Name: "a,metadata.name!=b"}, {Namespace: "..", Name: ".."},
		{Namespace: "n", Name: strings.Repeat("a", 300)},
	} {
		inAvailability(t, func(r *remotes) {
			r.service(nil)
			r.register(func(s *apiregistrationv1.APIServiceSpec) { s.Service = &ref })
			r.available(fmt.Sprintf("False ServiceNotFound: service/%s in %q is not present", ref.Name, ref.Namespace))
		})
	}
}

// TestAvailabilityIsLookedAtAgain: a server behind is checked every 30 seconds, and with short
// pauses when it begins to fail. A status that does not change is not written.
func TestAvailabilityIsLookedAtAgain(t *testing.T) {
	inAvailability(t, func(r *remotes) {
		r.complete()
		r.available(passed)
		r.Sleep(time.Second)
		r.checked()
		writes := r.writes.Load()
		r.Sleep(2 * time.Minute)
		if got, want := r.checked(), "29s 59s 1m29s 1m59s"; got != want {
			r.T.Errorf("checked at %s, want %s", got, want)
		}
		if n := r.writes.Load() - writes; n > 0 {
			r.T.Errorf("written %d times, and there was nothing new to say", n)
		}
		r.answers(fails)
		r.Sleep(29*time.Second + 75*time.Millisecond) // the pauses of retries are 5, 10, 20 and 40 ms
		r.available("False FailedDiscoveryCheck: no route")
		if got := len(strings.Fields(r.checked())); got != 5*checkAttempts {
			r.T.Errorf("asked %d times, want five checks of %d", got, checkAttempts)
		}
		writes = r.writes.Load()
		r.Sleep(time.Hour)
		if got := len(strings.Fields(r.checked())); got < 100*checkAttempts || got > 140*checkAttempts {
			r.T.Errorf("asked %d times in an hour, want a check each 30 s", got)
		}
		if n := r.writes.Load() - writes; n > 0 {
			r.T.Errorf("written %d times, and there was nothing new to say", n)
		}
		r.answers(nil)
		r.Sleep(31 * time.Second)
		r.available(passed)
	})
}

const checkAttempts = 5

// TestAvailabilityAttempts: a check makes several attempts in parallel, of which one must succeed.
// A slow attempt does not delay the others.
func TestAvailabilityAttempts(t *testing.T) {
	var n int
	var mu sync.Mutex
	attempt := func() int {
		mu.Lock()
		defer mu.Unlock()
		n++
		return n
	}
	hangs := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for _, tt := range []struct {
		name   string
		answer func(ctx context.Context) error
		want   string // the condition, which is written at the time after
		after  time.Duration
		asked  int
	}{
		{"all is well", func(context.Context) error { return nil }, passed, 0, 1},
		{"the last answers", func(context.Context) error {
			if attempt() < checkAttempts {
				return errors.New("not me")
			}
			return nil
		}, passed, 0, checkAttempts},
		{"the first hangs", func(ctx context.Context) error {
			if attempt() == 1 {
				return hangs(ctx)
			}
			return nil
		}, passed, time.Second, checkAttempts},
		{"the first is slow", func(ctx context.Context) error {
			if attempt() == 1 {
				time.Sleep(3 * time.Second)
				return nil
			}
			return hangs(ctx)
		}, passed, 3 * time.Second, checkAttempts},
		{"all hang", hangs, "False FailedDiscoveryCheck: context deadline exceeded", 7 * time.Second, checkAttempts},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inAvailability(t, func(r *remotes) {
				n = 0
				r.answers(func(ctx context.Context, _ *apiregistrationv1.APIService) error { return tt.answer(ctx) })
				r.complete()
				if tt.after > 0 {
					r.Sleep(tt.after - time.Millisecond)
					r.available(" : ")
					r.Sleep(time.Millisecond)
				}
				r.available(tt.want)
			})
		})
	}
}

// TestAvailabilityGoesOn: a controller that starts does not write a status that another server has
// written, if it is still right.
func TestAvailabilityGoesOn(t *testing.T) {
	inAvailability(t, func(r *remotes) {
		r.complete()
		r.available(passed)
		writes := r.writes.Load()
		r.stop()
		stop := r.follow()
		r.follow() // a second server
		r.Sleep(time.Minute)
		stop()
		r.Sleep(time.Minute)
		if n := r.writes.Load() - writes; n > 0 {
			r.T.Errorf("written %d times, and there was nothing new to say", n)
		}
	})
}

// TestAvailabilityTellsAtMostOncePerLook: one server can reach the server behind, and another
// cannot. Each writes the status at most once per check, because a write by the other does not
// cause a check.
func TestAvailabilityTellsAtMostOncePerLook(t *testing.T) {
	inAvailability(t, func(r *remotes) {
		r.complete()
		r.available(passed)
		c := &apiservices.APIServiceAvailability{Client: r.S.Client(), Check: fails, Log: zap.NewNop()}
		ctx, cancel := context.WithCancel(r.T.Context())
		ended := make(chan struct{})
		go func() { defer close(ended); c.Run(ctx) }()
		r.Sleep(10 * time.Minute)
		cancel()
		<-ended
		if got := len(r.lost); got > 25 {
			r.T.Errorf("available and not %d times in ten minutes", got)
		}
	})
}

// TestAvailabilityEnds: when an APIService is deleted, its server behind is not checked any longer.
// When the controller stops, running checks end.
func TestAvailabilityEnds(t *testing.T) {
	inAvailability(t, func(r *remotes) {
		r.complete()
		r.available(passed)
		looptest.Delete(r.Fake, r.apiServices(), "v1.example.com")
		r.checked()
		r.Sleep(time.Hour)
		looptest.Delete(r.Fake, r.slices(), "a") // the controller no longer follows slices
		if got := r.checked(); got != "" {
			r.T.Errorf("checked at %s", got)
		}
		r.answers(func(ctx context.Context, _ *apiregistrationv1.APIService) error { <-ctx.Done(); return ctx.Err() })
		r.slice("a", "https", nil)
		r.register(nil)
		r.Sleep(time.Second)
		r.stop() // the result of a check that the stop has cut off is not written
		r.available(" : ")
	})
}
