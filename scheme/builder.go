package scheme

// Builder collects the registrations of an API group, so that a package declares them beside its types:
//
//	var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
//		s.AddKnownTypes(GroupVersion, &Widget{}, &WidgetList{})
//	})
//
// and a server applies them: Scheme.AddToScheme(s). Fill it in package variables and init functions only.
type Builder struct {
	funcs []func(*Scheme)
}

// NewBuilder returns a Builder with its first functions.
func NewBuilder(funcs ...func(*Scheme)) *Builder { return &Builder{funcs: funcs} }

// Register adds functions.
func (b *Builder) Register(funcs ...func(*Scheme)) { b.funcs = append(b.funcs, funcs...) }

// AddToScheme applies all functions to s, in order. Mistakes show up in s.Complete.
func (b *Builder) AddToScheme(s *Scheme) {
	for _, fn := range b.funcs {
		fn(s)
	}
}
