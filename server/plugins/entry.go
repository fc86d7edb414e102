package plugins

// Entry describes an admission plugin of kube-apiserver 1.36.
type Entry struct {
	Name string
	// Default says that the plugin is on by default, here and in kube-apiserver. NodeRestriction is
	// also on by default if the authorization mode Node is on.
	Default bool
	// Idle says why the plugin has nothing to do, as a clause; "" for all others. kube-apiserver
	// with its default gates does nothing there, either.
	Idle string
}

// Table returns all plugins of kube-apiserver, in the order of the table.
func Table() (list []Entry) {
	for i := range table {
		if r := &table[i]; r.on != always {
			list = append(list, Entry{Name: r.name, Default: r.on == byDefault, Idle: r.idle})
		}
	}
	return list
}
