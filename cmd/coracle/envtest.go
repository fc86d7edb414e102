package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
)

// The command envtest. It fills a folder for $KUBEBUILDER_ASSETS, in which controller-runtime's
// envtest looks for kube-apiserver, etcd and kubectl. The first two are this program under other
// names.

// assetsVariable is the environment variable that names the folder in which envtest looks for
// programs.
const assetsVariable = "KUBEBUILDER_ASSETS"

// envtestCommand returns the command that fills such a folder, and prints a line for the shell.
func envtestCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "envtest DIR",
		Short: "Put kube-apiserver, etcd and kubectl into a folder for controller-runtime's envtest",
		Long: "Put the programs that controller-runtime's envtest starts into a folder: kube-apiserver and etcd,\n" +
			"which are this program under other names, and kubectl if there is one in the PATH. The output is a\n" +
			"command for the shell:\n" +
			"\n" +
			"  eval \"$(coracle envtest DIR)\" && go test ./...\n" +
			"\n" +
			"The command can be run again with the same folder.",
		Args: oneArgument("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := filepath.Abs(args[0])
			if err == nil {
				err = fillAssets(dir, cmd.ErrOrStderr())
			}
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "export %s=%s\n", assetsVariable, shellQuoted(dir))
			return err
		},
	}
}

// fillAssets puts the programs into dir. A missing kubectl is only reported on log, because most
// tests do not call it.
func fillAssets(dir string, log io.Writer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	suffix := ""
	if runtime.GOOS == "windows" {
		suffix = ".exe"
	}
	for _, name := range []string{kubeAPIServer, etcdName} {
		if err := linkProgram(self, filepath.Join(dir, name+suffix)); err != nil {
			return err
		}
	}
	kubectl, err := findKubectl(dir)
	if err != nil {
		fmt.Fprintln(log, "no kubectl in the PATH: tests that call it will fail; install kubectl and run this command again")
		return nil
	}
	return linkProgram(kubectl, filepath.Join(dir, filepath.Base(kubectl)))
}

// findKubectl looks for kubectl in the present $KUBEBUILDER_ASSETS, then in the PATH, then in dir,
// where an earlier run has put it.
func findKubectl(dir string) (string, error) {
	for _, at := range []string{os.Getenv(assetsVariable), "", dir} {
		if path, err := exec.LookPath(filepath.Join(at, "kubectl")); err == nil {
			return filepath.EvalSymlinks(path)
		}
	}
	return "", fs.ErrNotExist
}

// linkProgram makes file the same program as program: a hard link, or a copy if the two are on
// different file systems. It does nothing if file is that program already. It makes the new file in
// a folder beside the old one and renames it, so file always exists and is whole.
func linkProgram(program, file string) error {
	want, err := os.Stat(program)
	if err != nil {
		return err
	}
	if have, err := os.Lstat(file); err == nil && os.SameFile(want, have) {
		return nil
	}
	dir, err := os.MkdirTemp(filepath.Dir(file), ".new-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	made := filepath.Join(dir, filepath.Base(file))
	if os.Link(program, made) != nil {
		if err := copyProgram(program, made); err != nil {
			return err
		}
	}
	return os.Rename(made, file) // a process that runs the old program keeps its file
}

// copyProgram copies a program into a new file, which the owner may execute.
func copyProgram(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o700)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

// shellQuoted returns s as one word for a POSIX shell, quoted if it needs to be.
func shellQuoted(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' ||
			strings.ContainsRune("/._-+=:,@%", r)
	}
	if strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
