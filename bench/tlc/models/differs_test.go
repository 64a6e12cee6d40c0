package models

// differs are models of which TLC has another answer, and why.
var differs = map[string]string{}
