package value

import "sync"

// Strings and model values are interned once a process: there are few, and comparing their addresses is what most comparisons are.
var interned struct {
	sync.RWMutex
	strings map[string]*String
	models  map[string]*Model
}

// Text returns the unique *String for a text.
func Text(s string) *String {
	interned.RLock()
	v := interned.strings[s]
	interned.RUnlock()
	if v != nil {
		return v
	}
	interned.Lock()
	defer interned.Unlock()
	if interned.strings == nil {
		interned.strings = map[string]*String{}
	}
	if v = interned.strings[s]; v == nil {
		v = &String{s, hashText(seedString, s)}
		interned.strings[s] = v
	}
	return v
}

// ModelValue returns the unique *Model for a name. A name such as A_x has the type A, as in TLC.
func ModelValue(name string) *Model {
	interned.Lock()
	defer interned.Unlock()
	if interned.models == nil {
		interned.models = map[string]*Model{}
	}
	m := interned.models[name]
	if m == nil {
		m = &Model{Name: name, hash: hashText(seedModel, name)}
		if len(name) > 2 && name[1] == '_' && letter(name[0]) {
			m.Type = name[0]
		}
		interned.models[name] = m
	}
	return m
}

func letter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
