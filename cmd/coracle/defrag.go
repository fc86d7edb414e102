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
			"server, which goes on serving; --data-dir names the data folder of a stopped server. The disk needs\n" +
			"free space for a second copy of what is in use. A server defragments its database by itself when\n" +
			"three quarters of the file, and at least 256 MiB, are free. Use `etcdctl defrag` for an etcd.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			var done storage.Defragmented
			var err error
			switch {
			case dataDir != "" && cmd.Flags().Changed("kubeconfig"):
				return withHint(cmd,
					errors.New("--kubeconfig and --data-dir exclude each other: give --kubeconfig for a running server, or --data-dir for the folder of a stopped server"))
			case dataDir != "":
				done, err = upkeep.DefragmentStore(ctx, dataDir)
			default:
				done, err = upkeep.DefragmentServer(ctx, kubeconfig)
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "the database file had %d bytes before and has %d bytes after\n", done.Before, done.After)
			return err
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", usualKubeconfig(), "kubeconfig of the running server")
	cmd.Flags().StringVar(&dataDir, "data-dir", "", "data folder of a stopped server")
	return cmd
}
