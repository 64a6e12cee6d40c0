package random

const (
	namesAnother = "two temporal properties are violated, and TLC names the other one"
	levelOfPart  = "an argument of Next has a part of a definition that names an instance's variable: SANY's level of it, by " +
		"which TLC counts its ways, is another one"
)

// behavioursDiffer are specifications of Behaviours of which TLC has another answer, and why.
var behavioursDiffer = map[int]string{
	3599:  namesAnother,
	5281:  namesAnother,
	5760:  namesAnother,
	12634: namesAnother,
	14863: namesAnother,
	16007: namesAnother,
	17453: namesAnother,
	17258: levelOfPart,
	511:   levelOfPart,
	5913:  levelOfPart,
}
