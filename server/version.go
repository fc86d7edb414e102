package server

import (
	"runtime"
	"runtime/debug"
	"strconv"

	"github.com/coracle-project/coracle/scheme/meta"
	"github.com/coracle-project/coracle/server/generic"
)

// KubernetesVersion is the release whose API the server speaks.
const KubernetesVersion = "v1.36.3"

// Version is the release of Coracle. Builds set it with -ldflags.
var Version = "dev"

// VersionInfo is what a server that says it is of version (such as v1.36.3) answers at /version,
// unless StorageConfig.MinCompatibility is another than the default.
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
