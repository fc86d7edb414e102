package flags

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v2"

	"github.com/coracle-project/coracle/scheme/configfile"
	"github.com/coracle-project/coracle/scheme/field"
	"github.com/coracle-project/coracle/server/inspect"
)

// metrics holds the values of the section "Metrics". Its JSON names are those of kube-apiserver's
// options, because an error prints the struct.
type metrics struct {
	Hidden   string            `json:"showHiddenMetricsForVersion,omitempty"`
	Disabled []string          `json:"disabledMetrics,omitempty"`
	Allowed  map[string]string `json:"allowListMapping,omitempty"`
	Manifest string            `json:"allowListMappingManifest,omitempty"`
}

// bindMetrics declares the flags of the section.
func (o *Options) bindMetrics(s *section) {
	m := &o.metrics
	s.StringSliceVar(&m.Disabled, "disabled-metrics", nil, "names of metrics that /metrics does not show, separated by commas")
	s.StringVar(&m.Hidden, "show-hidden-metrics-for-version", "",
		"show the metrics that this release hides; the value must be the previous minor release")
	s.StringToStringVar(&m.Allowed, "allow-metric-labels", nil,
		"values that labels of metrics may have, as metric,label='value,value'; all other values are shown as unexpected")
	s.StringVar(&m.Manifest, "allow-metric-labels-manifest", "", "YAML file of the values that labels of metrics may have, with entries metric,label: value,value")
}

// Patterns of the names of metrics and their labels, as Prometheus defines them.
const (
	labelPattern  = `[a-zA-Z_][a-zA-Z0-9_]*`
	metricPattern = `[a-zA-Z_:][a-zA-Z0-9_:]*`
)

var (
	metricName  = regexp.MustCompile(`^` + metricPattern + `$`)
	metricLabel = regexp.MustCompile(`^` + metricPattern + `,` + labelPattern + `$`)
)

// finishMetrics checks the section and reads the manifest. If there are no mistakes, it writes both
// into the Config.
func (o *Options) finishMetrics() error {
	c, path := &o.metrics, field.NewPath("metrics")
	var m mistakes
	if previous := fmt.Sprintf("%d.%d", thisRelease.major, thisRelease.minor-1); c.Hidden != "" &&
		c.Hidden != previous {
		m.addErr(field.Invalid(path.Child("showHiddenMetricsForVersion"), c.Hidden,
			fmt.Sprintf("must be omitted or have the value '%v'; only the previous minor version is allowed",
				previous)))
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
	allowed, err := c.readManifest(path.Child("allowListMappingManifest"))
	if err != nil {
		m.addErr(err)
	}
	if c.Allowed != nil && c.Manifest != "" {
		m.addErr(field.Invalid(path, c, "cannot specify both allowListMapping and allowListMappingManifest"))
	}
	if c.Allowed != nil {
		allowed = c.Allowed
	}
	if len(m) == 0 {
		o.config.Serving.Debug.Metrics = inspect.Metrics{Disabled: c.Disabled, LabelValues: labelValues(allowed),
			Hidden: c.Hidden != ""}
	}
	return m.err()
}

// labelValues turns {"metric,label": "value,value"} into the values by metric and label.
// checkLabels has accepted the keys.
func labelValues(allowed map[string]string) map[string]map[string][]string {
	if len(allowed) == 0 {
		return nil
	}
	values := map[string]map[string][]string{}
	for name, list := range allowed {
		metric, label, _ := strings.Cut(name, ",")
		if values[metric] == nil {
			values[metric] = map[string][]string{}
		}
		values[metric][label] = strings.Split(list, ",")
	}
	return values
}

// checkLabels returns an error if a key of allowed is not METRIC,LABEL.
func checkLabels(path *field.Path, allowed map[string]string) *field.Error {
	for name := range allowed {
		if !metricLabel.MatchString(name) {
			return field.Invalid(path, allowed, fmt.Sprintf(
				"must have keys with format `metricName,labelName` where metricName matches %q and labelName matches %q", metricPattern, labelPattern))
		}
	}
	return nil
}

// readManifest reads and checks the file of --allow-metric-labels-manifest. It returns nil if the
// flag is not given.
func (m *metrics) readManifest(path *field.Path) (allowed map[string]string, wrong *field.Error) {
	if m.Manifest == "" {
		return nil, nil
	}
	data, err := configfile.Read(filepath.Clean(m.Manifest))
	if err != nil {
		return nil, field.Invalid(path, m.Manifest, fmt.Sprintf("failed to read allow list manifest: %v", err))
	}
	if err := yaml.Unmarshal(data, &allowed); err != nil {
		return nil, field.Invalid(path, m.Manifest, fmt.Sprintf("failed to parse allow list manifest: %v", err))
	}
	if err := checkLabels(path, allowed); err != nil {
		return nil, field.Invalid(path, m.Manifest, fmt.Sprintf("invalid allow list mapping in manifest: [%v]", err))
	}
	return allowed, nil
}
