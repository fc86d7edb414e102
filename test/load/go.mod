module github.com/coracle-project/coracle/test/load

go 1.26.0
