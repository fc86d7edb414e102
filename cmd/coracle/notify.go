package main

import (
	"net"
	"os"
	"strings"
)

// States of a service, in the words of sd_notify(3).
const (
	readyState    = "READY=1"
	stoppingState = "STOPPING=1"
)

// notify tells the service manager, such as systemd, the state of the process. It does nothing if
// no manager asks for it ($NOTIFY_SOCKET). It ignores errors, because a server that works must not
// end when its manager cannot be told.
func notify(state string) {
	name := os.Getenv("NOTIFY_SOCKET")
	if !strings.HasPrefix(name, "/") && !strings.HasPrefix(name, "@") { // "@" is for an abstract socket
		return
	}
	conn, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: name, Net: "unixgram"})
	if err != nil {
		return
	}
	defer conn.Close()
	conn.Write([]byte(state))
}
