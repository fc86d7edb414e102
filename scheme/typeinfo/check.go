package typeinfo

// formats are the names that check:"format=..." knows.
var formats = map[string]func(string) []string{}
