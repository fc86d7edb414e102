package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/cmd/flags"
	"github.com/coracle-project/coracle/server"
)

// kubeAPIServerCommand returns the command that runs a server in kube-apiserver's place: it has its
// flags, their defaults, and its --version, which can also set the version that the server reports.
func kubeAPIServerCommand() *cobra.Command {
	o := flags.KubeAPIServer()
	cmd := withServerFlags(o, &cobra.Command{
		Use:   kubeAPIServer,
		Short: "Run the server in kube-apiserver's place: with its flags and their defaults",
		Long: "Run the server in kube-apiserver's place, with the flags of kube-apiserver " +
			server.KubernetesVersion + " and their defaults.\n" +
			"If the program file is called " + kubeAPIServer + ", the program runs this command.",
		// An empty argument counts as none, as in kube-apiserver: scripts pass one where a variable
		// is empty.
		Args: func(cmd *cobra.Command, args []string) error {
			for _, arg := range args {
				if arg != "" {
					return fmt.Errorf("%q does not take any arguments, got %q", cmd.CommandPath(), args)
				}
			}
			return nil
		},
	})
	version := addVersionFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if version.print(cmd.OutOrStdout()) {
			return nil
		}
		config, err := o.Finish()
		if err != nil {
			return err
		}
		config.API.Version = version.reported
		return serve(cmd.Context(), config, cmd.OutOrStdout())
	}
	return cmd
}
