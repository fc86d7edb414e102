// Package extensions makes resources of custom resource definitions.
package extensions
