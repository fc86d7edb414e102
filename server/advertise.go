package server

import (
	"errors"
	"net"
	"net/netip"
)

// errNoAddress says that others cannot reach the server, as far as it can tell.
var errNoAddress = errors.New("no address is known under which others reach the server")

// errOtherFamily says that clients which know an address of the service cannot use that of the server.
var errOtherFamily = errors.New("the server's address is not of the first family of cluster IPs")

// advertised returns the address under which others are told to reach the server.
func (c *ServingConfig) advertised() (netip.Addr, error) {
	for _, text := range []string{c.AdvertiseAddress, c.BindAddress} {
		ip, err := netip.ParseAddr(text)
		named := text == c.AdvertiseAddress // whoever names an address means it
		if err == nil && !ip.IsUnspecified() && (named || !ip.IsLoopback()) {
			return ip.Unmap().WithZone(""), nil
		}
	}
	families := []string{"udp4", "udp6"}
	if bind, err := netip.ParseAddr(c.BindAddress); err == nil && bind.Unmap().Is6() {
		families = []string{"udp6", "udp4"}
	}
	for _, family := range families {
		if ip := outbound(family); ip.IsValid() {
			return ip, nil
		}
	}
	return netip.Addr{}, errNoAddress
}

// farAway are addresses that only the default route leads to: they are documentation's.
var farAway = map[string]string{"udp4": "203.0.113.1:9", "udp6": "[2001:db8::1]:9"}

// outbound returns the address that packets from here carry which leave by the default route. None is sent: a UDP socket gets its
// address when it is connected. The result is invalid if there is no such route, or its address means nothing to others.
func outbound(family string) netip.Addr {
	conn, err := net.Dial(family, farAway[family])
	if err != nil {
		return netip.Addr{}
	}
	defer conn.Close()
	ip := conn.LocalAddr().(*net.UDPAddr).AddrPort().Addr().Unmap()
	if !ip.IsGlobalUnicast() {
		return netip.Addr{}
	}
	return ip.WithZone("")
}
