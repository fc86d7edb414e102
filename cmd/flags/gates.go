package flags

// gates is what --feature-gates asks for.
type gates struct{}

// String implements pflag.Value.
func (g *gates) String() string { return "" }

// Set implements pflag.Value.
func (g *gates) Set(string) error { return nil }

// Type implements pflag.Value.
func (*gates) Type() string { return "colonSeparatedMultimapStringString" }
