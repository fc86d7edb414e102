// Command coracle is a Kubernetes-style API server in one binary.
//
//	coracle serve      run the server; works without any flag
//	coracle kubeconfig print a kubeconfig for a user or a service account
//	coracle migrate    store the objects of a resource again, in the version that is stored now
//	coracle validate   judge objects by their definitions, without a server
//	coracle version    print what this is
//
// Flags of serve fill a server.Config and nothing else; where kube-apiserver has a flag for the same thing, the name is its.
//
// Read: main.go, serve.go, flags.go, umask_unix.go, kubeconfig.go, migrate.go, validate.go.
package main

import (
	"fmt"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/server"
)

func main() {
	keepPrivate()
	if err := newCommand().Execute(); err != nil {
		os.Exit(1) // cobra has printed the error
	}
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "coracle",
		Short:             "A Kubernetes-style API server in one binary",
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.AddCommand(serveCommand(), kubeconfigCommand(), migrateCommand(), validateCommand(), versionCommand())
	return root
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "coracle %s (Kubernetes API %s, %s, %s/%s)\n",
				server.Version, server.KubernetesVersion, runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
