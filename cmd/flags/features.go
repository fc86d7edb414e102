package flags

func (o *Options) bindFeatures(s *section) {
	s.BoolVar(&o.config.Serving.Contention, "contention-profiling", false, "fill the profiles block and mutex, at some cost")
	s.StringVar(&o.config.Serving.ProfilesSocket, "debug-socket-path", "", "Unix socket that serves profiles to whoever may open it")
	s.BoolVar(&o.config.Serving.Profiling, "profiling", true, "serve profiles at /debug/pprof/")
}
