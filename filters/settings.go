package filters

// Settings are the parts of the configuration that flags set directly. The zero value is the
// default.
type Settings struct {
	// HSTS are the directives of the header Strict-Transport-Security, such as "max-age=31536000";
	// if there are none, the header is not sent. (--strict-transport-security-directives)
	HSTS []string
	// GoawayChance is the chance that an HTTP/2 request ends its connection: at most 0.02, default
	// 0. (--goaway-chance)
	GoawayChance float64
}
