package main

import (
	"fmt"
	"io"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/coracle-project/coracle/server"
)

// versionCommand returns the command that prints the version.
func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}

// versionText returns the versions of the program, of the Kubernetes API that it serves and of Go,
// and the platform.
func versionText() string {
	return fmt.Sprintf("coracle %s (Kubernetes API %s, %s, %s/%s)",
		server.Version, server.KubernetesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionFlag is kube-apiserver's --version. With --version or --version=raw the program prints the
// version and ends. With --version=vX.Y.Z-SUFFIX the server runs, and reports that version at
// /version; X.Y.Z must be the version of the Kubernetes API that it serves.
type versionFlag struct {
	show     string // what to print: "" for nothing, "true" or "raw"
	reported string
}

// addVersionFlag adds the flag to those of a command.
func addVersionFlag(f *pflag.FlagSet) *versionFlag {
	v := &versionFlag{reported: server.KubernetesVersion}
	f.Var(v, "version", "print the version and end; =raw prints all its parts; =vX.Y.Z-SUFFIX sets the version that the running server reports")
	f.Lookup("version").NoOptDefVal = "true"
	return v
}

// semantic matches a version without its "v", as semver.org defines it.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Set implements pflag.Value.
func (v *versionFlag) Set(s string) error {
	if number, is := strings.CutPrefix(s, "v"); is {
		if !semantic.MatchString(number) {
			return fmt.Errorf("could not parse %q as version", s)
		}
		if number, _, _ = strings.Cut(number, "+"); strings.SplitN(number, "-", 2)[0] != server.KubernetesVersion[1:] {
			return fmt.Errorf("version %q must match major/minor/patch of default version %q", s,
				server.KubernetesVersion)
		}
		v.reported = s
		return nil
	}
	if s == "raw" {
		v.show = s
		return nil
	}
	show, err := strconv.ParseBool(s)
	v.show = ""
	if show {
		v.show = "true"
	}
	return err
}

// String implements pflag.Value.
func (v *versionFlag) String() string {
	if v.show == "" {
		return "false"
	}
	return v.show
}

// Type implements pflag.Value.
func (*versionFlag) Type() string { return "version" }

// print prints the version, if the flag asks for it, and reports whether it did.
func (v *versionFlag) print(out io.Writer) bool {
	switch v.show {
	case "true":
		fmt.Fprintf(out, "Kubernetes %s\n", v.reported)
	case "raw":
		fmt.Fprintln(out,
			strings.Replace(fmt.Sprintf("%#v", server.VersionInfo(v.reported)), "meta.VersionInfo", "version.Info", 1))
	}
	return v.show != ""
}
