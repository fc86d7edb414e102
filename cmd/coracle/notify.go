package main

import (
	"net"
	"os"
	"strings"
)

// The states of a service, as sd_notify(3) has them.
const (
	readyState    = "READY=1"
	stoppingState = "STOPPING=1"
)

// notify tells the service manager that started the process about its state, if there is one that
// wants to know. What cannot be told is not worth an end.
func notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") { // which stands for a zero byte: an abstract socket
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(state))
}
