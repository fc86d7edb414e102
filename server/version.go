package server

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// KubernetesVersion is the release of Kubernetes whose API the server serves.
const KubernetesVersion = "v1.36.3"

// Version is the release of Coracle. Builds set it with -ldflags.
var Version = "dev"

// VersionInfo returns the answer of /version for a GitVersion such as v1.36.3, with the default
// StorageConfig.MinCompatibility. The commit and build date are those of this binary.
func VersionInfo(version string) meta.VersionInfo {
	v := meta.VersionInfo{
		Major:                 "1",
		Minor:                 "36",
		EmulationMajor:        "1",
		EmulationMinor:        "36",
		MinCompatibilityMajor: "1",
		MinCompatibilityMinor: strconv.Itoa(generic.DefaultCompatible),
		GitVersion:            version,
		GitTreeState:          "clean",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              runtime.GOOS + "/" + runtime.GOARCH,
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				v.GitCommit = setting.Value
			case "vcs.time":
				v.BuildDate = setting.Value
			}
		}
	}
	return v
}
