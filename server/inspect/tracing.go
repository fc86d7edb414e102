package inspect

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.uber.org/zap"

	"github.com/coracle-project/coracle/scheme/codec"
	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/server/reload"
)

// This file sends traces of requests to the receiver that the file of --tracing-config-file names.
// Package server calls NewTracer once, and filters/trace.go begins a span for each request.

// tracingConfiguration is the content of a TracingConfiguration file (KEP-647): the receiver of the
// traces, and how many requests of a million are traced. The rate is for requests whose client has
// not decided whether they are traced.
type tracingConfiguration struct {
	APIVersion             string  `json:"apiVersion"`
	Kind                   string  `json:"kind"`
	Endpoint               *string `json:"endpoint,omitempty"`
	SamplingRatePerMillion *int32  `json:"samplingRatePerMillion,omitempty"`
}

// maxSamplingRate is the samplingRatePerMillion that traces all requests.
const maxSamplingRate = 1_000_000

// readTracing reads and checks a TracingConfiguration file. The errors have kube-apiserver's words.
func readTracing(file string) (*tracingConfiguration, error) {
	data, err := configfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("failed to read tracing config: unable to read tracing configuration from %q: %w",
			file, err)
	}
	c, err := parseTracing(data)
	if err != nil {
		return nil, fmt.Errorf("failed to read tracing config: unable to decode tracing configuration data: %w", err)
	}
	if errs := c.validate(); len(errs) > 0 {
		return nil, fmt.Errorf("failed to validate tracing configuration: %w", errs.ToAggregate())
	}
	return c, nil
}

// parseTracing decodes YAML or JSON strictly: unknown and repeated fields are errors.
func parseTracing(data []byte) (*tracingConfiguration, error) {
	text, repeated, err := codec.YAMLToJSON(data, true, nil)
	if err != nil {
		return nil, err
	}
	if repeated != "" {
		return nil, errors.New(repeated)
	}
	c := new(tracingConfiguration)
	strict, err := codec.DecodeStrict(text, c)
	if err != nil {
		return nil, err
	}
	group, version, _ := strings.Cut(c.APIVersion, "/")
	if c.Kind != "TracingConfiguration" || group != "apiserver.config.k8s.io" ||
		!slices.Contains([]string{"v1", "v1beta1", "v1alpha1"}, version) {
		return nil, fmt.Errorf("no kind %q is registered for version %q", c.Kind, c.APIVersion)
	}
	return c, codec.StrictError(strict)
}

// validate checks the rate and the endpoint, a gRPC target: "host:port", "dns:///host:port" or
// "unix:///path".
func (c *tracingConfiguration) validate() (errs field.ErrorList) {
	if c.SamplingRatePerMillion != nil {
		at, rate := field.NewPath("samplingRatePerMillion"), *c.SamplingRatePerMillion
		if rate < 0 {
			errs = append(errs, field.Invalid(at, rate, "sampling rate must be positive"))
		}
		if rate > maxSamplingRate {
			errs = append(errs, field.Invalid(at, rate,
				"sampling rate per million must be less than or equal to one million"))
		}
	}
	if c.Endpoint == nil {
		return errs
	}
	at, endpoint := field.NewPath("endpoint"), *c.Endpoint
	if !strings.Contains(endpoint, "//") {
		endpoint = "dns://" + endpoint
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		errs = append(errs, field.Invalid(at, endpoint, err.Error()))
	case !slices.Contains([]string{"dns", "unix", "unix-abstract"}, u.Scheme):
		errs = append(errs, field.Invalid(at, endpoint, fmt.Sprintf(
			"unsupported scheme: %v.  Options are none, dns, unix, or unix-abstract.  "+
				"See https://github.com/grpc/grpc/blob/master/doc/naming.md", u.Scheme)))
	}
	return errs
}

// traceGrace bounds the sending of the last traces when the server stops.
const traceGrace = 3 * time.Second

// NewTracer returns the Tracer for requests that a TracingConfiguration file describes, or nil if
// file is "". Traces are sent in batches, over gRPC without TLS. If the file names no endpoint, the
// receiver is that of OpenTelemetry's environment variables, or localhost:4317. NewTracer does not
// wait until the receiver can be reached. Traces that cannot be sent are lost, which the log says.
// run starts work in a goroutine, whose context ends when the server stops: then the last traces
// are sent.
func NewTracer(file string, run func(work func(ctx context.Context)), log *zap.Logger) (trace.Tracer, error) {
	if file == "" {
		return nil, nil
	}
	c, err := readTracing(file)
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	options := []otlptracegrpc.Option{otlptracegrpc.WithInsecure()}
	if c.Endpoint != nil {
		options = append(options, otlptracegrpc.WithEndpoint(*c.Endpoint))
	}
	exporter, err := otlptracegrpc.New(context.Background(), options...) // it connects at the first trace
	if err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	sampler := sdktrace.NeverSample()
	if rate := c.SamplingRatePerMillion; rate != nil && *rate > 0 {
		sampler = sdktrace.TraceIDRatioBased(float64(*rate) / maxSamplingRate)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithSampler(sdktrace.ParentBased(sampler)),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "apiserver"),
			attribute.String("service.instance.id", reload.ServerID()))))
	log = log.Named("tracing")
	// The process has one error handler: with two servers in a process, the last one logs.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("traces are lost", zap.Error(err))
	}))
	run(func(ctx context.Context) {
		<-ctx.Done()
		bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceGrace)
		defer cancel()
		if err := provider.Shutdown(bound); err != nil {
			log.Warn("traces are lost", zap.Error(err))
		}
	})
	return provider.Tracer("github.com/coracle-project/coracle"), nil
}
