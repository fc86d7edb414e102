module github.com/coracle-project/coracle/test/hostile

go 1.26.0

require github.com/coracle-project/coracle v0.0.0

replace github.com/coracle-project/coracle => ../..
