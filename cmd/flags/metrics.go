package flags

func (o *Options) bindMetrics(s *section) {
}
