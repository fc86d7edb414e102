module github.com/coracle-project/coracle/test/robust

go 1.26.0

require github.com/anishathalye/porcupine v1.3.1

require github.com/coracle-project/coracle v0.0.0

replace github.com/coracle-project/coracle => ../..
