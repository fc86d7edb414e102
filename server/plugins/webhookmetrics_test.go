package plugins

import (
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/coracle-project/coracle/registry/admission"
	"github.com/coracle-project/coracle/registry/admission/webhooks"
)

// TestWebhookMetrics records one call of each outcome and looks at the counters.
func TestWebhookMetrics(t *testing.T) {
	reg := prometheus.NewRegistry()
	m, err := newWebhookMetrics(reg)
	if err != nil {
		t.Fatal(err)
	}
	by := m.observer()
	call := func(outcome webhooks.Outcome, code int, canceled, validates bool) {
		by.Called(webhooks.Call{Webhook: "h", Validates: validates, Operation: admission.Create, Took: time.Second,
			Outcome: outcome, Code: code, Canceled: canceled})
	}
	call(webhooks.Passed, 200, false, false)
	call(webhooks.Refused, 999, false, false)
	call(webhooks.FailedOpen, 503, false, true)
	call(webhooks.FailedOpen, 503, true, true)
	call(webhooks.FailedClose, 404, false, true)
	call(webhooks.FailedClose, 503, true, true)
	call(webhooks.Broken, 0, false, false)
	by.Evaluated(webhooks.Evaluation{Webhook: "h", Validates: true, Operation: admission.Delete, Failures: 2, Excluded: true})
	got := map[string]float64{}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, s := range f.GetMetric() {
			var labels []string
			for _, l := range s.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			name := strings.TrimPrefix(f.GetName(), "apiserver_admission_") + " " + strings.Join(labels, " ")
			if h := s.GetHistogram(); h != nil {
				got[name] = float64(h.GetSampleCount())
			} else {
				got[name] = s.GetCounter().GetValue()
			}
		}
	}
	for name, n := range map[string]float64{
		"match_condition_evaluation_errors_total kind=webhook name=h operation=DELETE type=validating":                        2,
		"match_condition_exclusions_total kind=webhook name=h operation=DELETE type=validate":                                 1,
		"match_condition_evaluation_seconds kind=webhook name=h operation=DELETE type=validating":                             1,
		"webhook_fail_open_count name=h type=validating":                                                                      1,
		"webhook_rejection_count error_type=no_error name=h operation=CREATE rejection_code=600 type=admit":                   1,
		"webhook_rejection_count error_type=calling_webhook_error name=h operation=CREATE rejection_code=404 type=validating": 1,
		"webhook_rejection_count error_type=apiserver_internal_error name=h operation=CREATE rejection_code=0 type=admit":     1,
		"webhook_request_total code=200 name=h operation=CREATE rejected=false type=admit":                                    1,
		"webhook_request_total code=503 name=h operation=CREATE rejected=false type=validating":                               2,
		"webhook_request_total code=503 name=h operation=CREATE rejected=true type=validating":                                1,
		"webhook_admission_duration_seconds name=h operation=CREATE rejected=true type=validating":                            2,
		"webhook_admission_duration_seconds name=h operation=CREATE rejected=true type=admit":                                 2,
		"webhook_rejection_count error_type=calling_webhook_error name=h operation=CREATE rejection_code=503 type=validating": 0,
	} {
		if got[name] != n {
			t.Errorf("%s: got %v, want %v", name, got[name], n)
		}
	}
}
