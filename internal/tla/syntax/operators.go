package syntax

// fixity says where an operator is written, how tightly it binds, from low to high, and whether a op b op c is (a op b) op c. An
// operator whose range overlaps another's must be parenthesised beside it. (Lamport, Specifying Systems, table 6; TLA+ Version 2.
// SUBSET, UNION and DOMAIN bind as in SANY, more tightly than in that table.)
type fixity struct {
	low, high    int
	left, prefix bool
}

func fixedAt(n int) fixity         { return fixity{low: n, high: n} }
func leftAt(n int) fixity          { return fixity{low: n, high: n, left: true} }
func between(low, high int) fixity { return fixity{low: low, high: high} }
func leftIn(low, high int) fixity  { return fixity{low: low, high: high, left: true} }

var infix = map[string]fixity{
	"=>": fixedAt(1), "<=>": fixedAt(2), "-+->": fixedAt(2), "~>": fixedAt(2), `/\`: leftAt(3), `\/`: leftAt(3),
	"#": fixedAt(5), "-|": fixedAt(5), "::=": fixedAt(5), ":=": fixedAt(5), "<": fixedAt(5),
	"=": fixedAt(5), "=|": fixedAt(5), ">": fixedAt(5), `\approx`: fixedAt(5), `\asymp`: fixedAt(5),
	`\cong`: fixedAt(5), `\doteq`: fixedAt(5), `\geq`: fixedAt(5), `\gg`: fixedAt(5),
	`\in`: fixedAt(5), `\notin`: fixedAt(5), `\leq`: fixedAt(5), `\ll`: fixedAt(5),
	`\prec`: fixedAt(5), `\preceq`: fixedAt(5), `\propto`: fixedAt(5), `\sim`: fixedAt(5),
	`\simeq`: fixedAt(5), `\sqsubset`: fixedAt(5), `\sqsubseteq`: fixedAt(5),
	`\sqsupset`: fixedAt(5), `\sqsupseteq`: fixedAt(5), `\subset`: fixedAt(5), `\subseteq`: fixedAt(5),
	`\succ`: fixedAt(5), `\succeq`: fixedAt(5), `\supset`: fixedAt(5),
	`\supseteq`: fixedAt(5), "|-": fixedAt(5), "|=": fixedAt(5), `\cdot`: leftIn(5, 14),
	"@@": leftAt(6), ":>": fixedAt(7), "<:": fixedAt(7), `\`: fixedAt(8),
	`\cap`: leftAt(8), `\cup`: leftAt(8), "..": fixedAt(9), "...": fixedAt(9),
	"!!": between(9, 13), "##": leftIn(9, 13), "$": leftIn(9, 13), "$$": leftIn(9, 13), "??": leftIn(9, 13), `\sqcap`: leftIn(9, 13),
	`\sqcup`: leftIn(9, 13), `\uplus`: leftIn(9, 13), `\wr`: between(9, 14),
	"+": leftAt(10), "++": leftAt(10), `\oplus`: leftAt(10), "%": between(10, 11), "%%": leftIn(10, 11), "|": leftIn(10, 11), "||": leftIn(10, 11),
	`\X`: between(10, 13), "-": leftAt(11), "--": leftAt(11), `\ominus`: leftAt(11),
	"&": leftAt(13), "&&": leftAt(13), `\odot`: leftAt(13), `\oslash`: fixedAt(13),
	`\otimes`: leftAt(13), "*": leftAt(13), "**": leftAt(13),
	"/": fixedAt(13), "//": fixedAt(13), `\bigcirc`: leftAt(13), `\bullet`: leftAt(13),
	`\div`: fixedAt(13), `\o`: leftAt(13), `\star`: leftAt(13),
	"^": fixedAt(14), "^^": fixedAt(14),
}

var prefix = map[string]fixity{
	"ENABLED": between(4, 15), "UNCHANGED": between(4, 15), "[]": between(4, 15), "<>": between(4, 15), "~": fixedAt(4),
	"SUBSET": between(10, 13), "UNION": between(10, 13), "DOMAIN": between(10, 13), "-": fixedAt(12), "-.": fixedAt(12),
}

var postfix = map[string]fixity{"'": fixedAt(15), "^+": fixedAt(15), "^*": fixedAt(15), "^#": fixedAt(15)}

// same maps the other ways to write an operator or a mark to the one that is used here.
var same = map[string]string{
	"/=": "#", "=<": `\leq`, "<=": `\leq`, ">=": `\geq`, `\land`: `/\`, `\lor`: `\/`, `\lnot`: "~", `\neg`: "~", `\equiv`: "<=>",
	`\intersect`: `\cap`, `\union`: `\cup`, `\circ`: `\o`, `\times`: `\X`, "(+)": `\oplus`, "(-)": `\ominus`, "(.)": `\odot`, "(/)": `\oslash`,
	`(\X)`: `\otimes`, `\forall`: `\A`, `\exists`: `\E`,

	"≜": "==", "∈": `\in`, "∉": `\notin`, "∧": `/\`, "∨": `\/`, "¬": "~", "⇒": "=>", "⟺": "<=>", "⇔": "<=>", "≡": "<=>", "≠": "#",
	"≤": `\leq`, "≥": `\geq`, "∀": `\A`, "∃": `\E`, "⟨": "<<", "⟩": ">>", "□": "[]", "◇": "<>", "→": "->", "←": "<-", "↦": "|->",
	"∪": `\cup`, "∩": `\cap`, "⊆": `\subseteq`, "⊂": `\subset`, "⊇": `\supseteq`, "⊃": `\supset`, "×": `\X`, "∘": `\o`, "↝": "~>", "′": "'",
	"‥": "..", "…": "...", "⟩_": ">>_", "÷": `\div`, "⋅": `\cdot`, "≺": `\prec`, "⪯": `\preceq`, "≻": `\succ`, "⪰": `\succeq`,
	"⊑": `\sqsubseteq`, "⊏": `\sqsubset`, "⊒": `\sqsupseteq`, "⊐": `\sqsupset`, "⊓": `\sqcap`, "⊔": `\sqcup`, "⊎": `\uplus`, "⊕": `\oplus`,
	"⊖": `\ominus`, "⊗": `\otimes`, "⊘": `\oslash`, "⊙": `\odot`, "∼": `\sim`, "≃": `\simeq`, "≈": `\approx`, "≅": `\cong`, "≍": `\asymp`,
	"≐": `\doteq`, "∝": `\propto`, "≪": `\ll`, "≫": `\gg`, "⊢": "|-", "⊣": "-|", "⊨": "|=", "⫤": "=|", "∣": "|", "‖": "||", "●": `\bullet`,
	"◯": `\bigcirc`, "⋆": `\star`, "≀": `\wr`, "‼": "!!", "⁇": "??", "⇸": "-+->", "⁺": "^+", "∷": "::", "≔": ":=", "⩴": "::=",
}

// symbols are all marks that no letter begins, longest first within a first character.
var symbols = []string{
	"-+->", "-|", "->", "--", "-.", "-", "<=>", "<=", "<<", "<>", "<:", "<-", "<", "=>", "=<", "==", "=|", "=", ">>_", ">>", ">=", ">", "~>", "~",
	`/\`, "//", "/=", "/", `\/`, `\`, "##", "#", "::=", "::", ":=", ":>", ":", "|->", "|-", "|=", "||", "|", "...", "..", ".", "++", "+",
	"**", "*", "^^", "^+", "^*", "^#", "^", "&&", "&", "%%", "%", "@@", "@", "??", "!!", "!", "$$", "$", "[]", "[", "]_", "]", "{", "}",
	"(+)", "(-)", "(.)", "(/)", `(\X)`, "(", ")", ",", ";", "_", "'",
}

var keywords = map[string]bool{}

func init() {
	for _, w := range []string{"ASSUME", "ASSUMPTION", "AXIOM", "CASE", "CHOOSE", "CONSTANT", "CONSTANTS", "DOMAIN", "ELSE", "ENABLED", "EXCEPT",
		"EXTENDS", "IF", "IN", "INSTANCE", "LET", "LOCAL", "MODULE", "OTHER", "SUBSET", "THEN", "THEOREM", "UNCHANGED", "UNION", "VARIABLE",
		"VARIABLES", "WITH", "BY", "COROLLARY", "DEF", "DEFINE", "DEFS", "HAVE", "HIDE", "LAMBDA", "LEMMA", "NEW", "OBVIOUS", "OMITTED",
		"ONLY", "PICK", "PROOF", "PROPOSITION", "PROVE", "QED", "RECURSIVE", "STATE", "SUFFICES", "TAKE", "TEMPORAL", "USE", "WITNESS",
		"ACTION"} {
		keywords[w] = true
	}
}
