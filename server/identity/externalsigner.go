package identity

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/filters/authn"
	"github.com/coracle-project/coracle/router/callout"
)

// minTokenTime: an external signer must allow at least this lifetime, because a TokenRequest for 10
// minutes must succeed.
const minTokenTime = 10 * time.Minute

// connect makes an external signer the signer of i (KEP-740). The longest lifetime that the signer
// announces bounds the lifetimes of tokens.
func (i *Accounts) connect(ctx context.Context, c *ServiceAccounts, reg prometheus.Registerer) error {
	hooks, err := newSignerMetrics(reg)
	if err != nil {
		return err
	}
	signer, longest, err := authn.OpenExternalSigner(ctx, c.SigningEndpoint, hooks)
	if err != nil {
		return err
	}
	switch {
	case longest < minTokenTime:
		err = fmt.Errorf("max token life supported by external-jwt-signer (%ds) is less than acceptable (min %ds)", longest/time.Second, minTokenTime/time.Second)
	case c.Longest > longest:
		err = fmt.Errorf("service-account-max-token-expiration cannot be set longer than the token expiration supported by service-account-signing-endpoint: %s > %s", c.Longest, longest)
	}
	if err != nil {
		signer.Close()
		return err
	}
	if i.longest == 0 {
		i.longest = longest
	}
	i.extended = min(i.extended, longest)
	i.external, i.Keys, i.bound = signer, signer, signer.Signer(c.Issuers[0])
	return nil
}

// Follow starts the goroutine that keeps the keys of an external signer up to date. The connection
// closes when the server stops. Follow does nothing without an external signer.
func (i *Accounts) Follow(run Run, log *zap.Logger) {
	if i.external == nil {
		return
	}
	log = log.Named("external-signer")
	run(func(ctx context.Context) {
		context.AfterFunc(ctx, i.external.Close)
		i.external.Run(ctx, func(err error) {
			log.Error("cannot fetch the keys of the external signer; the last ones stay in force", zap.Error(err))
		})
	})
}

// Close closes the connection to an external signer. It is for an Accounts whose Follow is never
// called; i may be nil.
func (i *Accounts) Close() {
	if i != nil && i.external != nil {
		i.external.Close()
	}
}

// newSignerMetrics returns hooks that count the calls of an external signer, under Kubernetes'
// names of the metrics.
func newSignerMetrics(reg prometheus.Registerer) (authn.SignerHooks, error) {
	const prefix = "apiserver_externaljwt_"
	fetched := prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "fetch_keys_success_timestamp",
		Help: "Time of the last successful fetch of keys from the external signer of tokens, in Unix seconds."})
	written := prometheus.NewGauge(prometheus.GaugeOpts{Name: prefix + "fetch_keys_data_timestamp",
		Help: "Time at which the external signer of tokens says that its keys were last updated, in Unix seconds."})
	fetches := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "fetch_keys_request_total",
		Help: "Number of attempts to fetch keys from the external signer of tokens, by gRPC code."}, []string{"code"})
	signed := prometheus.NewCounterVec(prometheus.CounterOpts{Name: prefix + "sign_request_total",
		Help: "Number of requests to the external signer to sign a token, by gRPC code."}, []string{"code"})
	calls := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: prefix + "request_duration_seconds",
		Help:    "Time of a call of the external signer of tokens, in seconds, by method and gRPC code.",
		Buckets: []float64{.001, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}}, []string{"method", "code"})
	var errs []error
	for _, c := range []prometheus.Collector{fetched, written, fetches, signed, calls} {
		errs = append(errs, reg.Register(c))
	}
	return authn.SignerHooks{
		Called: func(method string, took time.Duration, err error) {
			calls.WithLabelValues(method, callout.CodeOf(err)).Observe(took.Seconds())
		},
		Fetched: func(at time.Time, err error) {
			if fetches.WithLabelValues(callout.CodeOf(err)).Inc(); err == nil {
				fetched.SetToCurrentTime()
				written.Set(float64(at.UnixNano()) / 1e9)
			}
		},
		Signed: func(err error) { signed.WithLabelValues(callout.CodeOf(err)).Inc() },
	}, errors.Join(errs...)
}
