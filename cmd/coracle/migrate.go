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
		Short: "Store all objects of a resource again, in the version that is stored now",
		Long: "Store all objects of a resource again, in the version that is stored now: RESOURCE is its plural name and\n" +
			"group, such as widgets.example.com. After that, status.storedVersions of its definition names that version\n" +
			"alone, so that others can be taken out of the definition. What has been cut short can be run again, or goes\n" +
			"on after the last object that it has told of. An object that cannot be read is told of and passed over; then\n" +
			"the definition stays as it is. The program exits with 0 if all objects are stored in that version, 1 if some\n" +
			"cannot be read, and 2 after an error.",
		Args: oneArgument("RESOURCE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilTold(cmd.Context())
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
	cmd.Flags().StringVar(&m.Kubeconfig, "kubeconfig", usualKubeconfig(), "file that says where the server is")
	cmd.Flags().StringVar(&m.After, "after", "",
		"object up to which all are stored already: namespace/name, or just a name")
	return cmd
}
