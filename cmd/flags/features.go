package flags

func (o *Options) bindFeatures(s *section) {
	s.BoolVar(&o.config.Serving.Profiling, "profiling", true, "serve profiles at /debug/pprof/")
}
