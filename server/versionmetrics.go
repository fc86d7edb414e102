package server

import "github.com/prometheus/client_golang/prometheus"

// newVersionMetrics has the metrics tell of the version that /version tells of.
func newVersionMetrics(reg prometheus.Registerer, version string) error {
	v := VersionInfo(version)
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "kubernetes_build_info", Help: "1, for the version of the server.", ConstLabels: prometheus.Labels{
		"major": v.Major, "minor": v.Minor, "git_version": v.GitVersion, "git_commit": v.GitCommit, "git_tree_state": v.GitTreeState,
		"build_date": v.BuildDate, "go_version": v.GoVersion, "compiler": v.Compiler, "platform": v.Platform,
	}})
	info.Set(1)
	return reg.Register(info)
}
