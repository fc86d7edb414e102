package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/api/v3/version"

	"github.com/coracle-project/coracle/storage/standin"
)

// The command etcd. Tools such as envtest start an etcd, and then a kube-apiserver with the URL of
// that etcd. If both are this program, no etcd is needed: the stand-in answers at its URL with the
// path of its data folder, and the server, which has asked it (storage/standin), keeps its embedded
// store in that folder. The stand-in itself stores nothing. etcdflags.go reads its flags.

// headerTimeout is how long a client may take to send the headers of a request.
const headerTimeout = 10 * time.Second

// etcdName is the name of a command, and a name of the program file that selects it.
const etcdName = "etcd"

// etcdCommand returns the command that stands in for etcd. It parses its flags itself, because etcd
// also takes flags with one dash: -name.
func etcdCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:                etcdName,
		Short:              "Take the place of etcd for a kube-apiserver that is this program and stores the objects itself",
		DisableFlagParsing: true,
		SilenceUsage:       true,
		RunE: func(cmd *cobra.Command, args []string) error {
			return standInForEtcd(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		if _, err := parseEtcdFlags([]string{"-help"}, cmd.OutOrStdout()); err != nil {
			cmd.PrintErrln(err)
		}
	})
	return cmd
}

// standInForEtcd serves the stand-in until ctx ends, the process gets a signal, or a listener
// fails.
func standInForEtcd(ctx context.Context, args []string, out, log io.Writer) error {
	ctx, stop := untilSignal(ctx)
	defer stop()
	o, err := parseEtcdFlags(args, out)
	if err != nil || o == nil {
		return err
	}
	store, err := o.makeDataDir()
	if err != nil {
		return err
	}
	ports, err := o.openListeners()
	if err != nil {
		return err
	}
	srv := &http.Server{Handler: standin.Handler(store), ReadHeaderTimeout: headerTimeout,
		Protocols: new(http.Protocols)}
	srv.Protocols.SetHTTP1(true)
	srv.Protocols.SetUnencryptedHTTP2(true) // gRPC clients of etcd come over HTTP/2, and get an error that explains
	failed := make(chan error, len(ports))
	var serving sync.WaitGroup
	for _, port := range ports {
		fmt.Fprintf(log, "coracle stands in for etcd at http://%s, for the data in %s\n", port.Addr(), store.Dir)
		serving.Go(func() { failed <- srv.Serve(port) })
	}
	notify(readyState)
	// The pages of the program are dropped only after startTime, when the client that has waited
	// for the stand-in has been answered.
	defer time.AfterFunc(startTime, forgetStart).Stop()
	select {
	case <-ctx.Done():
		err = nil
	case err = <-failed:
	}
	notify(stoppingState)
	err = errors.Join(err, srv.Close())
	serving.Wait()
	return err
}

// makeDataDir makes the data folder, which the API server will use, and returns its description.
// Without --data-dir it is NAME.etcd in the working directory, as with etcd.
func (o *etcdOptions) makeDataDir() (standin.Location, error) {
	dir := o.dataDir
	if dir == "" {
		dir = o.name + ".etcd"
	}
	dir, err := filepath.Abs(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	return standin.Location{Dir: dir, NoSync: o.noSync}, err
}

// openListeners opens a listener for each URL of --listen-client-urls. Only loopback addresses are
// allowed: the answer is a path of this machine. If one fails, those before it are closed.
func (o *etcdOptions) openListeners() (ports []net.Listener, err error) {
	defer func() {
		if err != nil {
			for _, port := range ports {
				port.Close()
			}
		}
	}()
	for text := range strings.SplitSeq(o.clientURLs, ",") {
		u, err := url.Parse(strings.TrimSpace(text))
		switch {
		case err != nil:
			return ports, fmt.Errorf("--listen-client-urls: %w", err)
		case u.Scheme != "http" || u.Port() == "" || !standin.Loopback(u.Hostname()):
			return ports, fmt.Errorf("--listen-client-urls %q: give http://127.0.0.1:PORT or another loopback address",
				text)
		}
		port, err := net.Listen("tcp", u.Host)
		if err != nil {
			return ports, fmt.Errorf("--listen-client-urls %q: %w", text, err)
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// printEtcdVersion prints the version of the etcd whose data format the embedded store has, as etcd
// prints it.
func printEtcdVersion(out io.Writer) error {
	_, err := fmt.Fprintf(out, "etcd Version: %s\nGit SHA: %s\nGo Version: %s\nGo OS/Arch: %s/%s\n",
		version.Version, version.GitSHA, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
