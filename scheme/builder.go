package scheme

// Builder collects the registrations of an API group, so that a package can declare them beside its
// types:
//
//	var Scheme = scheme.NewBuilder(func(s *scheme.Scheme) {
//		s.AddKnownTypes(GroupVersion, &Widget{}, &WidgetList{})
//	})
//
// and a server applies them by Scheme.AddToScheme(s). Only package variables and init functions may
// add to a Builder, because it is not synchronized.
type Builder struct {
	funcs []func(*Scheme)
}

// NewBuilder returns a Builder that holds the given functions.
func NewBuilder(funcs ...func(*Scheme)) *Builder { return &Builder{funcs: funcs} }

// Register adds functions to the Builder.
func (b *Builder) Register(funcs ...func(*Scheme)) { b.funcs = append(b.funcs, funcs...) }

// AddToScheme applies all functions to s, in order. Mistakes are reported by s.Complete.
func (b *Builder) AddToScheme(s *Scheme) {
	for _, fn := range b.funcs {
		fn(s)
	}
}
