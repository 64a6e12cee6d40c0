package keys

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

var guideTarget = of(
	field{Name: "name", Shape: aText, Says: "The target's name in tables."},
	field{Name: "package", Shape: aText, Says: "The program, a main package that makes one campaign by sim.Campaign.Run: an import path, or a folder beside the file that begins with a dot."},
	field{Name: "args", Shape: texts, Verbatim: true, Says: "Its arguments."},
	field{Name: "each", Shape: texts, Verbatim: true, Says: "Makes a target of each of these: {} stands for it in name, args, build, prepare and of."},
	field{Name: "build", Shape: texts, Verbatim: true, Says: "Further arguments of go build."},
	field{Name: "prepare", Shape: texts, Verbatim: true, Says: "A command, run in the package's folder before it is built: lines of its output that begin with a dash are arguments of go build, too. {dir} is a folder for its files."},
	field{Name: "cover", Shape: texts, Says: "Packages whose blocks of code are counted. Without it lines guide nothing and are not measured."},
	field{Name: "correct", Shape: aFlag, Says: "There is no bug to find: what trials reach is measured.", Default: "false"},
	field{Name: "of", Shape: aText, Verbatim: true, Says: "The target that this one is a variant of."},
	field{Name: "variant", Shape: aText, Verbatim: true, Says: "How it differs."},
	field{Name: "mapper", Shape: listOf(anyOf(aText, of(
		field{Name: "file", Shape: aText, Says: "The file."},
		field{Name: "lines", Shape: aPattern, Verbatim: true, Says: "Which lines of it count.", Default: "all"},
	))), Says: "Files that tell the model what runs do. Their lines are counted, but for empty ones and comments."},
	field{Name: "strategies", Shape: texts, Says: "Those tried with this target."},
)

// Guides is the file of bench/contest guides.
var Guides = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "trials", Shape: shape{Kind: schema.Whole, Min: 1, Max: 10_000}, Says: "Campaigns of each strategy with each target.", Default: "20"},
	{Name: "runs", Shape: shape{Kind: schema.Whole, Min: 1}, Says: "Runs of a campaign, at most.", Default: "10000"},
	{Name: "seed", Shape: shape{Kind: schema.Unsigned}, Says: "Campaign seed of the first trial; the next trial has the next one.", Default: "1"},
	{Name: "timeout", Shape: aPositive, Says: "Cuts each trial off after this time: what it would have found is unknown then.", Default: "none"},
	{Name: "strategies", Shape: texts, Says: "What is compared. Random is always among them."},
	{Name: "targets", Shape: listOf(guideTarget), Says: "Programs with a bug each, or correct ones."},
}}
