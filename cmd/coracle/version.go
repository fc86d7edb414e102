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

// versionText says what this is.
func versionText() string {
	return fmt.Sprintf("coracle %s (Kubernetes API %s, %s, %s/%s)",
		server.Version, server.KubernetesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// versionFlag is kube-apiserver's --version: alone or with the value "raw" it prints what this is,
// and the program ends; a version is what /version says from now on.
type versionFlag struct {
	show     string // "", "true" or "raw"
	reported string
}

func addVersionFlag(f *pflag.FlagSet) *versionFlag {
	v := &versionFlag{reported: server.KubernetesVersion}
	f.Var(v, "version", "print the version, or with =raw all that is known of it; =vX.Y.Z... sets what the server says")
	f.Lookup("version").NoOptDefVal = "true"
	return v
}

// semantic is a version after its "v", as semver.org defines it.
var semantic = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?$`)

// Set implements pflag.Value.
func (v *versionFlag) Set(s string) error {
	if number, is := strings.CutPrefix(s, "v"); is {
		if !semantic.MatchString(number) {
			return fmt.Errorf("could not parse %q as version", s)
		}
		if number, _, _ = strings.Cut(number, "+"); strings.SplitN(number, "-", 2)[0] != server.KubernetesVersion[1:] {
			return fmt.Errorf("version %q must match major/minor/patch of default version %q", s, server.KubernetesVersion)
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

// print prints the version if that is asked for.
func (v *versionFlag) print(out io.Writer) bool {
	switch v.show {
	case "true":
		fmt.Fprintf(out, "Kubernetes %s\n", v.reported)
	case "raw":
		fmt.Fprintln(out, strings.Replace(fmt.Sprintf("%#v", server.VersionInfo(v.reported)), "meta.VersionInfo", "version.Info", 1))
	}
	return v.show != ""
}
