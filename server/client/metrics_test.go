package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/scheme/api/corev1"
	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/client"
)

// roundTripper is a function as a http.RoundTripper.
type roundTripper func(r *http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestMetrics: requests are counted by method and code, and those without an answer as <error>.
func TestMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := client.NewMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	answer := func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodDelete {
			return nil, errors.New("no connection")
		}
		return &http.Response{StatusCode: http.StatusNotFound, Body: http.NoBody}, nil
	}
	c, err := client.New(client.Config{
		URL: "https://example.com:6443", Transport: roundTripper(answer), Codecs: codecs(t), Answered: m.Answered,
	})
	if err != nil {
		t.Fatal(err)
	}
	maps := client.For[*corev1.ConfigMap](c, corev1.GroupVersion.WithResource("configmaps")).In("ns")
	for range 2 {
		if _, err := maps.Get(t.Context(), "a", meta.GetOptions{}); err == nil {
			t.Error("got no error")
		}
	}
	if err := maps.Delete(t.Context(), "a", meta.DeleteOptions{}); err == nil {
		t.Error("got no error")
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range families {
		for _, s := range f.Metric {
			line := f.GetName()
			for _, l := range s.Label {
				line += " " + l.GetValue()
			}
			got = append(got, fmt.Sprint(line, " ", s.GetCounter().GetValue()+float64(s.GetHistogram().GetSampleCount())))
		}
	}
	want := []string{
		"rest_client_request_duration_seconds example.com:6443 DELETE 1",
		"rest_client_request_duration_seconds example.com:6443 GET 2",
		"rest_client_requests_total 404 example.com:6443 GET 2",
		"rest_client_requests_total <error> example.com:6443 DELETE 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
