// Package core knows what is special about the resources of the core group.
package core
