package random

// behavioursDiffer are specifications of Behaviours of which TLC has another answer, and why.
var behavioursDiffer = map[int]string{}
