// Command coracle is a Kubernetes-style API server in one binary.
//
//	coracle serve      run the server; works without any flag
//	coracle kubeconfig print a kubeconfig for a user or a service account
//	coracle migrate    store the objects of a resource again, in the version that is stored now
//	coracle fsck       list the stored objects that cannot be read
//	coracle defrag     make the database file of the embedded store as small as what is in it
//	coracle validate   judge objects by their definitions, without a server
//	coracle version    print what this is
//	coracle kube-apiserver   run the server by kube-apiserver's flags alone
//	coracle etcd       stand in for etcd before a kube-apiserver of this program's
//	coracle envtest    lay out the programs that envtest starts
//
// Called kube-apiserver or etcd, it is that command. Flags fill a server.Config and nothing else:
// see cmd/flags.
//
// Read: main.go, serve.go, rest.go, apiserver.go, version.go, notify.go, umask_unix.go, etcd.go,
// etcdflags.go, envtest.go, kubeconfig.go, migrate.go, fsck.go, defrag.go, validate.go.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	keepPrivate()
	if err := commandCalled(filepath.Base(os.Args[0])).Execute(); err != nil {
		os.Exit(exitCode(err)) // cobra has printed the error
	}
}

// withHint says where to read on after a mistake in how a command is called.
func withHint(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help' for usage.", err, cmd.CommandPath())
}

// oneArgument is for a command that needs one argument, and says what is missing.
func oneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return withHint(cmd, fmt.Errorf("one argument is needed, %s: got %d", name, len(args)))
		}
		return nil
	}
}

// helpCommand is cobra's, but that help about what there is not is an error.
func helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND]",
		Short: "Print what a command does",
		RunE: func(_ *cobra.Command, args []string) error {
			about, rest, err := root.Find(args)
			if err == nil && len(rest) > 0 {
				err = fmt.Errorf("unknown command %q for %q", rest[0], about.CommandPath())
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag()
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// kubeAPIServer is a name by which this program is called in another's place.
const kubeAPIServer = "kube-apiserver"

// commandCalled returns the command of a program with that name.
func commandCalled(name string) *cobra.Command {
	var cmd *cobra.Command
	switch strings.TrimSuffix(name, ".exe") {
	case kubeAPIServer:
		cmd = kubeAPIServerCommand()
	case etcdName:
		cmd = etcdCommand()
	default:
		return newCommand()
	}
	cmd.CompletionOptions.DisableDefaultCmd = true
	return cmd
}

func newCommand() *cobra.Command {
	root := &cobra.Command{
		Use:               "coracle",
		Short:             "A Kubernetes-style API server in one binary",
		Version:           versionText(),
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(withHint)
	root.SetHelpCommand(helpCommand(root))
	root.AddCommand(serveCommand(), kubeAPIServerCommand(), etcdCommand(), envtestCommand(),
		kubeconfigCommand(), migrateCommand(), fsckCommand(), defragCommand(), validateCommand(), versionCommand())
	return root
}
