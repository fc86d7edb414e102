// Command coracle is a Kubernetes-style API server in one binary.
//
//	coracle serve            run the server; every flag has a default that works
//	coracle kube-apiserver   run the server with kube-apiserver's flags and their defaults
//	coracle etcd             take the place of an etcd for a kube-apiserver that is this program
//	coracle envtest          put the programs that envtest starts into a folder
//	coracle kubeconfig       print a kubeconfig for a user or a service account
//	coracle migrate          store the objects of a resource again, in the current storage version
//	coracle fsck             list the stored objects that cannot be read
//	coracle defrag           shrink the database file of the embedded store to what is in use
//	coracle validate         check objects as the server would, without a server
//	coracle version          print the version
//
// A program file of the name kube-apiserver or etcd runs the command of that name: os.Args[0]
// decides.
//
// Laws:
//
//   - Flags fill a server.Config and nothing else (cmd/flags). What a command does is in server and
//     its packages; a file here declares the command and prints its results.
//   - A command that runs for long shuts down in order at SIGINT or SIGTERM. A second signal ends
//     the process at once.
//   - No file that the process makes is readable by other users (umask_unix.go).
//   - The exit code is 0 or 1. fsck and migrate also have 2: see fsck.go.
//
// Read: main.go, serve.go, rest.go, apiserver.go, version.go, notify.go, umask_unix.go,
// image_linux.go, etcd.go, etcdflags.go, envtest.go, kubeconfig.go, migrate.go, fsck.go, defrag.go,
// validate.go, validatepolicies.go.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

func main() {
	setUmask()
	if err := commandCalled(filepath.Base(os.Args[0])).Execute(); err != nil {
		os.Exit(exitCode(err)) // cobra has printed the error
	}
}

// withHint adds to an error about the command line where its usage is explained.
func withHint(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w\nSee '%s --help' for usage.", err, cmd.CommandPath())
}

// oneArgument checks that a command gets exactly one argument. name is the argument's name in the
// usage, which the error repeats.
func oneArgument(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return withHint(cmd, fmt.Errorf("give one argument, %s: got %d", name, len(args)))
		}
		return nil
	}
}

// helpCommand returns the command "help". It differs from cobra's own in that help about a command
// that does not exist is an error.
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

// kubeAPIServer is the name of a command, and a name of the program file that selects it.
const kubeAPIServer = "kube-apiserver"

// commandCalled returns the command for a program file of the given name. Under the name
// kube-apiserver or etcd the program has that command only, so that its flags follow the name
// directly, as scripts write them.
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

// newCommand returns the command coracle with all its subcommands.
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
