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
		Long: "Print a kubeconfig for a user or a service account. A user gets a certificate that the server's own\n" +
			"authority has signed. A service account gets a token, for which the running server is asked.\n" +
			"Roles and their bindings say what either may do. A certificate cannot be revoked before it expires;\n" +
			"a token also ends when its service account is deleted.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := []byte(nil), errors.New("give either --user or --service-account")
			switch namespace, name, ok := strings.Cut(account, "/"); {
			case user != "" && account == "":
				text, err = h.User(user, groups)
			case account != "" && (user != "" || len(groups) > 0):
				err = errors.New("a service account has neither --user nor --group")
			case account != "" && !ok:
				err = fmt.Errorf("--service-account %q: must be NAMESPACE/NAME", account)
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
	f.StringSliceVar(&groups, "group", nil, "groups of the user")
	f.StringVar(&account, "service-account", "", "service account, as NAMESPACE/NAME")
	f.DurationVar(&h.Lasts, "expires", 24*time.Hour, "how long the credentials are good")
	f.StringVar(&h.DataDir, "data-dir", ".coracle", "data directory of the server")
	f.StringVar(&h.URL, "server", "",
		"URL of the server for whom the kubeconfig is; by default the one that the administrator uses")
	return cmd
}
