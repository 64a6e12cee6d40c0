package targets

import (
	"github.com/bloodhound-dst/bloodhound/internal/config/schema"
)

type (
	shape = schema.Shape
	field = schema.Field
)

var (
	aText = shape{Kind: schema.Text}
	aFlag = shape{Kind: schema.Boolean}
	texts = listOf(aText)
)

func section(fields ...field) shape { return shape{Kind: schema.Section, Fields: fields} }

func listOf(item shape) shape { return shape{Kind: schema.Sequence, Item: &item} }

var target = section(
	field{Name: "name", Shape: aText, Says: "Name of the target in tables."},
	field{Name: "package", Shape: aText,
		Says: "Program: a main package that runs one campaign with sim.Campaign.Run under trial.Context. An import path, or a folder beside the " +
			"file that starts with a dot."},
	field{Name: "project", Shape: aText, Verbatim: true, Says: "In place of a package: the folder or file of a project whose world runs programs."},
	field{Name: "blocks", Shape: aFlag, Says: "project: counts the blocks of programs that runs execute, in all trials of a correct target.", Default: "false"},
	field{Name: "args", Shape: texts, Verbatim: true, Says: "Arguments of the operator."},
	field{Name: "each", Shape: texts, Verbatim: true,
		Says: "Creates a target for each word. `{}` stands for the word in name, project, args, build, prepare and of."},
	field{Name: "build", Shape: texts, Verbatim: true, Says: "Additional arguments of go build."},
	field{Name: "prepare", Shape: texts, Verbatim: true,
		Says: "Command that runs in the package's folder before the build. Lines of its output that start with a dash are " +
			"additional arguments of go build. {dir} is a folder for its files."},
	field{Name: "cover", Shape: texts, Says: "Packages whose code coverage is measured. Without it, coverage does not guide the search."},
	field{Name: "correct", Shape: aFlag, Says: "The program has no bug: trials measure what they reach.", Default: "false"},
	field{Name: "of", Shape: aText, Verbatim: true, Says: "Target of which this one is a variant."},
	field{Name: "variant", Shape: aText, Verbatim: true, Says: "Difference from that target."},
	field{Name: "mapper", Shape: listOf(shape{Kind: schema.Either, Alts: []shape{aText, section(
		field{Name: "file", Shape: aText, Says: "Path of the file."},
		field{Name: "lines", Shape: shape{Kind: schema.Pattern}, Verbatim: true, Says: "Lines to count.", Default: "all"},
	)}}), Says: "Files that map runs to the model. Their lines are counted, without empty ones and comments."},
	field{Name: "strategies", Shape: texts, Says: "Strategies for this target."},
)

// file is the file of contest guides.
var file = shape{Kind: schema.Section, Open: true, Fields: []field{
	{Name: "trials", Shape: shape{Kind: schema.Whole, Min: 1, Max: 10_000}, Says: "Number of campaigns per strategy and target.", Default: "20"},
	{Name: "runs", Shape: shape{Kind: schema.Whole, Min: 1}, Says: "Maximum number of runs of a campaign.", Default: "10000"},
	{Name: "seed", Shape: shape{Kind: schema.Unsigned}, Says: "Campaign seed of the first trial. Each further trial adds 1.", Default: "1"},
	{Name: "timeout", Shape: shape{Kind: schema.Duration, Min: 1},
		Says: "Maximum time of a trial. The result of a trial that reaches it is unknown.", Default: "none"},
	{Name: "strategies", Shape: texts, Says: "Strategies to compare. `random` is always included."},
	{Name: "targets", Shape: listOf(target), Says: "Programs, each with a bug or correct."},
}}
