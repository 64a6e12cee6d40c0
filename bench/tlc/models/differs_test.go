package models

// Reasons that several models have in common.
const (
	ofTLC       = "it asks TLCGet for what only TLC has: its revision, its seed, or the parts of the specification with their coverage"
	byChance    = "what RandomElement and its like draw is another thing than in TLC"
	symmetric   = "TLC reports a behaviour of states that SYMMETRY has merged: without it the property holds"
	unsymmetric = "the states are not symmetric, and others stand for them than in TLC"
	another     = "two properties are violated by one behaviour, and TLC names the other one"
	tautology   = "TLC refuses a property that is true of all behaviours"
	unspecified = "TLC refuses WF_v(A) and SF_v(A) where A gives no next value to a variable of v"
	tooLarge    = "TLC counts the members of a set in 32 bits"
	undeclared  = "operators use each other, or themselves, without RECURSIVE, which TLC does not notice"
	twoForOne   = "ENABLED of what an argument of an instance stands for: TLC violates another invariant first"
	override    = "an operator is overridden by a class in Java"
	order       = "it is violated after other states: TLC goes through sets of strings and model values in the order in which it has read them"
)

// differs are models of which TLC has another answer, and why.
var differs = map[string]string{
	"CalculatorSC.tla":             ofTLC,
	"TLCGetLevel.cfg":              ofTLC,
	"TLCGetLevel.cfg, no deadlock": ofTLC,
	"TLCSet.cfg":                   ofTLC,
	"TLCSetPost.cfg":               ofTLC,
	"qlearning/Counter.cfg":        ofTLC,
	"suite/test220.cfg":            "an assumption asks whether TLC was started with an option not to look for deadlocks",
	"DieHardTLA.cfg":               "module _Possible is part of TLC",
	"DieHardTLAPA.cfg":             "module _Possible is part of TLC",
	"EWD998/EWD998_TTrace.tla":     "_TETrace, which TLC defines for its own traces, is given a value",
	"ConstantContextTLCCache.cfg":  "TLCCache keeps no values here: they are evaluated again",
	"EWD840/MC02.cfg, no deadlock": "an invariant asks how many states there are, and the state at which the answer " +
		"differs is reached by another step",
	"EWD998/EWD998Chan.cfg":                  `TLCSet("exit", TRUE) ends the check in the midst of a state's successors, and here behind them`,
	"EmptyOrderOfSolutions.cfg":              tautology,
	"Github819.tla":                          tautology,
	"Github742.cfg":                          "TLC cannot take more than 32 fairness conditions",
	"Github317.tla":                          unspecified,
	"FingerprintExceptionInit.cfg":           tooLarge,
	"FingerprintExceptionNext.cfg":           tooLarge,
	"suite/etest12.cfg":                      tooLarge,
	"suite/etest13.cfg":                      tooLarge,
	"Github1161Violated.cfg":                 "[]P of an instance's operator is an invariant here, and a temporal property in TLC",
	"Github648.cfg":                          byChance,
	"RandomElement.cfg":                      byChance,
	"RandomElementXandY.cfg":                 byChance,
	"RandomSubsetNext.cfg":                   byChance,
	"Github687specD.cfg":                     "TLC refuses an initial predicate that is constant and false",
	"Github710b.cfg":                         "its states are infinite in number, and TLC looks for violations of temporal properties before it has all",
	"Github971c.cfg":                         "TLC looks for violations of temporal properties before it has generated all steps",
	"Github725d.cfg":                         "a variable gets its next value by a name of a LET under ENABLED",
	"UndeclaredRecursion.tla":                undeclared,
	"suite/test202.cfg":                      undeclared,
	"suite/test203.cfg":                      undeclared,
	"UserModuleOverride.cfg":                 override,
	"cdot/CdotWithContextD.cfg":              "the second action of a composition says nothing of a variable: TLC finds no such step, which A \\cdot B has",
	"cdot/CdotWithContextD.cfg, no deadlock": "the second action of a composition says nothing of a variable: TLC finds no such step, which A \\cdot B has",
	"coverage/I.cfg":                         "an action is the value of a function",
	"simulation/NQSpec/MC.cfg":               "TLC cannot compare a boolean with a sequence in an invariant that is decided before here",
	"suite/etest16.cfg":                      "SANY refuses what no model uses",
	"suite/test214.cfg":                      "SANY refuses a proof, and proofs are not read here",
	"suite/test206.cfg":                      "a label selects a part in which an operator is a parameter around it",
	"suite/test219.cfg":                      "a label selects a part in which an operator is a parameter around it",
	"suite/test209.cfg":                      "a part of a definition is given as an operator with parameters",
	"suite/test45.cfg":                       "a function by its rule uses itself for an argument whose value is never asked for",
	"suite/test57.cfg":                       twoForOne,
	"suite/test59.cfg":                       "an INSTANCE in a LET takes a name of that LET for its variable",
	"suite/test7.cfg":                        "a set of an infinite set is gone through as far as it decides",
	"suite/test12.cfg":                       "a function has an infinite domain, and is applied alone",
	"suite/test9.cfg":                        "TLC tests a member of a filtered set only as far as it is one",
	"pcal/SBB.cfg":                           order,
	"examples/acp/ACP_NB_WRONG_TLC.cfg":      order,
	"examples/SpecifyingSystems/Liveness/LiveHourClock.cfg": "\\E over twelve temporal formulas is too large for the automaton: the property is not checked",
	"symmetry/April20aMC.cfg":                               another,
	"symmetry/April20bMC.cfg":                               another,
	"symmetry/April21MC.cfg":                                another,
	"symmetry/April25MC.cfg":                                another,
	"symmetry/LongMC.cfg":                                   another,
	"symmetry/LongMCa.cfg":                                  another,
	"symmetry/MC.cfg":                                       another,
	"symmetry/MCa.cfg":                                      another,
	"symmetry/SymmetryLivenessTableauMC.cfg":                another,
	"symmetry/April22MC.cfg":                                symmetric,
	"symmetry/April29dMC.cfg":                               symmetric,
	"symmetry/May09dMC.cfg":                                 symmetric,
	"symmetry/NQ/MC.cfg":                                    symmetric,
	"symmetry/UnsymmetricMCA.cfg":                           unsymmetric,
	"symmetry/UnsymmetricMCB.cfg":                           unsymmetric,
}
