package flags

// bindTraces declares the section "Traces", which has one flag. The server reads the file.
func (o *Options) bindTraces(s *section) {
	s.StringVar(&o.config.Serving.Debug.TracingFile, "tracing-config-file", "",
		"TracingConfiguration file, which says where traces are sent; each request is a span")
}
