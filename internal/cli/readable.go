package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/bloodhound-dst/bloodhound/internal/world"
)

// readable writes a document of config as YAML for people: the world's parts at the top, times with units, rates as in
// bloodhound.yaml, and what has a name by its name. What is empty is left out.
func readable(doc configDocument) ([]byte, error) {
	b, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	whole, err := yamlOf(d, "")
	if err != nil {
		return nil, err
	}
	top := &yaml.Node{Kind: yaml.MappingNode}
	for i := 0; i < len(whole.Content); i += 2 {
		switch key, value := whole.Content[i], whole.Content[i+1]; key.Value {
		case "bloodhound", "verb", "exit_code", "notes": // for machines, or printed already
		case "world":
			top.Content = append(top.Content, value.Content...)
		default:
			top.Content = append(top.Content, key, value)
		}
	}
	if slices.ContainsFunc(doc.World.Nodes, func(n world.Node) bool { return n.Image != nil }) {
		top.HeadComment = "What images say (command, environment, user, volumes and so on) is added when they are there."
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	err = e.Encode(top)
	return out.Bytes(), err
}

// yamlOf reads the next value of a JSON document. Its key says what a number means.
func yamlOf(d *json.Decoder, key string) (*yaml.Node, error) {
	t, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch v := t.(type) {
	case json.Delim:
		if v == '[' {
			return yamlList(d, key)
		}
		return yamlMapping(d)
	case string:
		n := &yaml.Node{}
		n.SetString(v)
		return n, nil
	case json.Number:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: withUnit(v.String(), key)}, nil
	case bool:
		return &yaml.Node{Kind: yaml.ScalarNode, Value: strconv.FormatBool(v)}, nil
	}
	return nil, nil // null
}

func yamlMapping(d *json.Decoder) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.MappingNode}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key := t.(string)
		value, err := yamlOf(d, key)
		if err != nil {
			return nil, err
		}
		if value == nil || value.Kind != yaml.ScalarNode && len(value.Content) == 0 || value.Kind == yaml.ScalarNode && value.Value == "" {
			continue
		}
		n.Content = append(n.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: withoutUnit(key)}, value)
	}
	_, err := d.Token()
	return n, err
}

// yamlList reads a list. One whose items all have a name of their own becomes a mapping.
func yamlList(d *json.Decoder, key string) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.SequenceNode}
	for d.More() {
		item, err := yamlOf(d, key)
		if err != nil {
			return nil, err
		}
		n.Content = append(n.Content, item)
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	var names []string
	for _, item := range n.Content {
		if item.Kind != yaml.MappingNode || len(item.Content) < 4 || item.Content[0].Value != "name" || slices.Contains(names, item.Content[1].Value) {
			break
		}
		names = append(names, item.Content[1].Value)
	}
	switch {
	case len(names) == len(n.Content):
		by := &yaml.Node{Kind: yaml.MappingNode}
		for _, item := range n.Content {
			by.Content = append(by.Content, item.Content[1], &yaml.Node{Kind: yaml.MappingNode, Content: item.Content[2:]})
		}
		return by, nil
	case !slices.ContainsFunc(n.Content, func(item *yaml.Node) bool { return item.Kind != yaml.ScalarNode }) && key != "env" && key != "environment":
		n.Style = yaml.FlowStyle
	}
	return n, nil
}

// units are the ends of names of numbers, with what people read instead.
var units = []struct {
	end    string
	kept   string // of the name
	people func(n int64) string
}{
	{"_unix_ns", "", func(n int64) string { return time.Unix(0, n).UTC().Format(time.RFC3339Nano) }},
	{"_ns", "", func(n int64) string { return time.Duration(n).String() }},
	{"_ms", "", func(n int64) string { return (time.Duration(n) * time.Millisecond).String() }},
	{"_ppm", "", func(n int64) string { return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64) }},
	{"_ppb", "_ppm", func(n int64) string { return strconv.FormatFloat(float64(n)/1e3, 'f', -1, 64) }},
}

func withUnit(number, key string) string {
	for _, u := range units {
		if n, err := strconv.ParseInt(number, 10, 64); err == nil && strings.HasSuffix(key, u.end) {
			return u.people(n)
		}
	}
	switch n, err := strconv.ParseUint(number, 10, 64); {
	case err == nil && n == world.Unlimited:
		return "unlimited"
	case err == nil && key == "mode":
		return fmt.Sprintf("%#o", n)
	}
	return number
}

func withoutUnit(key string) string {
	for _, u := range units {
		if name, ok := strings.CutSuffix(key, u.end); ok {
			return name + u.kept
		}
	}
	return key
}
