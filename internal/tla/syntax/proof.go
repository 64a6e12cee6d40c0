package syntax

// Proofs are read over: what is proven is checked by other programs.

// sequent is ASSUME ... PROVE ...
func (p *parser) sequent() {
	defer p.deeper(p.nextToken().pos)() // ASSUME
	for {
		p.assumed()
		if !p.accept(",") {
			break
		}
	}
	p.expect("PROVE", "after what is assumed")
	p.expr()
}

func (p *parser) assumed() {
	if p.peek().kind == ident && p.raw(1).is("::") { // a label
		p.at += 2
	}
	switch {
	case p.is("ASSUME"):
		p.sequent()
	case p.accept("NEW"), p.is("CONSTANT", "VARIABLE", "STATE", "ACTION", "TEMPORAL"):
		if p.is("CONSTANT", "VARIABLE", "STATE", "ACTION", "TEMPORAL") {
			p.nextToken()
		}
		p.param("a name")
		if p.accept(`\in`) {
			p.expr()
		}
	default:
		p.expr()
	}
}

// proof reads over a proof, if there is one: PROOF, a leaf (BY, OBVIOUS, OMITTED), or steps that each begin with <level>.
func (p *parser) proof() {
	p.accept("PROOF")
	for {
		switch t := p.raw(0); {
		case t.is("OBVIOUS", "OMITTED"):
			p.at++
		case t.is("BY"):
			p.at++
			p.accept("ONLY")
			p.usable()
		case t.is("PROOF"):
			p.at++
		case t.kind == step:
			p.at++
			if p.raw(0).is("QED") {
				p.at++
				continue
			}
			for !p.raw(0).is("PROOF", "BY", "OBVIOUS", "OMITTED") && p.raw(0).kind != step {
				if p.raw(0).kind == closing || p.raw(0).kind == end {
					p.unexpected("in a proof: a step is, or QED")
				}
				p.at++
			}
		default:
			return
		}
	}
}

// usable are the facts and definitions of BY and USE.
func (p *parser) usable() {
	p.facts = true
	defer func() { p.facts = false }()
	for !p.is("DEF", "DEFS") {
		if p.accept("MODULE") {
			p.name("the name of a module")
		} else if t := p.peek(); t.kind == step || t.kind == ident || t.kind == symbol || t.kind == number || t.kind == keyword {
			p.expr()
		}
		if !p.accept(",") {
			break
		}
	}
	if !p.accept("DEF") && !p.accept("DEFS") {
		return
	}
	for {
		if p.accept("MODULE") {
			p.name("the name of a module")
		} else {
			p.nextToken()
			for p.accept("!") {
				p.nextToken()
			}
		}
		if !p.accept(",") {
			return
		}
	}
}
