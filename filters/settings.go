package filters

// Settings are what whoever configures a server says about its filters. The zero value is the
// default.
type Settings struct {
	// HSTS are the directives of the header Strict-Transport-Security, such as
	// "max-age=31536000"; none: it is not sent. (--strict-transport-security-directives)
	HSTS []string
	// GoawayChance is the chance that a request of HTTP/2 ends its connection, so that the
	// client may find another server: at most 0.02, default 0. (--goaway-chance)
	GoawayChance float64
}
