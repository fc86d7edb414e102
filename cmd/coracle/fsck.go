package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/server"
	"github.com/coracle-project/coracle/server/upkeep"
)

// The exit codes of fsck and migrate, beside 0.
const (
	exitUnreadable = 1 // some objects cannot be read
	exitFailed     = 2 // the command failed, so nobody knows whether all objects can be read
)

// exitError is an error that decides the exit code of the program.
type exitError struct {
	error
	code int
}

// mistakesFail makes mistakes in the flags and arguments of cmd end the program with exitFailed.
func mistakesFail(cmd *cobra.Command) {
	args := cmd.Args
	cmd.Args = func(cmd *cobra.Command, list []string) error {
		if err := args(cmd, list); err != nil {
			return &exitError{err, exitFailed}
		}
		return nil
	}
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exitError{withHint(cmd, err), exitFailed}
	})
}

// exitCode returns the exit code for an error of a command: that of an exitError, else 1.
func exitCode(err error) int {
	if e := (*exitError)(nil); errors.As(err, &e) {
		return e.code
	}
	return 1
}

// fsckCommand returns the command that lists the stored objects that cannot be read. It asks a
// running server, or opens a store as a server would.
func fsckCommand() *cobra.Command {
	var kubeconfig string
	cfg := server.Config{}
	cmd := &cobra.Command{
		Use:   "fsck",
		Short: "List the stored objects that cannot be read",
		Long: "List the stored objects that cannot be read, one on a line: the key, the version in which the\n" +
			"object is stored (? if unknown), and the reason. All objects are read, and nothing is written.\n" +
			"--kubeconfig names a running server. --data-dir or --etcd-servers names a store, which the command\n" +
			"reads as a server would; stop the server of a data folder before.\n" +
			"The exit code is 0 if all objects can be read, 1 if some cannot, and 2 after an error.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			var found upkeep.CheckResult
			var err error
			switch stored := cfg.DataDir != "" || len(cfg.Storage.Etcd.Servers) > 0; {
			case stored && cmd.Flags().Changed("kubeconfig"):
				err = withHint(cmd,
					errors.New("--kubeconfig excludes --data-dir and --etcd-servers: give --kubeconfig for a running server, or the others for the store of a stopped server"))
			case stored:
				found, err = server.CheckStore(ctx, cfg)
			default:
				found, err = upkeep.CheckServer(ctx, kubeconfig)
			}
			if err != nil {
				return &exitError{err, exitFailed}
			}
			for _, o := range found.Unreadable {
				version := o.Version
				if version == "" {
					version = "?"
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\t%s\t%s\n", o.Key, version, o.Reason); err != nil {
					return &exitError{err, exitFailed}
				}
			}
			if n := len(found.Unreadable); n > 0 {
				return &exitError{fmt.Errorf("%[2]d of %[1]d objects cannot be read: the lines of the output name them", found.Objects, n), exitUnreadable}
			}
			if _, err := fmt.Fprintf(cmd.OutOrStdout(), "all %d objects can be read\n", found.Objects); err != nil {
				return &exitError{err, exitFailed}
			}
			return nil
		},
	}
	mistakesFail(cmd)
	f, s := cmd.Flags(), &cfg.Storage
	f.StringVar(&kubeconfig, "kubeconfig", usualKubeconfig(), "kubeconfig of the running server")
	f.StringVar(&cfg.DataDir, "data-dir", "", "data folder of a stopped server")
	f.StringVar(&s.Engine, "storage", "",
		"where the objects are stored: embedded or file in --data-dir, or etcd (default embedded, or etcd with --etcd-servers)")
	f.StringSliceVar(&s.Etcd.Servers, "etcd-servers", nil,
		"URLs of the etcd servers that store the objects, separated by commas")
	f.StringVar(&s.Etcd.CAFile, "etcd-cafile", "", "file of the CA certificates that verify the etcd servers")
	f.StringVar(&s.Etcd.CertFile, "etcd-certfile", "", "file of the client certificate for the etcd servers")
	f.StringVar(&s.Etcd.KeyFile, "etcd-keyfile", "", "file of the private key of --etcd-certfile")
	f.StringVar(&s.Prefix, "etcd-prefix", "", "prefix of the keys of all objects in the store (default /registry)")
	f.StringVar(&s.EncryptionConfigFile, "encryption-provider-config", "",
		"EncryptionConfiguration file by which the objects are encrypted in the store")
	return cmd
}

// usualKubeconfig returns the default of --kubeconfig: $KUBECONFIG, or the administrator's file
// that `coracle serve` writes.
func usualKubeconfig() string {
	if file := os.Getenv("KUBECONFIG"); file != "" {
		return file
	}
	return ".coracle/admin.kubeconfig"
}
