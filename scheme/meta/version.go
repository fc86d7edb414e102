package meta

// VersionInfo is what a server says at /version about itself.
type VersionInfo struct {
	// Major is the first number of the Kubernetes release whose API is served.
	Major string `json:"major"`
	// Minor is the second number of the Kubernetes release whose API is served.
	Minor string `json:"minor"`
	// EmulationMajor is the first number of the release that the server behaves like.
	EmulationMajor string `json:"emulationMajor,omitempty"`
	// EmulationMinor is the second number of the release that the server behaves like.
	EmulationMinor string `json:"emulationMinor,omitempty"`
	// MinCompatibilityMajor is the first number of the oldest release that the server could behave
	// like.
	MinCompatibilityMajor string `json:"minCompatibilityMajor,omitempty"`
	// MinCompatibilityMinor is the second number of the oldest release that the server could behave
	// like.
	MinCompatibilityMinor string `json:"minCompatibilityMinor,omitempty"`

	// GitVersion is the Kubernetes release, with what tells this server from others behind a plus
	// sign.
	GitVersion string `json:"gitVersion"`
	// GitCommit is the commit that the server was built from.
	GitCommit string `json:"gitCommit"`
	// GitTreeState is clean, or dirty if the server was built from more than the commit.
	GitTreeState string `json:"gitTreeState"`
	// BuildDate is the time of the commit.
	BuildDate string `json:"buildDate"`
	// GoVersion is that of the Go release that built the server.
	GoVersion string `json:"goVersion"`
	// Compiler is the Go compiler that built the server.
	Compiler string `json:"compiler"`
	// Platform is the operating system and the architecture that the server runs on, such as
	// linux/amd64.
	Platform string `json:"platform"`
}

// OpenAPI names the model.
func (VersionInfo) OpenAPI() (name, typ, format string) {
	return "io.k8s.apimachinery.pkg.version.Info", "", ""
}
