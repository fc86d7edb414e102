module github.com/coracle-project/coracle/test/hostile

go 1.26.0
