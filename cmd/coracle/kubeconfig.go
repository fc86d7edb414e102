package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/server/identity"
)

// kubeconfigCommand returns the command that prints a kubeconfig for a user, whose certificate it
// signs itself, or for a service account, whose token it requests from the running server as its
// administrator.
func kubeconfigCommand() *cobra.Command {
	var h identity.KubeconfigMaker
	var user, account string
	var groups []string
	cmd := &cobra.Command{
		Use:   "kubeconfig {--user NAME [--group GROUP...] | --service-account NAMESPACE/NAME}",
		Short: "Print a kubeconfig for a user or a service account",
		Long: "Print a kubeconfig for a user or a service account. A user gets a certificate, which the command\n" +
			"signs with the server's own CA. A service account gets a token from the running server. Role\n" +
			"bindings say what either may do. A certificate cannot be revoked before it expires; a token is no\n" +
			"longer valid when its service account has been deleted.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := []byte(nil), errors.New("give --user for a user, or --service-account for a service account")
			switch namespace, name, ok := strings.Cut(account, "/"); {
			case user != "" && account == "":
				text, err = h.User(user, groups)
			case account != "" && (user != "" || len(groups) > 0):
				err = errors.New("--service-account excludes --user and --group: give --user and --group for a user, or --service-account alone")
			case account != "" && !ok:
				err = fmt.Errorf("--service-account %q: give NAMESPACE/NAME", account)
			case account != "":
				text, err = h.ServiceAccount(cmd.Context(), namespace, name)
			}
			if err != nil {
				return err
			}
			_, err = cmd.OutOrStdout().Write(text)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&user, "user", "", "name of the user")
	f.StringSliceVar(&groups, "group", nil, "groups of the user, separated by commas; may be repeated")
	f.StringVar(&account, "service-account", "", "service account, as NAMESPACE/NAME")
	f.DurationVar(&h.Lasts, "expires", 24*time.Hour, "how long the credentials are valid")
	f.StringVar(&h.DataDir, "data-dir", ".coracle", "data folder of the server")
	f.StringVar(&h.URL, "server", "",
		"URL of the server in the kubeconfig; by default the URL in the administrator's kubeconfig")
	return cmd
}
