package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/coracle-project/coracle/server/upkeep"
)

// migrateCommand returns the command that stores all objects of a resource again, in the version
// that the server stores. A definition can drop an old version only after that.
func migrateCommand() *cobra.Command {
	var m upkeep.Migration
	cmd := &cobra.Command{
		Use:   "migrate RESOURCE",
		Short: "Store all objects of a resource again, in the current storage version",
		Long: "Store all objects of a resource again, in the version in which the server stores them. RESOURCE is\n" +
			"the plural name and the group, such as widgets.example.com. After that, status.storedVersions of the\n" +
			"definition names this version only, so that other versions can be removed from the definition.\n" +
			"A migration that was interrupted can be run again; --after continues it after the last object that\n" +
			"it reported. An object that cannot be read is reported and skipped, and status.storedVersions\n" +
			"then stays as it is.\n" +
			"The exit code is 0 if all objects are stored in the version, 1 if some cannot be read, and 2 after\n" +
			"an error.",
		Args: oneArgument("RESOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilSignal(cmd.Context())
			defer stop()
			m.Resource = args[0]
			m.Progress = func(p upkeep.Progress) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %d objects, %d stored again; to go on from here: --after %s\n",
					m.Resource, p.Objects, p.Stored, p.Last)
			}
			m.Unreadable = func(name, why string) {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s cannot be read: %s\n", m.Resource, name, why)
			}
			done, err := m.Run(ctx)
			if err != nil {
				return &exitError{err, exitFailed}
			}
			text := fmt.Sprintf("%s: %d objects, %d stored again", m.Resource, done.Objects, done.Stored)
			if len(done.StoredVersions) > 0 {
				text += "; all are stored as " + strings.Join(done.StoredVersions, ", ")
			}
			if _, err = fmt.Fprintln(cmd.OutOrStdout(), text); err != nil {
				return &exitError{err, exitFailed}
			}
			if n := done.Unreadable; n > 0 {
				return &exitError{fmt.Errorf("%s: %d objects cannot be read; coracle fsck lists them: mend or delete them, and migrate again", m.Resource, n),
					exitUnreadable}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&m.Kubeconfig, "kubeconfig", usualKubeconfig(), "kubeconfig of the running server")
	cmd.Flags().StringVar(&m.After, "after", "",
		"object after which the migration goes on, as namespace/name or, if it has no namespace, as name; by default all objects are stored again")
	mistakesFail(cmd)
	return cmd
}
