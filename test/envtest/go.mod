module github.com/coracle-project/coracle/test/envtest

go 1.26.0
