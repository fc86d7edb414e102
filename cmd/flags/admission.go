package flags

func (o *Options) bindAdmission(s *section) {
}
