package flags

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v2"

	"github.com/coracle-project/coracle/scheme/field"
)

// metrics is what flags about metrics say in a way of their own.
type metrics struct {
	Hidden   string            `json:"showHiddenMetricsForVersion,omitempty"`
	Disabled []string          `json:"disabledMetrics,omitempty"`
	Allowed  map[string]string `json:"allowListMapping,omitempty"`
	Manifest string            `json:"allowListMappingManifest,omitempty"`
}

func (o *Options) bindMetrics(s *section) {
	m := &o.metrics
	s.StringSliceVar(&m.Disabled, "disabled-metrics", nil, "metrics that are not shown at /metrics")
	s.StringVar(&m.Hidden, "show-hidden-metrics-for-version", "", "release before this one whose metrics are to be shown though they are on their way out")
	s.ignore("no metric is hidden", "show-hidden-metrics-for-version")
	s.StringToStringVar(&m.Allowed, "allow-metric-labels", nil, "values that labels of metrics may have, as metric,label='value,value'")
	s.StringVar(&m.Manifest, "allow-metric-labels-manifest", "", "YAML file of the same")
	s.ignore("labels have few values as it is", "allow-metric-labels", "allow-metric-labels-manifest")
}

// The forms of names of metrics and labels.
const (
	labelPattern  = `[a-zA-Z_][a-zA-Z0-9_]*`
	metricPattern = `[a-zA-Z_:][a-zA-Z0-9_:]*`
)

var (
	metricName  = regexp.MustCompile(`^` + metricPattern + `$`)
	metricLabel = regexp.MustCompile(`^` + metricPattern + `,` + labelPattern + `$`)
)

func (o *Options) finishMetrics() error {
	c, path := &o.metrics, field.NewPath("metrics")
	var m mistakes
	if previous := fmt.Sprintf("%d.%d", thisRelease.major, thisRelease.minor-1); c.Hidden != "" && c.Hidden != previous {
		m.addErr(field.Invalid(path.Child("showHiddenMetricsForVersion"), c.Hidden,
			fmt.Sprintf("must be omitted or have the value '%v'; only the previous minor version is allowed", previous)))
	}
	for _, name := range c.Disabled {
		if !metricName.MatchString(name) {
			m.addErr(field.Invalid(path.Child("disabledMetrics"), c.Disabled,
				fmt.Sprintf("must be fully qualified metric names matching %q, got %q", metricName, name)))
			break
		}
	}
	if err := checkLabels(path.Child("allowListMapping"), c.Allowed); err != nil {
		m.addErr(err)
	}
	if err := c.checkManifest(path.Child("allowListMappingManifest")); err != nil {
		m.addErr(err)
	}
	if c.Allowed != nil && c.Manifest != "" {
		m.addErr(field.Invalid(path, c, "cannot specify both allowListMapping and allowListMappingManifest"))
	}
	o.config.Metrics.Disabled = c.Disabled
	return m.err()
}

// checkLabels judges the names of labels.
func checkLabels(path *field.Path, allowed map[string]string) *field.Error {
	for name := range allowed {
		if !metricLabel.MatchString(name) {
			return field.Invalid(path, allowed, fmt.Sprintf(
				"must have keys with format `metricName,labelName` where metricName matches %q and labelName matches %q", metricPattern, labelPattern))
		}
	}
	return nil
}

// checkManifest judges the file.
func (m *metrics) checkManifest(path *field.Path) *field.Error {
	if m.Manifest == "" {
		return nil
	}
	data, err := os.ReadFile(filepath.Clean(m.Manifest))
	if err != nil {
		return field.Invalid(path, m.Manifest, fmt.Sprintf("failed to read allow list manifest: %v", err))
	}
	allowed := map[string]string{}
	if err := yaml.Unmarshal(data, &allowed); err != nil {
		return field.Invalid(path, m.Manifest, fmt.Sprintf("failed to parse allow list manifest: %v", err))
	}
	if err := checkLabels(path, allowed); err != nil {
		return field.Invalid(path, m.Manifest, fmt.Sprintf("invalid allow list mapping in manifest: [%v]", err))
	}
	return nil
}
