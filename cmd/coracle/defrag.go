package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/server/upkeep"
	"github.com/coracle-project/coracle/storage"
)

// defragCommand returns the command that defragments the embedded store, through a running server
// or on the data folder.
func defragCommand() *cobra.Command {
	var kubeconfig, dataDir string
	cmd := &cobra.Command{
		Use:   "defrag",
		Short: "Shrink the database file of the embedded store to what is in use",
		Long: "Shrink the database file of the embedded store to what is in use. --kubeconfig names a running\n" +
			"server, which goes on serving; --data-dir names the data folder of a server that does not run.\n" +
			"The disk needs free space for a second copy of what is in use. A server does this by itself when\n" +
			"three quarters of the file and 256 MiB are free. An etcd is defragmented by `etcdctl defrag`.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			var done storage.Defragmented
			var err error
			switch {
			case dataDir != "" && cmd.Flags().Changed("kubeconfig"):
				return withHint(cmd,
					errors.New("--kubeconfig names a running server, --data-dir the folder of one that does not run: give one of them"))
			case dataDir != "":
				done, err = upkeep.DefragmentStore(ctx, dataDir)
			default:
				done, err = upkeep.DefragmentServer(ctx, kubeconfig)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database had %d bytes, and has %d\n", done.Before, done.After)
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", usualKubeconfig(), "file that says where the server is")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "data folder of a server that does not run")
	return cmd
}
